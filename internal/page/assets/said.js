// ---- said.js: what asks say again, made whole. A request names an earlier one of the run, and
// a piece of an answer the one before it: so many bytes of its beginning and of its end are
// taken, as internal/wire/repeat.go writes it.

// Said is what a crossing says in the member that may say something again.
class Said {
  // base is the Said that it names, media are those that were opened, by their number.
  constructor(x, label, base, media) {
    this.x = x;
    this.label = label;
    this.by = x.data[label];
    this.base = base;
    this.media = media;
    this.length = -1; // of its bytes, until somebody asks
  }
  get isAgain() {
    return isObject(this.by) && "$from" in this.by;
  }
  // news is what it says that nothing before it does, as text or in parts.
  get news() {
    return this.isAgain ? this.by.text : (this.by?.$json ?? null);
  }
  // own are the bytes that stand in its line: all of them, or those that are new.
  get own() {
    if (this.isAgain) return joined([this.by.text ?? ""].flat().map((part) => this.bytesOf(part)));
    if (typeof this.by?.$json === "string") return utf8.encode(this.by.$json);
    return utf8.encode(textOfMember(this.x.line, this.label));
  }
  // bytesOf are those of a part of what is new.
  bytesOf(part) {
    if (typeof part === "string") return utf8.encode(part);
    if (typeof part.$string === "string") return Uint8Array.from(atob(part.$string), (c) => c.charCodeAt(0));
    return utf8.encode(this.media.get(part.media));
  }
  get head() {
    return this.isAgain ? (this.by.head ?? 0) : 0;
  }
  get tail() {
    return this.isAgain ? (this.by.tail ?? 0) : 0;
  }
  // size is how many bytes it has.
  get size() {
    if (this.length < 0) this.length = this.head + this.own.length + this.tail;
    return this.length;
  }
  // isLikeBase reports whether it says most of what its base says: it is of the same kind.
  get isLikeBase() {
    return this.base !== null && this.head + this.tail >= this.base.size * mostlyThere;
  }
  // bytes are all of its text. Of each Said that has a part in it that part alone is looked
  // at, so that the last of many asks takes no longer than it has bytes.
  get bytes() {
    const out = new Uint8Array(this.size);
    const parts = [{ said: this, from: 0, to: this.size, at: 0 }];
    while (parts.length) {
      const { said, from, to, at } = parts.pop();
      const begin = said.head,
        end = said.size - said.tail;
      if (from < begin) parts.push({ said: said.base, from, to: Math.min(to, begin), at });
      if (from < end && to > begin) {
        const first = Math.max(from, begin);
        out.set(said.own.subarray(first - begin, to - begin), at + first - from);
      }
      if (to > end) {
        const first = Math.max(from, end),
          moved = said.base.size - said.size; // the tails end together
        parts.push({ said: said.base, from: first + moved, to: to + moved, at: at + first - from });
      }
    }
    return out;
  }
}

const utf8 = new TextEncoder();

// mostlyThere is the share of a text of which another one says the same that goes on from it.
const mostlyThere = 0.75;

// mostRead is how many texts are held as values: of one that is asked for again and again, and
// of the one that it is compared with.
const mostRead = 4;

// Texts holds what the lines that come may name, and makes whole what names it.
class Texts {
  constructor() {
    this.requests = new Map(); // by the number of the ask
    this.pieces = new Map(); // the latest one of each ask, by that
    this.media = new Map(); // in base64, by the number of what opened it
    this.results = new Map(); // of tools, by the number of the call
    this.read = new Map(); // values, those that were asked for last
    this.made = 0; // how many texts were made whole
  }
  add(x) {
    if (x.kind === "return" && x.data.result) this.results.set(x.data.id, x.data.result);
    const use = x.row.again;
    if (use?.again === "bytes") {
      if (x.phase === "done") this.media.set(x.op, this.opened(x.data, use.label));
      return;
    }
    if (!use || x.data[use.label] === undefined) return;
    const held = use.again === "run" ? this.requests : this.pieces;
    x.said = new Said(x, use.label, held.get(x.data[use.label]?.$from) ?? null, this.media);
    held.set(x.op, x.said);
    if (x.said.isAgain || x.said.by?.$json !== undefined) this.whole(x.data, x.said);
  }
  // opened are the bytes that a media gave, in base64. Those that name others are put in the
  // place of the name.
  opened(data, label) {
    const { $bytes, $from, $result } = data[label] ?? {};
    if ($from === undefined && $result === undefined) return $bytes ?? "";
    const named = $result === undefined ? this.media.get($from) : base64Of(this.results.get($result));
    data[label] = { $bytes: named };
    return named;
  }
  // whole has a crossing say in full what it says, once somebody asks. Who goes through all
  // that crossings say does not ask: a history that is sent again with each ask is as long
  // as the square of what there is to be said.
  whole(data, said) {
    Object.defineProperty(data, said.label, { enumerable: false, get: () => this.value(said) });
  }
  value(said) {
    let value = this.read.get(said);
    if (!this.read.delete(said)) {
      this.made++;
      const text = new TextDecoder().decode(said.bytes);
      try {
        value = JSON.parse(text);
      } catch {
        value = text; // what is no JSON is its text
      }
      if (this.read.size >= mostRead) this.read.delete(this.read.keys().next().value);
    }
    this.read.set(said, value);
    return value;
  }
}

// base64Of are the bytes of a tool's result.
function base64Of(result) {
  if (result.bytes !== undefined) return result.bytes;
  if (typeof result.text.$string === "string") return result.text.$string;
  return btoa(Array.from(utf8.encode(result.text), (c) => String.fromCharCode(c)).join(""));
}

// joined are bytes one behind the other.
function joined(parts) {
  if (parts.length === 1) return parts[0];
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

// textOfMember is the text of a member of a line, as it stands there. No member before it is
// an object that has one of its name.
function textOfMember(line, label) {
  const mark = ',"' + label + '":',
    begin = line.indexOf(mark) + mark.length;
  let depth = 0,
    at = begin;
  for (; at < line.length; at++) {
    const c = line[at];
    if (c === '"') at = endOfText(line, at);
    else if (c === "{" || c === "[") depth++;
    else if (c === "," && depth === 0) break;
    else if ((c === "}" || c === "]") && depth-- === 0) break;
  }
  return line.slice(begin, at);
}

// endOfText is where the quote stands that ends the text that begins at one.
function endOfText(line, at) {
  for (;;) {
    at = line.indexOf('"', at + 1);
    let slashes = 0;
    while (line[at - 1 - slashes] === "\\") slashes++;
    if (at < 0 || slashes % 2 === 0) return at < 0 ? line.length : at;
  }
}
