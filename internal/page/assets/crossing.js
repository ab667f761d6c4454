// ---- crossing.js: one row in words, and one crossing in full.

// What of a field is said on a line, by what the field is; others say nothing there.
const gists = {
  Seam: (t, v) => onLine(textOf(v)),
  Name: (t, v) => short(textOf(v), 60),
  Key: (t, v) => (/^[0-9a-f]{64}$/.test(v) ? "#" + v.slice(0, 8) : short(textOf(v), 60)),
  Text: (t, v) => quoted(textOf(v)),
  Texts: (t, v) =>
    v
      .slice(0, 8)
      .map((one) => short(textOf(one), 60))
      .join(", "),
  Collection: (t, v) => onLine(textOf(v)),
  Record: (t, v) => recordText(t, v),
  Records: (t, v) => (v.length === 1 ? recordText(t, v[0]) : counted(v.length, "record")),
  Value: (t, v) => compact(v, 120, true),
  Args: (t, v) => argsText(v),
  Result: (t, v) => "gave " + resultText(t, v),
  Status: (t, v) => onLine(textOf(v)),
  Flag: (t, v, label) => (v ? label : ""),
  IsError: (t, v) => (v ? "failed" : ""),
  N: (t, v) => String(v),
  ID: (t, v) => String(v),
  Duration: (t, v) => textOf(v),
  Cause: (t, v) => "with " + errorText(v),
  Payload: (t, v) =>
    isObject(v)
      ? [v.tool, v.delta !== undefined ? quoted(textOf(v.delta)) : "", v.args ? argsText(v.args) : ""].filter(Boolean).join(" ")
      : compact(v),
  Schema: () => "with a schema",
  Digest: (t, v) => v.slice(0, 8),
};

// headOf is what a row is: a verb, and what it is about.
function headOf(trace, row) {
  const x = row.crossing;
  if (x.kind === "ask") return { verb: "ask", what: onLine(textOf(x.data.of)) + " " + exchangeOf(trace, row).words };
  if (x.kind === "state") return { verb: "state", what: seenAt(trace, x) };
  if (x.kind === "piece") return { verb: "piece", what: pieceText(x) };
  const what = [...toolsOf(trace, row)];
  for (const use of x.row.fields) {
    const v = saidOf(x, use);
    if (v === undefined || use.phase !== x.phase || (x.kind === "call" && ["ID", "Seam", "Seams"].includes(use.field))) continue;
    const words = gists[use.field]?.(trace, v, use.label);
    if (words) what.push(words);
  }
  return { verb: x.kind === "call" ? onLine(x.data.seam ?? "") : x.kind, what: what.join(" ") };
}

// toolsOf is the tool that an event is of, which its line does not say; none where goroutines
// execute several at once, of which it may be any.
function toolsOf(trace, row) {
  const tools = new Set(row.causes.flatMap(({ crossing }) => (crossing.data.tool ? [onLine(recordText(trace, crossing.data.tool))] : [])));
  return tools.size === 1 ? tools : [];
}

// pieceText is what a piece of an answer adds to it, or its JSON where that is nothing.
function pieceText(x) {
  const part = new Answer();
  part.add(x.data.piece, x.data.open);
  return (!part.others.length && part.words) || compact(x.data.piece?.data ?? x.data.piece, 160);
}

// answerOf is what a row came back with: {text, bad}, or null where that is nothing.
function answerOf(trace, row) {
  const x = row.end ?? row.crossing,
    d = x.data;
  if (row.crossing.kind === "ask") {
    const { words, status } = exchangeOf(trace, row).answer;
    if (d.err !== undefined && !isStop(d.err)) return { text: errorText(d.err), bad: true };
    return words ? { text: words, bad: status >= 400 } : null;
  }
  if (d.err !== undefined && x.kind !== "error") return { text: errorText(d.err), bad: true };
  if (x.kind === "error") return { text: errorText(d.err), bad: true };
  if (x.kind === "return" && d.outcome && d.outcome !== "ok") return { text: d.outcome, bad: true };
  if (!row.end) return null;
  if (d.result !== undefined) return { text: resultText(trace, d.result) };
  if (d.records !== undefined)
    return { text: d.records.length === 1 ? recordText(trace, d.records[0]) : counted(d.records.length, "record") };
  if (d.bytes !== undefined) return { text: "bytes" };
  return null;
}

// textsOf are the texts that a row shows, in their order.
function textsOf(trace, row) {
  const { verb, what } = headOf(trace, row),
    answer = answerOf(trace, row);
  return [verb, what, ...(answer ? ["→", answer.text] : [])];
}

