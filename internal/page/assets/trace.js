// ---- trace.js: the lines of a trace, and how they belong together.

// What the table of kinds says, by the names of kinds.
const kinds = new Map();

function learnKinds(rows) {
  for (const row of rows) {
    row.again = row.fields.find((use) => use.again);
    row.records = row.fields.filter((use) => ["Record", "Records", "Result", "Payload"].includes(use.field));
    kinds.set(row.name, row);
  }
}

// Crossing is one line: data are its members by their labels, line is its text.
class Crossing {
  constructor(seq, at, data, line) {
    this.seq = seq;
    this.at = at; // since the start, in nanoseconds
    this.kind = data.kind;
    this.phase = data.phase ?? "whole";
    this.call = data.in ?? 0;
    this.strand = data.strand ?? 0;
    this.op = data.op ?? 0;
    this.data = data;
    this.line = line;
    this.row = kinds.get(this.kind); // what the table says of it
    this.said = null; // what it says again, where it may (said.js)
  }
}

// saidOf is what a crossing says in a field: of a number that its line leaves out, 0.
const saidOf = (x, use) => x.data[use.label] ?? use.zero;

// Row is what the tree shows as one: a crossing, with the one that ends it and the events
// that say the same.
class Row {
  constructor(crossing, parent, number) {
    this.crossing = crossing;
    this.parent = parent;
    this.number = number; // its place among all rows
    this.depth = parent ? parent.depth + 1 : 0;
    this.end = null; // the crossing that ends it
    this.piece = null; // the first of its answer, where it is an ask whose answer came in pieces
    this.events = [];
    this.causes = []; // the open operations that may have caused it, where it is an event of one
    this.children = 0;
    this.closed = false; // what is below it is not shown
    this.failed = null; // whether it did (overview.js), once somebody asked
    this.line = null; // what it shows, in small letters, once somebody searched
  }
  get seq() {
    return this.crossing.seq;
  }
  // takes is how long it took; 0 where it is one crossing.
  get takes() {
    return this.end ? this.end.at - this.crossing.at : 0;
  }
}

// Trace is a trace that was unpacked.
class Trace {
  constructor(text) {
    const lines = text.split("\n");
    this.header = JSON.parse(lines[0]);
    this.crossings = [];
    this.records = new Map(); // by number: {kind, value, seq}
    this.rows = [];
    this.rowOf = []; // by the number of a crossing
    this.calls = new Map(); // by number: {id, row, seam, label, parent, strand}
    this.pieces = new Map(); // of answers, by the number of the operation that asked
    this.strands = new Map(); // by number: {id, name, first, last}
    this.texts = new Texts();
    this.elapsed = 0;
    const linker = new Linker(this);
    for (let i = 1; i < lines.length; i++) {
      if (!lines[i]) continue;
      const data = JSON.parse(lines[i]);
      if (data.kind === undefined) continue; // the footer
      this.elapsed += data.at ?? 0;
      const x = new Crossing(this.crossings.length + 1, this.elapsed, data, lines[i]);
      this.crossings.push(x);
      linker.add(x);
    }
  }
  get length() {
    return this.crossings.length;
  }
  at(seq) {
    return this.crossings[seq - 1];
  }
  row(seq) {
    return this.rowOf[seq];
  }
  // recordOf is the record that a reference speaks of.
  recordOf(ref) {
    return isObject(ref) ? this.records.get(ref["#"]) : undefined;
  }
  // seamOf is the path of the seam call that a crossing belongs to.
  seamOf(x) {
    const id = x.kind === "call" || x.kind === "return" ? x.data.id : x.call;
    return this.calls.get(id)?.seam ?? "";
  }
}

