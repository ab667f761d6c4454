// ---- state.js: what the engine held at a crossing, by the crossings alone. It is
// internal/state in the small: what is visible, and not whether an engine may tell it.

const { collections } = tables; // {name, holds}

// keyOf is the key of a record in its set.
const keyOf = (r) => (typeof r.value === "string" ? r.value : textOf(r.kind === "tool" ? r.value.name : (r.value.id ?? r.value)));

// View is what can be seen through a context. Its sets hold {ref, seq} by key: the record's
// number, and the crossing that put it there.
class View {
  constructor() {
    this.prompt = "";
    this.sets = new Map(collections.map((c) => [c.name, new Map()]));
    this.stash = Object.create(null);
    this.stashSeq = new Map(); // by path, the crossing that set it
  }
  copy() {
    const v = new View();
    v.prompt = this.prompt;
    for (const [name, set] of this.sets) v.sets.set(name, new Map(set));
    v.stash = branch(this.stash);
    v.stashSeq = new Map(this.stashSeq);
    return v;
  }
}

// isBranch reports whether a value of a stash is a branch: an object, but for one that says
// a type of its own.
function isBranch(value) {
  if (!isObject(value)) return false;
  const names = Object.keys(value);
  return names.length !== 1 || !names[0].startsWith("$");
}

// branch is a copy of a tree in which nothing is null. Any name may stand in it.
function branch(tree) {
  const copy = Object.create(null);
  for (const name of Object.keys(tree)) {
    if (tree[name] !== null) copy[name] = isBranch(tree[name]) ? branch(tree[name]) : tree[name];
  }
  return copy;
}

// Held is what an engine holds while the crossings go in one after the other.
class Held {
  constructor(trace) {
    this.trace = trace;
    this.seq = 0;
    this.turn = null;
    this.turnID = "";
    this.cancelled = 0; // the crossing that did
    this.calls = new Map(); // by number: {id, view, dispatch, label}
    this.ops = new Map(); // changes that wait for their end
    this.dispatches = [];
    this.removals = []; // {seq, view, set, key, ref}
  }
  apply(x) {
    this.seq = x.seq;
    const step = steps[x.kind];
    if (!step) return;
    const c = this.calls.get(x.call);
    step(this, x, c);
  }
  change(view, { set, ref, key }) {
    const held = view?.sets.get(set);
    if (!held) return;
    const record = ref && this.trace.recordOf(ref);
    if (record) {
      held.set(keyOf(record), { ref: ref["#"], seq: this.seq });
    } else if (held.has(key)) {
      this.removals.push({ seq: this.seq, view, set, key, ref: held.get(key).ref });
      held.delete(key);
    }
  }
  // take makes a change in a dispatch and queues it for what is above.
  take(d, change) {
    this.change(d.view, change);
    d.queue.push(change);
  }
  flush(d, keeps) {
    for (const change of keeps && d.source ? d.queue : []) {
      if (d.above) this.take(d.above, change);
      else this.change(d.source, change);
    }
    d.queue = [];
  }
  opened(c, view, source, seam, above) {
    c.view = view;
    c.dispatch = {
      call: c,
      view,
      source,
      above,
      seam,
      id: "",
      queue: [],
      signal: "",
      iteration: 0,
      iterations: 0,
      streams: new Map(),
      ended: false,
    };
    this.dispatches.push(c.dispatch);
  }
  begin(x) {
    const v = new View();
    v.prompt = textOf(x.data.prompt);
    const records = (x.data.records ?? []).map((ref) => ({ ref, record: this.trace.recordOf(ref) }));
    for (const text of x.data.instructions ?? []) {
      v.sets.get("instructions")?.set(textOf(text), { text: textOf(text), seq: x.seq });
    }
    for (const { ref, record } of records) {
      const of = record && collections.find((c) => c.holds === record.kind);
      if (of) v.sets.get(of.name).set(keyOf(record), { ref: ref["#"], seq: x.seq });
    }
    if (isObject(x.data.stash)) v.stash = branch(x.data.stash);
    this.turn = v;
    return v;
  }
}

const editing = (h, x, c) => {
  if (!x.data.err && c) h.change(c.view, { set: x.data.of, ref: x.data.record, key: textOf(x.data.key) });
};

const changing = (h, x, c) => {
  if (x.phase === "begin") {
    h.ops.set(x.op, { set: x.data.of, ref: x.data.record, key: textOf(x.data.key) });
    return;
  }
  const change = h.ops.get(x.op);
  h.ops.delete(x.op);
  if (change && c?.dispatch && !x.data.err) h.take(c.dispatch, change);
};

const reporting = (h, x, c) => {
  const d = c?.dispatch;
  if (!d || x.data.err) return;
  const kind = x.kind.slice("report-".length),
    key = kind + " " + textOf(x.data.id);
  const s = d.streams.get(key) ?? { kind, id: textOf(x.data.id), text: "", complete: false, seq: 0 };
  d.streams.set(key, s);
  if (s.complete) return;
  s.text += textOf(x.data.delta);
  s.tool = x.data.tool ?? s.tool;
  s.args = x.data.args ?? s.args;
  s.results = x.data.results ?? s.results;
  s.complete = Boolean(x.data.complete);
  s.seq = x.seq;
};

