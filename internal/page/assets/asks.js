// ---- asks.js: what models were asked and what they answered, in the forms that are
// common: Chat Completions, Messages, Responses and Gemini. What has another form is shown
// as the JSON that it is.

// Exchange is one ask: its request, and its answer put together from the pieces in which it
// came. Of a long conversation each ask says all that was said before: its messages are read
// when somebody looks at them.
class Exchange {
  constructor(trace, row) {
    this.row = row;
    this.of = textOf(row.crossing.data.of);
    this.answer = new Answer();
    for (const x of trace.pieces.get(row.crossing.op) ?? []) this.answer.add(x.data.piece, x.data.open);
    const end = row.end?.data;
    if (end?.answer !== undefined) this.answer.add(end.answer, false);
    this.err = end?.err;
  }
  get request() {
    return this.row.crossing.data.request;
  }
  get body() {
    return bodyOf(this.request);
  }
  // messages are the conversation; null where it is none.
  get messages() {
    return messagesOf(this.body);
  }
  // settings are what a request says beside its messages: its query and headers too, where it is one
  // over HTTP.
  get settings() {
    const request = this.request,
      body = bodyOf(request);
    if (!isObject(body)) return [];
    const members = (of, but) => Object.entries(of).filter(([name]) => !but.includes(name));
    return [...(body === request ? [] : members(request, ["method", "path", "body"])), ...members(body, talk)];
  }
  // words are the request on a line. They are held: what they are of may be long.
  get words() {
    return (this.line ??= this.worded());
  }
  worded() {
    const said = talkIn(this.body),
      words = [addressOf(this.request)];
    if (said?.length) words.push(counted(typeof said === "string" ? 1 : said.length, "message"));
    return onLine(words.filter(Boolean).join(", "));
  }
}

// addressOf is whom a request is for: its method and path over HTTP, and the model. Of what is no
// conversation otherwise it is the request.
function addressOf(request) {
  const body = bodyOf(request),
    words = [];
  if (isObject(request) && typeof request.method === "string") words.push(request.method + " " + textOf(request.path));
  else if (talkIn(body) === null) words.push(compact(request, 100));
  if (isObject(body) && typeof body.model === "string") words.push(body.model);
  return words.join(", ");
}

// statusOf is the HTTP status in what an ask was answered; 0 where there is none.
function statusOf(answer) {
  return isObject(answer) && typeof answer.status === "number" && (answer.headers || answer.body === undefined) ? answer.status : 0;
}

// exchangeOf is that of an ask's row, made once.
function exchangeOf(trace, row) {
  trace.exchanges ??= new Map();
  if (!trace.exchanges.has(row)) trace.exchanges.set(row, new Exchange(trace, row));
  return trace.exchanges.get(row);
}

// The members of a request that make the conversation.
const talk = ["messages", "input", "contents", "system", "instructions", "systemInstruction", "system_instruction"];

// bodyOf is the body of a request, or all of one that has none.
function bodyOf(request) {
  return isObject(request) && isObject(request.body) ? request.body : request;
}

// talkIn is the list of messages in a body, or the text of the only one; null where there is
// none.
function talkIn(body) {
  const list = isObject(body) ? (body.messages ?? body.contents ?? body.input) : null;
  return Array.isArray(list) || typeof list === "string" ? list : null;
}

// talks reports whether an ask is a conversation. One that goes on from an earlier ask is what
// that is.
function talks(trace, row) {
  const said = row.crossing.said;
  const known = (trace.talks ??= new Map());
  if (!known.has(said))
    known.set(said, said?.isLikeBase && known.has(said.base) ? known.get(said.base) : talkIn(bodyOf(row.crossing.data.request)) !== null);
  return known.get(said);
}

function messagesOf(body) {
  const list = talkIn(body);
  if (list === null) return null;
  const system = body.system ?? body.instructions ?? body.systemInstruction ?? body.system_instruction;
  const messages = system === undefined ? [] : [new Message("system", system)];
  if (typeof list === "string") return [...messages, new Message("user", list)];
  for (const m of list) messages.push(isObject(m) ? new Message(textOf(m.role ?? m.type ?? "?"), m) : new Message("?", m));
  return messages;
}

