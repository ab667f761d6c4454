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
    this.depth = base ? base.depth + 1 : 0;
    this.kept = null; // its bytes, of one in a few
  }
  get isAgain() {
    return isObject(this.by) && "$from" in this.by;
  }
  // written are the bytes of a text that stands in its line.
  written() {
    if (isObject(this.by) && typeof this.by.$json === "string") return utf8.encode(this.by.$json);
    return utf8.encode(textOfMember(this.x.line, this.label));
  }
  // after are its bytes, given those of its base.
  after(base) {
    if (!this.isAgain) return this.written();
    const { head = 0, tail = 0, text = "" } = this.by;
    return joined([base.subarray(0, head), ...[text].flat().map((part) => this.bytesOf(part)), base.subarray(base.length - tail)]);
  }
  // bytesOf are those of a part of what is new.
  bytesOf(part) {
    if (typeof part === "string") return utf8.encode(part);
    if (typeof part.$string === "string") return Uint8Array.from(atob(part.$string), (c) => c.charCodeAt(0));
    return utf8.encode(this.media.get(part.media));
  }
}

const utf8 = new TextEncoder();

// keptEach is how many texts that name one another are made again, at most, to make one.
const keptEach = 32;

// Texts holds what the lines that come may name, and makes whole what names it.
class Texts {
  constructor() {
    this.requests = new Map(); // by the number of the ask
    this.pieces = new Map(); // the latest one of each ask, by that
    this.media = new Map(); // in base64, by the number of what opened it
    this.latest = null; // {said, bytes}: the one that was made whole last
  }
  add(x) {
    if (x.kind === "open-media" && x.phase === "done") this.media.set(x.op, x.data.bytes?.$bytes ?? "");
    const use = x.row.again;
    if (!use || x.data[use.label] === undefined) return;
    const held = use.again === "run" ? this.requests : this.pieces;
    const said = new Said(x, use.label, held.get(x.data[use.label]?.$from) ?? null, this.media);
    held.set(x.op, said);
    if (said.isAgain || said.by?.$json !== undefined) this.whole(x, said);
  }
  // whole has a crossing say in full what it says, once somebody asks.
  whole(x, said) {
    const set = (value) => Object.defineProperty(x.data, said.label, { value, enumerable: true });
    Object.defineProperty(x.data, said.label, {
      enumerable: true,
      configurable: true,
      get: () => {
        const text = new TextDecoder().decode(this.bytes(said));
        let value = text;
        try {
          value = JSON.parse(text);
        } catch {
          // what is no JSON is its text
        }
        set(value);
        return value;
      },
    });
  }
  bytes(said) {
    const chain = [];
    let one = said;
    for (; one && !one.kept && one !== this.latest?.said; one = one.base) chain.push(one);
    let bytes = one ? (one.kept ?? this.latest.bytes) : new Uint8Array();
    for (const next of chain.reverse()) {
      bytes = next.after(bytes);
      if (next.depth % keptEach === keptEach - 1) next.kept = bytes;
    }
    this.latest = { said, bytes };
    return bytes;
  }
}

// joined are bytes one behind the other.
function joined(parts) {
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
