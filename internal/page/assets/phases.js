// ---- phases.js: what happened in each phase of the turn, as transcript.WritePhases has it.

// phasesOf are the phases in order, {title, crossings}. Where strands are in different phases
// at once, these alternate.
function phasesOf(trace) {
  if (trace.phases) return trace.phases;
  const phases = [],
    held = new Held(trace);
  let isPast = false;
  for (const x of trace.crossings) {
    held.apply(x);
    const d = held.calls.get(x.call)?.dispatch;
    isPast ||= Boolean(d);
    const name = d?.seam.split("/").slice(1).join("/");
    const title = d ? "dispatch " + (name ? name + " " : "") + "· iteration " + d.iteration : isPast ? "turn output" : "turn input";
    if (!x.row.phased || x.phase === "done") continue;
    if (phases.at(-1)?.title !== title) phases.push({ title, crossings: [] });
    phases.at(-1).crossings.push(x);
  }
  return (trace.phases = phases);
}

function phasesView(turn, seq) {
  const phases = phasesOf(turn.trace);
  let at = phases.findLastIndex((p) => p.crossings[0].seq <= seq);
  at = Math.max(0, at);
  const from = Math.max(0, at - mostListed / 2);
  return h(
    "article",
    { class: "phases" },
    h("p", { class: "faint" }, "What listeners heard, what user code asked of a storage and changed, and what was visible."),
    from > 0 && h("p", { class: "faint" }, "… " + counted(from, "phase") + " before"),
    phases.slice(from, from + mostListed).map((p, i) => phaseView(turn, p, seq, phases.length <= 12 || from + i === at)),
    phases.length > from + mostListed && h("p", { class: "faint" }, "… " + counted(phases.length - from - mostListed, "phase") + " behind"),
  );
}

function phaseView(turn, phase, seq, isOpen) {
  const details = h(
    "details",
    { class: "fold phase" },
    h("summary", {}, h("strong", {}, onLine(phase.title)), h("span", { class: "faint" }, " " + phase.crossings.length)),
  );
  const fillIn = () => {
    if (!details.open || details.children.length > 1) return;
    details.append(
      someOf(phase.crossings, (x) => {
        const row = turn.trace.row(x.seq); // an event says what the operation does that caused it
        const { what } = headOf(turn.trace, row),
          answer = answerOf(turn.trace, row);
        return h(
          "li",
          { class: x.seq === seq ? "chosen" : "", "data-colour": x.row.class },
          link(turn.hash(x.seq), { class: "n" }, "#" + x.seq),
          " ",
          h("span", { class: "verb" }, x.kind),
          " ",
          h("span", { dir: "auto" }, what),
          answer?.bad && h("span", { class: "bad" }, " → " + answer.text),
        );
      }),
    );
  };
  details.addEventListener("toggle", fillIn);
  details.open = isOpen;
  fillIn();
  return details;
}
