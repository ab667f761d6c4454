// ---- sessions.js: what hosts did with the deliveries of sessions, as their journals tell it.

// Session is one session: its deliveries in their order, each with its attempts, and its leases.
class Session {
  constructor(number, folder, first) {
    this.number = number; // its place among all, from 1
    this.folder = folder;
    this.tenant = textOf(first.tenant);
    this.name = textOf(first.session);
    this.began = Date.parse(first.at); // so many nanoseconds are no whole number
    this.steps = [];
    this.deliveries = new Map(); // by number and name: {name, seq, accepted, attempts}
    this.attempts = []; // in the order in which they began
    this.leases = []; // {epoch, host, first, last}
    this.divergences = [];
  }
  // add takes the next step. Where it stands among all is the step's place.
  add(step) {
    step.place = this.steps.length;
    step.time = (Date.parse(step.at) - this.began) * 1e6 || 0; // in nanoseconds, as in traces
    this.steps.push(step);
    if (step.epoch) this.lease(step);
    if (!step.delivery) return;
    // An id that comes again after a purge is a new delivery, with a number of its own. Who has
    // accepted one may have told nobody: all its other steps say the number too.
    const id = JSON.stringify([step.seq ?? 0, step.delivery]);
    const delivery = this.deliveries.get(id) ?? { name: step.delivery, seq: step.seq ?? 0, accepted: null, attempts: [] };
    this.deliveries.set(id, delivery);
    if (step.step === "accepted") delivery.accepted ??= step;
    else if (step.attempt) this.attemptOf(delivery, step).steps.push(step);
    else delivery.attempts.at(-1)?.steps.push(step);
  }
  lease(step) {
    const last = this.leases.at(-1);
    if (last?.epoch === step.epoch) last.last = step;
    else this.leases.push({ epoch: step.epoch, host: textOf(step.host), first: step, last: step });
  }
  attemptOf(delivery, step) {
    const last = delivery.attempts.at(-1);
    if (last && last.number === step.attempt && last.epoch === step.epoch) return last;
    const attempt = { number: step.attempt, epoch: step.epoch, host: textOf(step.host), delivery, steps: [] };
    delivery.attempts.push(attempt);
    this.attempts.push(attempt);
    return attempt;
  }
  // ordered are the deliveries by their numbers.
  get ordered() {
    return [...this.deliveries.values()].sort((a, b) => a.seq - b.seq);
  }
  get elapsed() {
    return Math.max(0, this.steps.at(-1).time - this.steps[0].time);
  }
  // settled are the deliveries whose last attempt has an end that stays.
  get settled() {
    return [...this.deliveries.values()].filter((d) => ["committed", "failed"].includes(outcomeOf(d.attempts.at(-1)))).length;
  }
  get title() {
    return onLine(this.name) + (this.tenant ? " of tenant " + onLine(this.tenant) : "");
  }
}

// ends are the steps that end an attempt.
const ends = ["committed", "dropped", "failed"];

const endOf = (attempt) => attempt.steps.find((step) => ends.includes(step.step));

// outcomeOf is what became of an attempt: committed, dropped, failed, or open where nothing more
// was told; a delivery without one waits.
const outcomeOf = (attempt) => (attempt ? (endOf(attempt)?.step ?? "open") : "waiting");

// readSessions are the sessions of all journals in the page.
async function readSessions(app) {
  const all = [];
  for (const [i, folder] of (app.contents.sessions ?? []).entries()) {
    if (!folder.held) continue;
    const met = new Map();
    for (const line of (await unpacked(document.getElementById("journal-" + i).textContent)).split("\n")) {
      if (!line) continue;
      const step = JSON.parse(line),
        id = JSON.stringify([step.tenant, step.session]);
      if (!met.has(id)) {
        met.set(id, new Session(all.length + 1, folder, step));
        all.push(met.get(id));
      }
      met.get(id).add(step);
    }
    const report = app.contents.verified?.sessions?.find((s) => s.folder === folder.folder);
    for (const d of report?.divergences ?? []) met.get(JSON.stringify([d.tenant, d.session]))?.divergences.push(d);
  }
  return all;
}