// Linker adds the lines one after the other.
class Linker {
  constructor(trace) {
    this.trace = trace;
    this.open = new Map(); // the rows of open operations, by number
    this.within = new Map(); // and in their order, by call and strand (around)
    this.forks = new Map(); // the rows of forks, by strand
    this.waiting = new Map(); // rows whose one event is to come, by call
  }
  add(x) {
    this.trace.texts.add(x);
    this.learn(x);
    this.lane(x);
    const row = this.place(x);
    this.trace.rowOf[x.seq] = row;
  }
  // learn keeps the records that a crossing says in full.
  learn(x) {
    for (const use of x.row.records) {
      const value = x.data[use.label];
      if (value === undefined) continue;
      switch (use.field) {
        case "Record":
          this.record(value, x);
          break;
        case "Records":
          for (const one of value) this.record(one, x);
          break;
        case "Result":
          this.result(value, x);
          break;
        case "Payload":
          if (isObject(value)) this.result(value.results, x);
          break;
      }
    }
  }
  record(ref, x) {
    if (!isObject(ref)) return;
    for (const kind in ref) {
      if (kind !== "#" && !this.trace.records.has(ref["#"])) this.trace.records.set(ref["#"], { kind, value: ref[kind], seq: x.seq });
    }
  }
  result(result, x) {
    if (!isObject(result)) return;
    this.record(result.media, x);
    if (Array.isArray(result.mediaList)) for (const one of result.mediaList) this.record(one, x);
  }
  lane(x) {
    const lane = this.trace.strands.get(x.strand);
    if (lane) lane.last = x.seq;
    else
      this.trace.strands.set(x.strand, {
        id: x.strand,
        name: textOf(this.forks.get(x.strand)?.crossing.data.name),
        first: x.seq,
        last: x.seq,
      });
  }
  // place is the row that a crossing stands in: one of its own, or that of what it ends or
  // repeats.
  place(x) {
    if (x.kind === "return") return this.ended(this.trace.calls.get(x.data.id)?.row, x);
    if (x.phase === "done") {
      const row = this.open.get(x.op);
      this.open.delete(x.op);
      const list = row && this.around(row.crossing);
      if (list?.includes(row)) list.splice(list.lastIndexOf(row), 1);
      return this.ended(row, x);
    }
    const cause = this.waiting.get(x.call);
    if (cause && cause.kind === x.kind) {
      this.waiting.delete(x.call);
      cause.row.events.push(x);
      return cause.row;
    }
    const row = this.begun(x, this.above(x));
    if (x.kind === "piece") {
      const pieces = this.trace.pieces.get(x.op);
      if (pieces) pieces.push(x);
      else this.trace.pieces.set(x.op, [x]);
      const asked = this.open.get(x.op);
      if (asked) asked.piece ??= x;
    }
    if (x.row.causes?.length === 1) this.waiting.set(x.call, { kind: x.row.causes[0], row });
    return row;
  }
  ended(row, x) {
    if (!row || row.end) return this.begun(x, this.trace.calls.get(x.call)?.row ?? null); // in a damaged trace
    row.end = x;
    return row;
  }
  begun(x, parent) {
    const row = new Row(x, parent, this.trace.rows.length);
    this.trace.rows.push(row);
    if (parent) parent.children++;
    if (x.row.class === "event") row.causes = this.around(x).filter((open) => open.crossing.row.causes?.includes(x.kind));
    if (x.kind === "call") {
      const seam = x.data.seam ?? "";
      this.trace.calls.set(x.data.id, {
        id: x.data.id,
        row,
        seam,
        label: seam.split("/", 1)[0],
        parent: this.trace.calls.get(x.call) ?? null,
        strand: x.strand,
      });
    }
    if (x.kind === "fork") this.forks.set(x.data.id, row);
    if (x.kind === "ask") row.closed = true; // its pieces are read as one answer
    if (x.phase === "begin") {
      this.open.set(x.op, row);
      this.around(x).push(row);
    }
    return row;
  }
  // around are the open operations of a crossing's call and strand.
  around(x) {
    const key = x.call * 2 ** 26 + x.strand; // both are less, and this is faster than a text
    let list = this.within.get(key);
    if (!list) this.within.set(key, (list = []));
    return list;
  }
  // above is the row that a crossing stands below: the operation that it is a piece of, the
  // fork of its strand, the innermost operation of its call and strand that is open, or
  // the call.
  above(x) {
    if (x.op && this.open.has(x.op)) return this.open.get(x.op);
    const fork = x.kind === "call" && x.strand && this.forks.get(x.strand);
    if (fork && x.data.seam?.startsWith("strand/")) return fork;
    return this.around(x).at(-1) ?? this.trace.calls.get(x.call)?.row ?? null;
  }
}
