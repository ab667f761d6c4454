// ---- conversation.js: what a model saw when it was asked, with what is new in it.

function conversationView(turn, seq) {
  const trace = turn.trace,
    moments = momentsOf(trace),
    at = momentAt(trace, seq);
  if (at < 0) return h("article", { class: "conversation" }, h("p", { class: "lead" }, "No model was asked in this turn."));
  const moment = moments[at],
    isAsk = moment.row.crossing.kind === "ask";
  const step = (to, text, key) => h("button", { disabled: !moments[to], title: key, onclick: () => turn.choose(moments[to].seq) }, text);
  return h(
    "article",
    { class: "conversation" },
    h("h2", {}, isAsk ? "Asked " + onLine(textOf(moment.row.crossing.data.of)) : "Seen by " + onLine(trace.seamOf(moment.row.crossing))),
    h(
      "p",
      { class: "steps" },
      step(at - 1, "‹ before", "["),
      h("span", {}, at + 1 + " of " + moments.length + " at ", link(turn.hash(moment.seq), {}, "#" + moment.seq)),
      step(at + 1, "next ›", "]"),
    ),
    isAsk ? askedMessages(trace, moment) : seenMessages(turn, moment),
  );
}

// askedMessages are those of a request, and the answer.
function askedMessages(trace, moment) {
  const now = exchangeOf(trace, moment.row),
    before = moment.before && exchangeOf(trace, moment.before.row);
  const was = before?.messages ?? null,
    is = now.messages ?? [new Message("request", now.request)];
  const same = new Set(),
    gone = [];
  if (was) {
    let next = 0;
    for (const [i, j] of [
      ...aligned(
        was.map((m) => m.same),
        is.map((m) => m.same),
      ),
      [was.length, -1],
    ]) {
      gone.push(...was.slice(next, i));
      next = i + 1;
      same.add(j);
    }
  }
  const fresh = (i) => before !== null && !same.has(i);
  return [
    gone.length > 0 &&
      h(
        "p",
        { class: "facts" },
        h("span", { class: "bad" }, counted(gone.length, "message") + " of the ask before " + (gone.length === 1 ? "is" : "are") + " gone"),
      ),
    messageList(is.map((m, i) => [m, fresh(i)])),
    h("section", { class: "reply" }, h("h3", {}, "answered"), answerView(now.answer), endedView(now)),
  ];
}

// seenMessages are what the dispatch of an executor held, and what that reported.
function seenMessages(turn, moment) {
  const seen = seenIn(turn.trace, moment),
    since = moment.before?.seq ?? 0,
    said = saidIn(turn.trace, moment);
  return [
    h("p", { class: "faint" }, "The executor asked no model in a form that is known: this is what its dispatch held."),
    messageList(seen.map((m) => [m, since > 0 && m.seq > since])),
    h(
      "section",
      { class: "reply" },
      h("h3", {}, "reported"),
      said.length ? messageList(said.map((m) => [m, false])) : h("p", { class: "faint" }, "nothing"),
    ),
  ];
}

// The most messages that are shown before those that are new.
const mostEarlier = 30;

function messageList(messages) {
  const list = h("ol", { class: "messages" });
  const item = ([m, isNew]) =>
    h(
      "li",
      { class: isNew ? "new" : "", "data-role": roleOf(m.role) },
      h("p", { class: "role" }, onLine(m.role), isNew && h("span", { class: "badge" }, "new")),
      blocksView(m.blocks),
    );
  let from = messages.findIndex(([, isNew]) => isNew);
  from = Math.max(0, (from < 0 ? messages.length : from) - mostEarlier);
  if (from > 0) {
    const more = h(
      "li",
      { class: "earlier" },
      h(
        "button",
        { class: "more", onclick: () => more.replaceWith(...messages.slice(0, from).map(item)) },
        counted(from, "message") + " before",
      ),
    );
    list.append(more);
  }
  list.append(...messages.slice(from, from + 500).map(item));
  if (messages.length > from + 500)
    list.append(h("li", { class: "earlier" }, "… " + counted(messages.length - from - 500, "message") + " more"));
  return list;
}

const roleOf = (role) => (["user", "assistant", "system", "prompt", "tool", "model", "message"].includes(role) ? role : "other");