// Message is what one side says: blocks {text}, {call, args, id}, {result, of}, {json}.
class Message {
  constructor(role, value) {
    this.role = role;
    this.same = JSON.stringify([role, value]); // what two messages that are equal have in common
    this.blocks = [];
    this.take(value, 0);
  }
  take(v, depth) {
    if (v === null || v === undefined || v === "") return;
    if (typeof v === "string") {
      this.blocks.push({ text: v });
      return;
    }
    if (Array.isArray(v) && depth < 4) {
      for (const one of v) this.take(one, depth + 1);
      return;
    }
    if (!isObject(v) || depth >= 4) {
      this.blocks.push({ json: v });
      return;
    }
    const f = v.function ?? v.functionCall;
    if (isObject(f) || v.type === "tool_use" || v.type === "function_call") {
      const name = f?.name ?? v.name,
        args = f?.arguments ?? f?.args ?? v.input ?? v.arguments;
      this.blocks.push({ call: textOf(name), args: argsOf(args ?? {}), id: textOf(v.id ?? v.call_id) });
    } else if (v.functionResponse || v.type === "tool_result" || v.type === "function_call_output") {
      this.blocks.push({
        result: v.functionResponse?.response ?? v.content ?? v.output,
        of: textOf(v.tool_use_id ?? v.call_id ?? v.functionResponse?.name),
      });
    } else if (v.tool_call_id !== undefined) {
      this.blocks.push({ result: v.content, of: textOf(v.tool_call_id) });
    } else if (typeof v.text === "string") {
      this.blocks.push({ text: v.text });
    } else if (typeof v.thinking === "string") {
      this.blocks.push({ thought: v.thinking });
    } else if (v.content !== undefined || v.parts !== undefined || v.tool_calls !== undefined) {
      if (typeof v.reasoning_content === "string") this.blocks.push({ thought: v.reasoning_content });
      this.take(v.content ?? v.parts, depth + 1);
      this.take(v.tool_calls, depth + 1);
    } else {
      this.blocks.push({ json: v });
    }
  }
}

