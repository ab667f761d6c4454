// ---- states.js: what the engine held after a crossing, and what of it is new.

// Since when something counts as new.
const spans = [
  ["crossing", "with this crossing"],
  ["call", "in this call"],
  ["iteration", "in this iteration"],
];

// sinceOf is the crossing behind which something is new.
function sinceOf(trace, seq, span) {
  const x = trace.at(seq);
  if (span === "call") return (trace.calls.get(x.call)?.row.seq ?? 1) - 1;
  if (span === "iteration") {
    for (let at = seq; at > 0; at--) if (trace.at(at).kind === "iterationStart") return at - 1;
    return 0;
  }
  return seq - 1;
}

function statesView(turn, seq) {
  const trace = turn.trace,
    held = heldAt(trace, seq),
    since = sinceOf(trace, seq, turn.span);
  const contexts = [];
  if (held.turn && !held.dispatches.some((d) => d.view === held.turn)) contexts.push(["turn " + held.turnID, held.turn, null]);
  for (const d of held.dispatches) if (!d.ended || trace.at(seq).call === d.call.id) contexts.push([d.seam + " " + d.id, d.view, d]);
  const choose = h(
    "select",
    {
      "aria-label": "what counts as new",
      onchange: (e) => {
        turn.span = e.target.value;
        turn.show();
      },
    },
    spans.map(([value, text]) => h("option", { value, selected: value === turn.span }, "new " + text)),
  );
  return h(
    "article",
    { class: "states" },
    h("h2", {}, "Held after #" + seq),
    h(
      "p",
      { class: "facts" },
      choose,
      endsOf(trace.row(seq), seq).map(([x, what]) => h("span", {}, what + " ", link(turn.hash(x.seq), {}, "#" + x.seq))),
      held.cancelled > 0 && h("span", { class: "bad" }, "cancelled by ", link(turn.hash(held.cancelled), {}, "#" + held.cancelled)),
    ),
    contexts.reverse().map(([name, view, d]) => contextView(turn, name, view, d, since, held)),
    openView(turn, seq),
  );
}

// endsOf are the beginning and the end of a row, but for the one that is shown.
function endsOf(row, seq) {
  return [
    [row.crossing, "after its beginning"],
    [row.end, "after its end"],
  ].filter(([x]) => x && x.seq !== seq);
}

function contextView(turn, name, view, d, since, held) {
  const facts = [];
  if (d) {
    facts.push(h("span", {}, "iteration " + d.iteration));
    if (d.signal) facts.push(h("span", { class: "tag" }, d.signal));
    if (d.queue.length) facts.push(h("span", {}, counted(d.queue.length, "change") + " to flush"));
  }
  return h(
    "section",
    { class: "context" },
    h("h3", {}, onLine(name)),
    facts.length > 0 && h("p", { class: "facts" }, facts),
    view.prompt && h("div", { class: "set" }, h("h4", {}, "prompt"), prose(view.prompt)),
    collections.map((c) => setView(turn, c, view, since, held)),
    stashView(turn, view, since),
    d &&
      d.streams.size > 0 &&
      h(
        "div",
        { class: "set" },
        h("h4", {}, "streams ", h("span", { class: "faint" }, d.streams.size)),
        h(
          "ul",
          {},
          [...d.streams.values()]
            .slice(-mostMembers)
            .map((s) =>
              h(
                "li",
                { class: s.seq > since ? "new" : "" },
                h("span", { class: "tag" }, s.kind),
                " ",
                s.text ? quoted(s.text) : onLine(textOf(s.tool)),
                !s.complete && h("span", { class: "faint" }, " open"),
                seqLink(turn, s.seq),
              ),
            ),
        ),
      ),
  );
}

const seqLink = (turn, seq) => link(turn.hash(seq), { class: "since", title: "put there by #" + seq }, "#" + seq);

function setView(turn, { name }, view, since, held) {
  const set = view.sets.get(name),
    gone = held.removals.filter((r) => r.view === view && r.set === name && r.seq > since);
  if (!set.size && !gone.length) return null;
  const items = [...set.entries()];
  const list = h(
    "ul",
    {},
    gone.map((r) => h("li", { class: "gone" }, r.ref ? recordText(turn.trace, { "#": r.ref }) : onLine(r.key), seqLink(turn, r.seq))),
  );
  const item = ([key, one]) =>
    h(
      "li",
      { class: one.seq > since ? "new" : "" },
      one.ref ? foldedRecord(turn.trace, { "#": one.ref }) : prose(one.text ?? key),
      seqLink(turn, one.seq),
    );
  inParts(list, items, mostMembers, item, (left) => counted(left, "record"));
  return h("div", { class: "set" }, h("h4", {}, name, " ", h("span", { class: "faint" }, set.size)), list);
}

function stashView(turn, view, since) {
  if (!Object.keys(view.stash).length) return null;
  const set = [...view.stashSeq].filter(([, seq]) => seq > since);
  return h(
    "div",
    { class: "set" },
    h("h4", {}, "stash"),
    set.length > 0 &&
      h(
        "ul",
        {},
        set.map(([path, seq]) => h("li", { class: "new" }, h("code", {}, short(path, 120)), seqLink(turn, seq))),
      ),
    plainView(view.stash),
  );
}

function openView(turn, seq) {
  const open = openAt(turn.trace, seq);
  if (!open.length) return null;
  return h(
    "section",
    { class: "context" },
    h("h3", {}, "under way"),
    h(
      "ul",
      { class: "open" },
      open.slice(-mostMembers).map((row) => {
        const { verb, what } = headOf(turn.trace, row);
        return h(
          "li",
          { "data-colour": colourOf(row) },
          h("span", { class: "verb" }, verb),
          " ",
          h("span", { class: "faint" }, short(what, 80)),
          " ",
          link(turn.hash(row.seq), { class: "since" }, "#" + row.seq),
        );
      }),
    ),
  );
}