// turnsOf are the attempts by the names of the traces of their turns.
function turnsOf(all) {
  const turns = new Map();
  for (const session of all) {
    for (const attempt of session.attempts) {
      for (const step of attempt.steps) if (step.trace) turns.set(step.trace, { session, attempt });
    }
  }
  return turns;
}

// sessionsView is the list of all sessions.
function sessionsView(app) {
  const all = app.sessions,
    folders = app.contents.sessions,
    left = folders.filter((f) => !f.held);
  return h(
    "section",
    { class: "report", "aria-labelledby": "sessions" },
    h("h2", { id: "sessions" }, counted(all.length, "session")),
    folders.flatMap((f) => (f.faults ?? []).map((text) => h("p", { class: "notice" }, "This journal breaks off: " + onLine(text)))),
    folders.flatMap((f) => (f.notes ?? []).map((text) => h("p", { class: "notice" }, onLine(text)))),
    left.length > 0 &&
      h(
        "p",
        { class: "facts" },
        left.map((f) => h("span", {}, counted(f.sessions, "session") + " of " + onLine(f.folder) + " are not in this file")),
      ),
    longTable(
      app,
      "session",
      all,
      (one) => one.name + " " + one.tenant + " " + one.folder.folder,
      (one) => sessionRow(app, one),
    ),
  );
}

function sessionRow(app, one) {
  const open = one.deliveries.size - one.settled;
  return [
    h(
      "span",
      { class: "name", role: "cell", title: onLine(one.folder.folder) },
      link("s" + one.number, {}, one.title),
      app.contents.sessions.length > 1 && h("span", { class: "faint" }, " in " + onLine(one.folder.folder.slice(app.journals.length))),
    ),
    h(
      "span",
      { class: "facts", role: "cell" },
      one.divergences.length > 0 && h("span", { class: "tag bad" }, "parts"),
      open > 0 && h("span", { class: "tag" }, open + " open"),
      one.attempts.some((a) => outcomeOf(a) === "failed") && h("span", { class: "tag bad" }, "failed"),
      h("span", { class: "number" }, counted(one.deliveries.size, "delivery")),
      h("span", { class: "number" }, counted(one.attempts.length, "attempt")),
      one.elapsed > 0 && h("span", { class: "number" }, lasting(one.elapsed)),
    ),
  ];
}

// sessionView is one session: its leases, its deliveries, and its story.
function sessionView(app, session, seq) {
  return h(
    "div",
    { class: "front session" },
    h(
      "p",
      { class: "facts" },
      h("span", {}, counted(session.deliveries.size, "delivery")),
      h("span", {}, counted(session.attempts.length, "attempt")),
      h("span", {}, counted(session.leases.length, "lease")),
      session.elapsed > 0 && h("span", {}, lasting(session.elapsed)),
      h("span", { class: "faint" }, onLine(textOf(session.steps[0].at))),
      h("span", { class: "faint" }, onLine(session.folder.folder)),
    ),
    session.divergences.map((d) => partedView(app, d, false)),
    h("h2", { class: "unseen" }, "Leases"),
    app.picture.element,
    h(
      "p",
      { class: "facts legend", "aria-hidden": "true" },
      h("span", { class: "outcome lease" }, "a lease"),
      [...new Set(session.attempts.map(outcomeOf))].map((outcome) => h("span", { class: "outcome " + outcome }, "an attempt, " + outcome)),
    ),
    deliveriesView(app, session, seq),
    storyView(session),
  );
}