// lineOf is what of a row can be found beside the members of its lines: what it shows, and of an
// ask all of its answer, which may have come in pieces and be longer than the row. A request that
// goes on from an earlier one is put into words as that is, but for how many messages it has by
// now: to read all of them would take as long as the square of what there is.
function lineOf(trace, row) {
  if (row.crossing.kind !== "ask") return textsOf(trace, row).join(" ");
  const { answer } = exchangeOf(trace, row);
  let said = row.crossing.said;
  while (said?.isLikeBase) said = said.base;
  const shown = said === row.crossing.said ? textsOf(trace, row) : ["ask", textOf(row.crossing.data.of), addressOf(said.x.data.request)];
  return [...shown, answer.text, answer.thought, ...[...answer.calls.values()].flatMap((c) => [c.call, c.args])].join(" ");
}

// spoken is a row for a screen reader, in one sentence.
function spoken(trace, row) {
  const { verb, what } = headOf(trace, row),
    answer = answerOf(trace, row),
    { strand } = row.crossing;
  return `${row.seq}${strand ? ", " + strandName(strand) : ""}: ${verb} ${what}${answer ? (answer.bad ? ", failed: " : ", gave ") + answer.text : ""}`;
}

// groupOf is what the filter calls a row: the label of its seam where it is a call, else its
// kind.
const groupOf = (row) => (row.crossing.kind === "call" ? seamColour(row.crossing.data.seam) + "/" : row.crossing.kind);

// colourOf is the name of the colour of a row.
function colourOf(row) {
  const x = row.crossing;
  if (x.kind === "call") return seamColour(x.data.seam);
  return ["ask", "piece"].includes(x.kind) ? "ask" : x.row.class;
}

// crossingView shows one crossing: where it is, its fields, and what it began or ended.
function crossingView(turn, seq) {
  const trace = turn.trace,
    x = trace.at(seq),
    row = trace.row(seq);
  const { verb, what } = headOf(trace, row);
  return h(
    "article",
    { class: "crossing", "data-colour": colourOf(row) },
    h("h2", {}, h("span", { class: "verb" }, verb), " ", h("span", { class: "what", dir: "auto" }, what)),
    h("p", { class: "where" }, wayTo(turn, row)),
    h("p", { class: "facts" }, factsOf(turn, x, row)),
    row.crossing.kind === "ask" && askView(trace, row),
    linesOf(row).map((one) => lineView(turn, one, one === x, linesOf(row).length > 1)),
    h(
      "details",
      { class: "raw" },
      h("summary", {}, "as the trace writes it"),
      linesOf(row).map((one) => h("pre", {}, one.line.length > 20000 ? onLine(one.line.slice(0, 20000)) + " …" : onLine(one.line))),
    ),
  );
}

// linesOf are the crossings of a row, in order.
const linesOf = (row) => [row.crossing, ...row.events, ...(row.end ? [row.end] : [])].sort((a, b) => a.seq - b.seq);

// wayTo are the calls that a row lies in, outermost first.
function wayTo(turn, row) {
  const way = [];
  for (let r = row.parent; r; r = r.parent) way.unshift(r);
  const step = (r) => link(turn.hash(r.seq), {}, r.crossing.kind === "call" ? onLine(r.crossing.data.seam ?? "") : r.crossing.kind);
  const left = way.length - mostSteps; // in the middle
  const steps =
    left > 1 ? [...way.slice(0, mostSteps / 2).map(step), `… ${left} more …`, ...way.slice(-mostSteps / 2).map(step)] : way.map(step);
  return steps.map((one, i) => [i > 0 && " › ", one]);
}

// The most steps of the way to a crossing that are shown.
const mostSteps = 10;

function factsOf(turn, x, row) {
  const facts = [h("span", {}, "#" + row.seq + (row.end ? "–#" + row.end.seq : ""))];
  const isTimed = turn.trace.elapsed > 0; // else the clock stood
  if (isTimed) facts.push(h("span", { title: "since the turn began" }, "at " + lasting(row.crossing.at)));
  if (row.end) facts.push(isTimed && h("span", {}, "took " + lasting(row.takes)));
  else if (row.crossing.kind === "call" || row.crossing.phase === "begin") facts.push(h("span", { class: "bad" }, "never ended"));
  if (x.strand)
    facts.push(h("span", {}, "strand " + strandName(x.strand) + " " + short(textOf(turn.trace.strands.get(x.strand)?.name), 40)));
  return facts;
}