// Answer is put together from pieces.
class Answer {
  constructor() {
    this.status = 0;
    this.text = "";
    this.thought = "";
    this.calls = new Map(); // by their place: {call, args, id}
    this.finish = "";
    this.tokens = null; // {in, out, cached}
    this.others = []; // what has another form
    this.open = false; // it was cut off within a piece
    this.pieces = 0;
  }
  add(piece, open) {
    this.pieces++;
    this.open ||= Boolean(open);
    if (statusOf(piece)) {
      this.status = statusOf(piece);
      if (piece.body === undefined) return;
    }
    const data = isObject(piece) ? (piece.data ?? piece.body ?? piece.line ?? piece.text ?? piece) : piece;
    if (data === "[DONE]" || (typeof data === "string" && data.startsWith(":"))) return;
    if (!isObject(data) || !this.take(data)) this.others.push(data);
  }
  // take reports whether a part of an answer has a form that is known.
  take(e) {
    const known = [this.ofCompletions(e), this.ofMessages(e), this.ofResponses(e), this.ofGemini(e), this.ofOllama(e)].some(Boolean);
    const usage = e.usage ?? e.usageMetadata ?? e.message?.usage ?? e.response?.usage;
    if (isObject(usage)) this.count(usage);
    return known || isObject(usage);
  }
  count(u) {
    const number = (...values) => values.find((v) => typeof v === "number");
    const t = (this.tokens ??= { in: 0, out: 0, cached: 0 });
    t.in = number(u.prompt_tokens, u.input_tokens, u.promptTokenCount, u.prompt_eval_count, t.in);
    t.out = number(u.completion_tokens, u.output_tokens, u.candidatesTokenCount, u.eval_count, t.out);
    t.cached = number(u.prompt_tokens_details?.cached_tokens, u.cache_read_input_tokens, u.cachedContentTokenCount, t.cached);
  }
  call(place, name, args, id) {
    const c = this.calls.get(place) ?? { call: "", args: "", id: "" };
    this.calls.set(place, c);
    if (name && name !== c.call) c.call += name;
    if (id) c.id = id;
    if (typeof args === "string") c.args += args;
    else if (args !== undefined && args !== null) c.args = JSON.stringify(args);
  }
  ofCompletions(e) {
    if (!Array.isArray(e.choices)) return false;
    for (const choice of e.choices) {
      const part = choice?.delta ?? choice?.message ?? {};
      this.text += textOf(part.content);
      this.thought += textOf(part.reasoning_content ?? part.reasoning);
      for (const [i, c] of (part.tool_calls ?? []).entries()) this.call(c?.index ?? i, c?.function?.name, c?.function?.arguments, c?.id);
      this.finish = choice?.finish_reason ?? this.finish;
    }
    return true;
  }
  ofMessages(e) {
    if (e.type === "message" && Array.isArray(e.content)) {
      for (const [i, block] of e.content.entries()) this.block(i, block);
      this.finish = textOf(e.stop_reason);
      return true;
    }
    switch (e.type) {
      case "content_block_start":
        this.block(e.index, { ...e.content_block, input: undefined });
        return true;
      case "content_block_delta":
        this.text += textOf(e.delta?.text);
        this.thought += textOf(e.delta?.thinking);
        if (e.delta?.partial_json !== undefined) this.call(e.index, "", e.delta.partial_json);
        return true;
      case "message_delta":
        this.finish = textOf(e.delta?.stop_reason) || this.finish;
        return true;
    }
    return ["message_start", "message_stop", "content_block_stop", "ping"].includes(e.type);
  }
  block(place, b) {
    if (b?.type === "tool_use") this.call(place, b.name, b.input, b.id);
    this.text += textOf(b?.text);
    this.thought += textOf(b?.thinking);
  }
  ofResponses(e) {
    if (e.type === "response.output_text.delta") {
      this.text += textOf(e.delta);
      return true;
    }
    if (e.type === "response.function_call_arguments.delta") {
      this.call(e.output_index, "", e.delta);
      return true;
    }
    if (e.type === "response.output_item.added" && e.item?.type === "function_call") {
      this.call(e.output_index, e.item.name, "", e.item.call_id);
      return true;
    }
    if (typeof e.type === "string" && e.type.startsWith("response.")) {
      this.finish = textOf(e.response?.status) || this.finish;
      return true;
    }
    if (e.object !== "response" || !Array.isArray(e.output)) return false;
    for (const [i, item] of e.output.entries()) {
      if (item?.type === "function_call") this.call(i, item.name, item.arguments, item.call_id);
      for (const part of item?.content ?? []) this.text += textOf(part?.text);
    }
    this.finish = textOf(e.status);
    return true;
  }
  ofGemini(e) {
    if (!Array.isArray(e.candidates)) return false;
    for (const one of e.candidates) {
      for (const part of one?.content?.parts ?? []) {
        this.text += textOf(part?.text);
        if (part?.functionCall) this.call(this.calls.size, part.functionCall.name, part.functionCall.args);
      }
      this.finish = one?.finishReason ?? this.finish;
    }
    return true;
  }
  ofOllama(e) {
    if (typeof e.done !== "boolean" || !isObject(e.message)) return false;
    this.text += textOf(e.message.content);
    this.thought += textOf(e.message.thinking);
    for (const c of e.message.tool_calls ?? []) this.call(this.calls.size, c?.function?.name, c?.function?.arguments);
    this.finish = textOf(e.done_reason) || this.finish;
    if (typeof e.eval_count === "number") this.count(e);
    return true;
  }
  // words are the answer on a line.
  get words() {
    const words = [];
    if (this.status && Math.trunc(this.status / 100) !== 2) words.push(String(this.status));
    if (this.text) words.push(quoted(this.text));
    for (const c of this.calls.values()) words.push("calls " + onLine(c.call) + " " + short(c.args));
    if (this.others.length) words.push(this.others.length === 1 ? compact(this.others[0], 160) : counted(this.others.length, "piece"));
    if (this.open) words.push("cut off");
    if (this.tokens) words.push(`${this.tokens.in} tokens in, ${this.tokens.out} out`);
    return words.join(", ");
  }
}

