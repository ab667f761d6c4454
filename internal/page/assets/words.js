// ---- words.js: texts of others made fit to be shown, and numbers in words.

// What is not printable is shown as an escape: it could turn a line around, hide a part of
// it, or stand for something that it is not.
const unprintable = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]/gu;

function escapeOf(c) {
  if (c === "\n") return "\\n";
  if (c === "\t") return "\\t";
  if (c === "\r") return "\\r";
  return "\\u" + (c.codePointAt(0) > 0xffff ? "{" + c.codePointAt(0).toString(16) + "}" : c.charCodeAt(0).toString(16).padStart(4, "0"));
}

// onLine is a text that stays on its line.
function onLine(text) {
  return text.replace(unprintable, escapeOf);
}

// short is the beginning of a text on a line, of at most so many characters.
function short(text, most = 120) {
  if (text.length <= most) return onLine(text);
  let end = most;
  if (text.charCodeAt(end - 1) >= 0xd800 && text.charCodeAt(end - 1) < 0xdc00) end--; // a pair is not cut
  return onLine(text.slice(0, end)) + "…";
}

const quoted = (text, most) => "“" + short(text, most) + "”";

function counted(n, noun) {
  const many = /(s|x|ch|sh)$/.test(noun) ? noun + "es" : noun.replace(/([^aeiou])y$/, "$1ie") + "s";
  return Number(n ?? 0).toLocaleString("en") + " " + (n === 1 ? noun : many);
}

// lasting is a duration, given in nanoseconds.
function lasting(ns) {
  if (ns < 0) return "−" + lasting(-ns);
  for (const [size, unit] of [
    [3600e9, "h"],
    [60e9, "min"],
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
  ]) {
    const most = Number((ns / size).toPrecision(3)); // of which nobody says 1,000
    if (most >= 1) return most.toLocaleString("en", { maximumFractionDigits: 2 }) + " " + unit;
  }
  return ns === 0 ? "0" : ns + " ns";
}

// strandName is how lines name a strand, here as in transcripts.
const strandName = (number) => "s" + number;

// textOf is a text of a trace: JSON, or bytes that are no UTF-8.
function textOf(value) {
  if (typeof value === "string") return value;
  if (isObject(value) && typeof value.$string === "string") return "bytes " + value.$string;
  return value === undefined || value === null ? "" : compact(value);
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// The most that is written of a value on a line: beyond, nobody reads it there.
const mostCompact = 400;

// heldJSON is the text of the JSON that a plain value is, as those of sessions are; null where it
// is another one, or no JSON, as where it was redacted.
function heldJSON(value) {
  if (!isObject(value) || typeof value.$json !== "string" || Object.keys(value).length !== 1) return null;
  try {
    JSON.parse(value.$json);
    return value.$json;
  } catch {
    return null;
  }
}

// isMark reports whether a member of plain data says the type of what stands under it, which is
// no plain data then.
const isMark = (name) => String(name).startsWith("$");

// compact is JSON on a line, cut where it is long. It does not go through all of a large
// value. Of plain data it says the JSON that this holds.
function compact(value, most = mostCompact, isPlain = false) {
  let out = "";
  const add = (text) => {
    out += text;
    return out.length < most;
  };
  const walk = (v, depth, isPlain) => {
    if (out.length >= most) return;
    if (typeof v === "string") {
      add(JSON.stringify(v.length > most ? v.slice(0, most) : v));
      return;
    }
    if (typeof v !== "object" || v === null) {
      add(String(v));
      return;
    }
    if (depth > 32) {
      add("…");
      return;
    }
    const held = isPlain ? heldJSON(v) : null;
    if (held !== null) {
      add(held);
      return;
    }
    const isList = Array.isArray(v);
    add(isList ? "[" : "{");
    let first = true;
    for (const name of isList ? v.keys() : Object.keys(v)) {
      if (!first) add(",");
      first = false;
      if (!isList) add(JSON.stringify(name) + ":");
      walk(v[name], depth + 1, isPlain && !isMark(name));
      if (out.length >= most) return;
    }
    add(isList ? "]" : "}");
  };
  walk(value, 0, isPlain);
  return short(out, most);
}

// argsOf are the arguments of a tool: an object, or the JSON text of one.
function argsOf(args) {
  if (typeof args !== "string") return args;
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}

const argsText = (args) => (typeof args === "string" ? short(args) : compact(args, 160));

// errorText is an error on a line: its code and what it says.
function errorText(e) {
  if (!isObject(e)) return textOf(e);
  if (e.code) return e.code + (e.message ? ": " + short(textOf(e.message)) : "");
  if (e.panic !== undefined) return "panic: " + short(textOf(e.panic));
  if (e.sentinel) return textOf(e.sentinel);
  return short(textOf(e.text ?? e.cut ?? e));
}

// resultText is what a tool gave, on a line.
function resultText(trace, r) {
  if (!isObject(r)) return compact(r);
  if (r.text !== undefined) return quoted(textOf(r.text));
  if (r.bytes !== undefined) return "bytes " + short(textOf(r.bytes), 24);
  if (r.media !== undefined) return recordText(trace, r.media);
  if (Array.isArray(r.mediaList)) return counted(r.mediaList.length, "media");
  return compact(r);
}

// recordText is a record on a line.
function recordText(trace, ref) {
  const r = trace.recordOf(ref);
  if (!r) return compact(ref);
  const v = r.value;
  if (typeof v === "string") return quoted(v);
  switch (r.kind) {
    case "tool":
      return textOf(v.name);
    case "message":
      return textOf(v.role) + " " + (v.content ? quoted(textOf(v.content)) : "");
    case "toolCall":
      return textOf(v.tool) + " " + argsText(v.args ?? {}) + (v.results ? " → " + resultText(trace, v.results) : "");
    case "media":
      return "media " + textOf(v.filename ?? v.mimeType ?? v.id);
  }
  return v.content !== undefined ? quoted(textOf(v.content)) : compact(v);
}