// isDispatch reports whether a call is that of its dispatch. In a damaged trace there may be
// no call.
const isDispatch = (c) => c !== undefined && c.dispatch?.call === c;

// steps are what a kind of crossing changes, as state.Fold has it.
const steps = {
  call(h, x, parent) {
    const c = {
      id: x.data.id,
      view: parent?.view ?? h.turn ?? new View(),
      dispatch: parent?.dispatch,
      label: (x.data.seam ?? "").split("/", 1)[0],
    };
    h.calls.set(c.id, c);
    if (!x.call) {
      c.view = h.begin(x);
      if (c.label === "dispatch") h.opened(c, c.view, null, x.data.seam, null);
    } else if (c.label === "dispatch" && parent) {
      h.opened(c, parent.view.copy(), parent.view, x.data.seam, parent.dispatch ?? null);
    }
  },
  return(h, x) {
    const c = h.calls.get(x.data.id);
    if (isDispatch(c)) c.dispatch.ended = true;
  },
  add: editing,
  remove: editing,
  store: changing,
  mutate: changing,
  delete: changing,
  register(h, x, c) {
    if (!x.data.err && c) h.change(c.view, { set: "tools", ref: x.data.tool });
  },
  unregister(h, x, c) {
    if (!x.data.err && c) h.change(c.view, { set: "tools", key: textOf(x.data.tool) });
  },
  prune(h, x, c) {
    for (const key of (c && !x.data.err && x.data.pruned) || []) h.change(c.view, { set: "tools", key: textOf(key) });
  },
  stash(h, x, c) {
    if (x.data.err || !c) return;
    const path = textOf(x.data.path).split("."),
      last = path.pop();
    let node = c.view.stash;
    for (const segment of path) {
      if (node[segment] === undefined) {
        if (x.data.value === undefined || x.data.value === null) return;
        node[segment] = Object.create(null);
      }
      node = node[segment];
      if (!isBranch(node)) return;
    }
    if (x.data.value === undefined || x.data.value === null) delete node[last];
    else node[last] = isBranch(x.data.value) ? branch(x.data.value) : x.data.value;
    c.view.stashSeq.set(textOf(x.data.path), x.seq);
  },
  ack(h, x, c) {
    if (x.phase === "begin" && c?.dispatch && !c.dispatch.signal) c.dispatch.signal = "ack";
  },
  nack(h, x, c) {
    if (c?.dispatch && !c.dispatch.signal) c.dispatch.signal = "nack";
  },
  cancel(h, x) {
    h.cancelled ||= x.seq;
  },
  "report-message": reporting,
  "report-thought": reporting,
  "report-tool-call": reporting,
  turnStart(h, x) {
    h.turnID = textOf(x.data.turn);
  },
  dispatchStart(h, x, c) {
    if (c?.dispatch) c.dispatch.id = textOf(x.data.dispatch);
  },
  iterationStart(h, x, c) {
    if (c?.dispatch) c.dispatch.iteration = c.dispatch.iterations++;
  },
  iterationEnd(h, x, c) {
    if (isDispatch(c)) h.flush(c.dispatch, c.dispatch.signal !== "nack" && !h.cancelled);
  },
  dispatchEnd(h, x, c) {
    if (isDispatch(c)) h.flush(c.dispatch, x.data.status === "ack");
  },
};

// heldAt is what the engine held after a crossing. Going on from the last answer costs what
// lies between; going back costs all before.
function heldAt(trace, seq) {
  let held = trace.held;
  if (!held || held.seq > seq) held = trace.held = new Held(trace);
  while (held.seq < seq) held.apply(trace.at(held.seq + 1));
  return held;
}

// seenAt is what is visible where a state is told, in words.
function seenAt(trace, x) {
  if (!trace.seen) {
    trace.seen = new Map();
    const held = new Held(trace);
    for (const one of trace.crossings) {
      held.apply(one);
      if (one.kind === "state") trace.seen.set(one.seq, seenWords(held.calls.get(one.call)?.view));
    }
  }
  return trace.seen.get(x.seq) ?? "";
}

function seenWords(view) {
  if (!view) return "";
  const words = collections
    .map(({ name, holds }) => [view.sets.get(name).size, holds.replace(/[A-Z]/g, (c) => " " + c.toLowerCase())])
    .filter(([n]) => n)
    .map(([n, noun]) => counted(n, noun));
  return [...(view.prompt ? ["prompt"] : []), ...words, ...(Object.keys(view.stash).length ? ["stash"] : [])].join(", ");
}

// openAt are the calls and operations that were open after a crossing.
function openAt(trace, seq) {
  const open = [];
  for (const row of trace.rows) {
    if (row.seq > seq) break;
    const spans = row.crossing.kind === "call" || row.crossing.phase === "begin";
    if (spans && (!row.end || row.end.seq > seq)) open.push(row);
  }
  return open;
}