// momentsOf are the points at which a model was asked: the asks that are conversations, and
// the executor calls in which there is none. Each has the one before it of its like.
function momentsOf(trace) {
  if (trace.moments) return trace.moments;
  const moments = [],
    asked = new Set(),
    before = new Map();
  const add = (row, like) => {
    const m = { row, seq: row.seq, like, before: before.get(like) ?? null };
    before.set(like, m);
    moments.push(m);
  };
  const asks = trace.rows.filter((row) => row.crossing.kind === "ask");
  for (const row of asks) {
    if (!talks(trace, row)) continue;
    for (let c = trace.calls.get(row.crossing.call); c; c = c.parent) asked.add(c.id);
  }
  for (const row of trace.rows) {
    const x = row.crossing;
    if (x.kind === "ask" && talks(trace, row)) add(row, "ask " + textOf(x.data.of));
    if (x.kind === "call" && (x.data.seam ?? "").startsWith("executor/") && !asked.has(x.data.id)) add(row, "dispatch " + x.call);
  }
  return (trace.moments = moments);
}

// momentAt is the last one at a crossing, or the first one behind it; -1 where there is none.
function momentAt(trace, seq) {
  const moments = momentsOf(trace);
  let at = moments.length - 1;
  while (at > 0 && moments[at].seq > seq) at--;
  return at;
}

// seenIn are the messages that an executor call could see: what its dispatch held.
function seenIn(trace, moment) {
  const x = moment.row.crossing;
  const view = heldAt(trace, moment.seq).calls.get(x.data.id)?.view;
  if (!view) return [];
  const seen = view.prompt ? [{ role: "prompt", blocks: [{ text: view.prompt }], seq: 1 }] : [];
  const talk = [];
  for (const { name } of collections) {
    for (const held of view.sets.get(name).values()) {
      const record = held.ref ? trace.records.get(held.ref) : { kind: "instruction", value: held.text };
      if (record && name !== "tools")
        (["messages", "thoughts", "toolCalls"].includes(name) ? talk : seen).push(messageOfRecord(trace, record, held.seq));
    }
  }
  talk.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  return [...seen, ...talk];
}

function messageOfRecord(trace, record, seq) {
  const v = record.value,
    blocks = [];
  if (typeof v === "string") blocks.push({ text: v });
  else if (record.kind === "toolCall") {
    blocks.push({ call: textOf(v.tool), args: argsOf(v.args ?? {}), id: textOf(v.id) });
    if (v.results) blocks.push({ result: v.results.text ?? v.results, of: textOf(v.id), failed: v.isError });
  } else if (v.content !== undefined) blocks.push({ text: textOf(v.content) });
  else blocks.push({ json: v });
  return { role: textOf(v.role) || record.kind, blocks, seq, time: typeof v === "string" ? "" : textOf(v.createdAt) };
}

// saidIn is what an executor call reported: its streams, put together.
function saidIn(trace, moment) {
  const said = new Map();
  const x = moment.row.crossing;
  for (let seq = moment.seq + 1, last = moment.row.end?.seq ?? trace.length; seq <= last; seq++) {
    const { kind, call, data } = trace.at(seq);
    if (call !== x.data.id || !kind.startsWith("report-") || kind === "report-log" || data.err) continue;
    const key = kind + " " + textOf(data.id);
    const s = said.get(key) ?? { role: kind.slice("report-".length), text: "", blocks: [] };
    said.set(key, s);
    s.text += textOf(data.delta);
    s.tool = data.tool ?? s.tool;
    s.args = data.args ?? s.args;
    s.results = data.results ?? s.results;
    s.failed ||= data.isError;
  }
  for (const s of said.values()) {
    if (s.role === "tool-call") s.blocks.push({ call: textOf(s.tool), args: argsOf(s.args ?? {}) });
    else s.blocks.push(s.role === "thought" ? { thought: s.text } : { text: s.text });
    if (s.results) s.blocks.push({ result: s.results.text ?? s.results, failed: s.failed });
  }
  return [...said.values()];
}

// totals are what all asks together cost, as their answers say.
function totals(trace) {
  if (trace.totals) return trace.totals;
  const t = { asks: 0, in: 0, out: 0, counted: false };
  for (const row of trace.rows) {
    if (row.crossing.kind !== "ask") continue;
    t.asks++;
    const tokens = exchangeOf(trace, row).answer.tokens;
    if (tokens) {
      t.in += tokens.in;
      t.out += tokens.out;
      t.counted = true;
    }
  }
  return (trace.totals = t);
}