// partedView is where a session parts from its journal.
function partedView(app, d, isLink) {
  const session = app.sessions.find((one) => one.divergences.includes(d));
  return h(
    "section",
    { class: "finding" },
    h("h3", {}, isLink && session ? link("s" + session.number, {}, "Session " + session.title) : "It parts from its journal"),
    h(
      "p",
      { class: "facts" },
      h("span", { class: "tag bad" }, onLine(textOf(d.class))),
      d.delivery && h("span", {}, short(textOf(d.delivery), 80) + (d.attempt ? ", attempt " + d.attempt : "")),
      d.trace && traceLink(app, d.trace),
      h("span", { class: "faint" }, onLine(textOf(d.journal)) + ":" + d.line),
    ),
    prose(textOf(d.text)),
  );
}

// The most deliveries that are shown at once.
const mostDeliveries = 300;

// deliveriesView is the table of deliveries, each with its attempts.
function deliveriesView(app, session, seq) {
  const all = session.ordered,
    table = h("table", { class: "deliveries" }),
    chosen = seq ? all.findIndex((d) => d.seq === seq) : -1;
  const columns = ["delivery", "attempt", "lease", ...(session.elapsed ? ["began", "took"] : []), "turn", "outcome"];
  table.append(
    h("caption", { class: "unseen" }, "deliveries and their attempts"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        columns.map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
  );
  const more = h("button", { class: "more", onclick: () => show(next + mostDeliveries) });
  let next = 0;
  const show = (to) => {
    table.append(...all.slice(next, to).map((d, i) => deliveryRows(app, session, d, next + i === chosen)));
    next = Math.min(to, all.length);
    more.textContent = counted(all.length - next, "delivery") + " more";
    if (next === all.length) more.remove();
  };
  const view = h("section", { class: "report", "aria-labelledby": "deliveries" }, h("h2", { id: "deliveries" }, "Deliveries"), table, more);
  show(Math.max(mostDeliveries, chosen + 20));
  return view;
}

function deliveryRows(app, session, d, isChosen) {
  const head = h(
    "th",
    { scope: "rowgroup", rowSpan: Math.max(1, d.attempts.length) },
    h("span", { class: "faint" }, (d.seq || "?") + " "),
    short(textOf(d.name), 80),
    d.accepted && h("p", { class: "faint" }, "accepted by " + short(textOf(d.accepted.host), 40)),
  );
  const rows = d.attempts.length
    ? d.attempts.map((a, i) => attemptCells(app, session, a, i < d.attempts.length - 1))
    : [[h("td", { colSpan: 6, class: "faint" }, "no attempt was told: it waits, or its host told nobody")]];
  return h(
    "tbody",
    { class: isChosen ? "chosen" : "", id: d.seq > 0 && "delivery-" + d.seq },
    rows.map((cells, i) => h("tr", {}, i === 0 && head, cells)),
  );
}

function attemptCells(app, session, a, isFollowed) {
  const end = endOf(a),
    ran = a.steps.find((step) => step.step === "ran"),
    first = a.steps[0],
    after = a.steps.filter((step) => ["applied", "notified"].includes(step.step)),
    outcome = outcomeOf(a);
  const cell = (label, ...content) => h("td", { "data-label": label }, content);
  return [
    cell("attempt", String(a.number)),
    cell("lease", h("span", { class: "number" }, "epoch " + a.epoch), h("span", { class: "faint" }, " " + short(a.host, 40))),
    session.elapsed > 0 && [
      cell("began", "+" + lasting(first.time - session.steps[0].time)),
      cell("took", end && lasting(end.time - first.time)),
    ],
    cell(
      "turn",
      ran?.trace || first.trace
        ? traceLink(app, ran?.trace ?? first.trace, 1, ran ? onLine(textOf(ran.status) || "turn") : "broken off")
        : ran && short(textOf(ran.text).trim(), 80),
    ),
    cell(
      "outcome",
      h(
        "span",
        { class: "outcome " + outcome },
        end ? short(textOf(end.text).trim(), 400) : isFollowed ? "broken off: another attempt followed" : "nothing more was told",
      ),
      after.map((step) => h("p", { class: "faint" }, short(textOf(step.text).trim(), 200))),
    ),
  ];
}

// storyView are the steps, as adkreplay show prints them.
function storyView(session) {
  const list = h("ol", { class: "story" });
  const details = h("details", { class: "fold" }, h("summary", {}, "step by step, as adkreplay show says it"), list);
  details.addEventListener("toggle", () => {
    if (list.children.length) return;
    inParts(
      list,
      session.steps,
      500,
      (step) =>
        h(
          "li",
          {},
          h(
            "span",
            { class: "n", title: onLine(textOf(step.journal)) + ":" + step.line },
            "+" + lasting(step.time - session.steps[0].time),
          ),
          h("span", { class: "said" }, onLine(textOf(step.text))),
        ),
      (left) => counted(left, "step"),
    );
  });
  return details;
}

// Leases is a picture of who had the session when: a lane a host, and in it the leases, with the
// attempts below them.
class Leases {
  constructor(session, choose) {
    this.session = session;
    this.choose = choose;
    this.byTime = session.elapsed > 0;
    this.hosts = [...new Set(session.leases.map((l) => l.host))];
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.axis = h("canvas", { class: "axis", "aria-hidden": "true" });
    this.names = h(
      "ol",
      { class: "lane-names", "aria-label": "hosts" },
      this.hosts
        .slice(0, fewLanes)
        .map((host, i) =>
          h("li", {}, i === fewLanes - 1 && this.hosts.length > fewLanes ? counted(this.hosts.length - i, "other host") : short(host, 24)),
        ),
    );
    this.picture = h("div", { class: "picture" }, this.canvas, this.axis);
    this.scale = h("button", { class: "quiet", hidden: !this.byTime, onclick: () => this.turn() }, "by time");
    this.element = h("section", { class: "overview", "aria-label": "leases" }, this.names, this.picture, this.scale);
    this.picture.addEventListener("click", (e) => this.click(e));
    new ResizeObserver(() => requestAnimationFrame(() => this.draw())).observe(this.picture);
  }
  turn() {
    this.byTime = !this.byTime;
    this.scale.textContent = this.byTime ? "by time" : "by order";
    this.draw();
  }
  place(step) {
    const { steps, elapsed } = this.session;
    return this.byTime ? (step.time - steps[0].time) / (elapsed || 1) : step.place / Math.max(1, steps.length - 1);
  }
  draw() {
    const width = this.picture.clientWidth,
      lanes = Math.min(this.hosts.length, fewLanes);
    if (!width) return;
    const g = drawing(this.canvas, width, lanes * laneHeight),
      colour = coloursOf(this.names);
    const laneOf = new Map(this.hosts.map((host, i) => [host, Math.min(i, fewLanes - 1)]));
    const bar = (first, last, host, level, name) => {
      const from = this.place(first) * width,
        to = Math.max(from + 2, this.place(last) * width);
      const y = laneOf.get(host) * laneHeight + level * 12 + 4;
      g.fillStyle = colour(name);
      g.fillRect(Math.min(from, width - 2), y, to - from, 10);
      return { from, to, y };
    };
    for (const lease of this.session.leases) bar(lease.first, lease.last, lease.host, 0, "dispatch");
    this.bars = this.session.attempts.map((attempt) => ({
      attempt,
      ...bar(attempt.steps[0], endOf(attempt) ?? attempt.steps.at(-1), attempt.host, 1, outcomeColour[outcomeOf(attempt)]),
    }));
    const last = this.session.steps.length - 1;
    drawAxis(this.axis, width, getComputedStyle(this.element).fontFamily, colour("faint"), (share) =>
      this.byTime ? lasting(Math.round(this.session.elapsed * share)) : "step " + (1 + Math.round(last * share)),
    );
  }
  click(e) {
    const box = this.canvas.getBoundingClientRect(),
      x = e.clientX - box.left,
      y = e.clientY - box.top;
    const hit = this.bars?.find((bar) => x >= bar.from - 2 && x <= bar.to + 2 && y >= bar.y - 14 && y <= bar.y + 12);
    if (hit) this.choose(hit.attempt);
  }
}

const outcomeColour = { committed: "new", dropped: "storage", failed: "error", open: "faint" };