// lineView shows the fields of one crossing of a row.
function lineView(turn, x, isChosen, several) {
  const fields = x.row.fields.filter(
    (use) => saidOf(x, use) !== undefined && use.phase === x.phase && !(x.kind === "call" && use.field === "Seam") && use.field !== "ID",
  );
  const wanted = fields.filter((use) => !(x.kind === "ask" && use.field === "JSON"));
  if (!several && !wanted.length) return null;
  const known = new Set(["kind", "phase", "at", "in", "strand", "op", ...x.row.fields.map((use) => use.label)]);
  const others = Object.keys(x.data).filter((name) => !known.has(name));
  return h(
    "section",
    { class: "line" + (isChosen ? " chosen" : "") },
    several &&
      h(
        "h3",
        {},
        link(turn.hash(x.seq), {}, "#" + x.seq),
        " ",
        x.kind === "return" ? "returns" : x.phase === "whole" ? x.kind : x.phase === "begin" ? "begins" : "done",
        turn.trace.elapsed > 0 && h("span", { class: "faint" }, " " + lasting(x.at)),
      ),
    wanted.length + others.length > 0 &&
      h(
        "dl",
        {},
        wanted.map((use) => [h("dt", {}, use.label), h("dd", {}, fieldView(turn.trace, use.field, saidOf(x, use), x.seq))]),
        others.map((name) => [h("dt", {}, onLine(name)), h("dd", {}, valueView(x.data[name]))]),
      ),
  );
}

// askView shows what was asked beside the conversation, and what was answered.
function askView(trace, row) {
  const e = exchangeOf(trace, row),
    a = e.answer,
    messages = e.messages;
  return h(
    "section",
    { class: "ask" },
    h("h3", {}, "asked"),
    messages ? h("p", { class: "faint" }, counted(messages.length, "message") + ": see Conversation") : valueView(e.request),
    messages &&
      h(
        "dl",
        {},
        e.settings.map(([name, value]) => [h("dt", {}, short(name, 60)), h("dd", {}, valueView(value, 1))]),
      ),
    h("h3", {}, "answered"),
    answerView(a),
    endedView(e),
  );
}

// endedView is the error that an ask ended with, or that its answer was read no further.
function endedView(e) {
  if (e.err === undefined) return null;
  return isStop(e.err) ? h("p", { class: "faint" }, "read no further") : errorView(e.err);
}

// answerView shows an answer that was put together from pieces.
function answerView(a) {
  const facts = [];
  if (a.status) facts.push(h("span", { class: a.status >= 400 ? "bad" : "" }, "HTTP " + a.status));
  if (a.tokens)
    facts.push(
      h(
        "span",
        {},
        `${a.tokens.in.toLocaleString("en")} tokens in, ${a.tokens.out.toLocaleString("en")} out` +
          (a.tokens.cached ? `, ${a.tokens.cached.toLocaleString("en")} cached` : ""),
      ),
    );
  if (a.finish) facts.push(h("span", {}, "ended by " + short(textOf(a.finish), 40)));
  if (a.pieces > 1) facts.push(h("span", {}, counted(a.pieces, "piece")));
  if (a.open) facts.push(h("span", { class: "bad" }, "cut off"));
  return h(
    "div",
    { class: "answer" },
    facts.length > 0 && h("p", { class: "facts" }, facts),
    blocksView([
      ...(a.thought ? [{ thought: a.thought }] : []),
      ...(a.text ? [{ text: a.text }] : []),
      ...[...a.calls.values()].map((c) => ({ call: c.call, args: argsOf(c.args), id: c.id })),
      ...a.others.slice(0, mostMembers).map((json) => ({ json })),
    ]),
    !a.pieces && h("p", { class: "faint" }, "nothing"),
  );
}

// blocksView shows what a message says.
function blocksView(blocks) {
  return blocks.map((b) => {
    if (b.text !== undefined) return prose(b.text);
    if (b.thought !== undefined) return h("div", { class: "thought" }, prose(b.thought));
    if (b.call !== undefined)
      return h(
        "div",
        { class: "block" },
        h(
          "p",
          {},
          h("span", { class: "tag" }, "calls"),
          " ",
          h("strong", {}, short(b.call, 80)),
          " ",
          h("span", { class: "faint" }, short(b.id ?? "", 60)),
        ),
        valueView(b.args, 1),
      );
    if (b.result !== undefined) {
      return h(
        "div",
        { class: "block" },
        h(
          "p",
          {},
          h("span", { class: b.failed ? "tag bad" : "tag" }, b.failed ? "failed" : "gave"),
          " ",
          h("span", { class: "faint" }, short(b.of ?? "", 60)),
        ),
        typeof b.result === "string" ? prose(b.result) : valueView(b.result, 1),
      );
    }
    return valueView(b.json, 1);
  });
}
