// ---- reports.js: the list of traces, what a check of them found, and what an exploration did.

// frontView is the page of all that is in the file.
function frontView(app) {
  const { verified, explored } = app.contents;
  return h(
    "div",
    { class: "front" },
    verified && verifiedView(app, verified),
    explored && exploredView(app, explored),
    app.contents.sessions && sessionsView(app),
    app.contents.traces.length > 0 && tracesView(app, verified),
  );
}

// causesOf are the causes that hit each trace, by its name.
function causesOf(verified) {
  const causes = new Map();
  for (const [i, cause] of (verified?.causes ?? []).entries()) {
    for (const name of cause.traces ?? []) causes.set(name, [...(causes.get(name) ?? []), i + 1]);
  }
  return causes;
}

const sumOf = (all, name) => all.reduce((sum, one) => sum + one[name], 0);

function verifiedView(app, report) {
  const traces = report.traces ?? [],
    causes = report.causes ?? [],
    unreadable = traces.filter((t) => t.error),
    folders = report.sessions ?? [],
    parted = folders.flatMap((s) => s.divergences ?? []),
    errors = folders.flatMap((s) => s.errors ?? []);
  app.reported = new Map(traces.map((t) => [t.trace, t]));
  const same = traces.filter((t) => !t.divergence && !t.error).length;
  return h(
    "section",
    { class: "report", "aria-labelledby": "verified" },
    h(
      "h2",
      { id: "verified" },
      causes.length
        ? counted(causes.length, "cause") + " of " + counted(report.divergences, "divergence")
        : report.divergences || report.unreadable
          ? counted(report.divergences, "divergence")
          : parted.length + errors.length
            ? "Sessions are not as recorded"
            : "All as recorded",
    ),
    h(
      "p",
      { class: "facts" },
      h("span", { class: report.divergences ? "bad" : "" }, report.divergences + " diverge"),
      h("span", {}, same + " the same"),
      report.unreadable > 0 && h("span", { class: "bad" }, report.unreadable + " unreadable"),
      h("span", {}, counted(report.crossings, "crossing") + " agreed"),
      folders.length > 0 &&
        h(
          "span",
          { class: parted.length ? "bad" : "" },
          counted(parted.length, "session") + " of " + sumOf(folders, "sessions") + " not as its journal says",
        ),
      !report.userCode && h("span", {}, "no user code ran"),
    ),
    report.error && h("p", { class: "bad" }, onLine(textOf(report.error))),
    parted.map((d) => partedView(app, d, true)),
    errors.map((text) => h("p", { class: "notice" }, onLine(textOf(text)))),
    causes.map((cause, i) => causeView(app, cause, i + 1)),
    unreadable.length > 0 &&
      h(
        "section",
        { class: "finding" },
        h("h3", {}, counted(unreadable.length, "trace") + " cannot be read to the end"),
        someOf(unreadable, (t) =>
          h(
            "li",
            {},
            traceLink(app, t.trace),
            " ",
            h(
              "span",
              { class: "faint" },
              short(
                textOf(t.error)
                  .replace(t.trace, "")
                  .replace(/^:(\d+):/, "line $1:"),
                400,
              ),
            ),
          ),
        ),
      ),
  );
}

// apartView is what differs on its own in traces that a cause hits: whoever accepts that accepts
// this too.
function apartView(apart) {
  return (
    apart.length > 0 &&
    h(
      "div",
      { class: "apart" },
      h("h4", {}, "besides, on their own"),
      h(
        "ul",
        {},
        apart.map((a) =>
          h(
            "li",
            {},
            onLine(textOf(a.what)) + ", in " + counted((a.traces ?? []).length, "trace") + ": " + onLine((a.traces ?? []).join(", ")),
            (a.shown ?? []).length > 0 && h("pre", {}, visible(a.shown.join("\n"))),
          ),
        ),
      ),
    )
  );
}

// causeView is one cause: its words, the first divergence that it made side by side, and the
// traces that it hits.
function causeView(app, cause, number) {
  const hit = cause.traces ?? [],
    first = hit.map((name) => app.reported.get(name)).find((t) => t?.divergence);
  return h(
    "section",
    { class: "finding", id: "cause-" + number },
    h("h3", {}, h("span", { class: "count" }, number), " ", onLine(textOf(cause.text))),
    h("p", { class: "facts" }, h("span", { class: "tag bad" }, onLine(textOf(cause.class))), h("span", {}, counted(hit.length, "trace"))),
    (cause.changes ?? [])
      .filter((c) => c.removed || c.added)
      .map((c) => (/‹/.test(c.removed + c.added) && c.was && c.now ? { ...c, removed: plainText(c.was), added: plainText(c.now) } : c)) // a mask says nothing
      .map((c) =>
        h(
          "p",
          { class: "change" },
          h("code", {}, short(textOf(c.field), 80)),
          " ",
          h(
            "span",
            { dir: "auto" },
            c.left ? "… " + short(c.left, 200) + " " : "",
            c.removed && h("del", {}, short(c.removed, 400)),
            " ",
            c.added && h("ins", {}, short(c.added, 400)),
            c.right ? " " + short(c.right, 200) + " …" : "",
          ),
        ),
      ),
    first && divergenceView(app, first.trace, first.divergence),
    apartView(cause.apart ?? []),
    h(
      "details",
      { class: "fold hit", open: hit.length <= 12 },
      h("summary", {}, "hits " + counted(hit.length, "trace")),
      someOf(
        hit,
        (name) => {
          const t = app.reported.get(name);
          return h(
            "li",
            {},
            traceLink(app, name, t?.divergence?.crossing),
            t?.divergence && h("span", { class: "faint" }, " at #" + t.divergence.crossing),
          );
        },
        { class: "hits" },
      ),
    ),
  );
}

// traceLink leads to a trace, at a crossing, where the file has it.
function traceLink(app, name, crossing = 0, text = short(name, 200)) {
  const at = app.numberOf(name);
  if (at === undefined || !app.contents.traces[at].held) return h("span", {}, text);
  return link(app.hash(at, Math.max(1, Math.min(crossing || 1, app.contents.traces[at].crossings))), {}, text);
}

// divergenceView is the recorded crossing and today's, side by side, with the words that
// differ.
function divergenceView(app, name, d) {
  const sides = (want, got) => {
    const [left, right] = differing(want, got);
    const side = (pieces, mark, title) =>
      h(
        "div",
        { class: "side", role: "group", "aria-label": title },
        h("p", { class: "faint" }, title),
        h(
          "div",
          { class: "prose", dir: "auto" },
          pieces.length
            ? pieces.map(([text, same]) => (same ? visible(text) : h(mark, {}, visible(text))))
            : h("span", { class: "faint" }, "nothing"),
        ),
      );
    return h("div", { class: "sides" }, side(left, "del", "recorded"), side(right, "ins", "now"));
  };
  return h(
    "div",
    { class: "divergence" },
    h(
      "p",
      { class: "facts" },
      traceLink(app, name, d.crossing),
      h("span", {}, "#" + d.crossing),
      h("span", {}, onLine(textOf(d.seam))),
      d.strand && h("span", {}, "strand " + strandName(d.strand)),
      d.place && h("code", {}, onLine(d.place)),
    ),
    (d.before ?? []).length > 0 &&
      h(
        "ol",
        { class: "before", "aria-label": "the last that agreed" },
        d.before.map((line) => h("li", {}, short(line, 200))),
      ),
    sides(textOf(d.expected), textOf(d.got)),
    (d.fields ?? []).map((f) =>
      h(
        "section",
        { class: "field" },
        h(
          "h4",
          {},
          h("code", {}, short(textOf(f.field), 120)),
          " ",
          h("span", { class: "faint" }, f.input ? "given by user code" : "made by the engine"),
        ),
        sides(plainText(f.want), plainText(f.got)),
      ),
    ),
    (d.waiting ?? []).length > 0 && h("p", {}, "Nobody goes on: " + onLine(d.waiting.join(", "))),
    (d.candidates ?? []).length > 0 &&
      h(
        "div",
        {},
        h("h4", {}, "recorded answers that come near"),
        h(
          "ul",
          {},
          d.candidates.map((c) =>
            h(
              "li",
              {},
              traceLink(app, name, c.crossing),
              " #" + c.crossing + " " + short(textOf(c.text), 200),
              h("span", { class: "faint" }, " " + onLine((c.refused ?? []).join(", and "))),
            ),
          ),
        ),
      ),
    d.after &&
      h(
        "p",
        { class: "faint" },
        `After it in this trace: ${d.after.equal} equal, ${d.after.follow} because of it, ${d.after.own} on their own.`,
      ),
  );
}

// plainText is a value of a report, which is JSON: a text as it is.
function plainText(json) {
  if (!json) return "";
  try {
    const value = JSON.parse(json);
    return typeof value === "string" ? value : JSON.stringify(value, null, 1);
  } catch {
    return json;
  }
}

// visible is a text with its lines, and escapes for what is not printable.
const visible = (text) => text.replace(unprintable, (c) => (c === "\n" || c === "\t" ? c : escapeOf(c)));

function exploredView(app, explored) {
  const all = explored.explorations ?? [];
  return h(
    "section",
    { class: "report", "aria-labelledby": "explored" },
    h("h2", { id: "explored" }, explored.violations ? counted(explored.violations, "violation") : "Nothing broke it"),
    h("p", { class: "facts" }, h("span", {}, counted(all.length, "turn")), h("span", {}, counted(explored.schedules ?? 0, "schedule"))),
    explored.error && h("p", { class: "bad" }, onLine(textOf(explored.error))),
    all.map((x) =>
      h(
        "section",
        { class: "exploration" },
        h("h3", {}, onLine(textOf(x.subject))),
        h(
          "p",
          { class: "facts" },
          h("span", {}, counted(x.schedules, "schedule") + ", bound " + x.bound),
          x.waited > 0 && h("span", {}, x.waited + " stood still until the caller cancelled"),
        ),
        (x.violations ?? []).map((v) => breachView(app, x, v, "bad")),
        (x.hints ?? []).map((v) => breachView(app, x, v, "")),
        (x.notCovered ?? []).length > 0 &&
          h(
            "details",
            { class: "fold" },
            h("summary", {}, "not covered"),
            h(
              "ul",
              {},
              x.notCovered.map((text) => h("li", {}, onLine(text))),
            ),
          ),
        triedView(x.table),
      ),
    ),
  );
}

function breachView(app, x, v, tone) {
  const run = x.subject + " " + v.schedule,
    isHeld = app.numberOf(run) !== undefined; // as the command names it
  return h(
    "section",
    { class: "finding" },
    h(
      "h4",
      {},
      h("span", { class: "tag " + tone }, onLine(textOf(v.invariant))),
      " ",
      h("span", { class: "faint" }, onLine(textOf(v.rule))),
      " ",
      short(textOf(v.text), 400),
    ),
    h(
      "p",
      { class: "facts" },
      h("span", {}, "broken by ", h("code", {}, onLine(textOf(v.schedule)) || "nothing")),
      h("span", {}, "at #" + v.crossing + (v.seam ? " in " + onLine(v.seam) : "")),
      isHeld && h("span", {}, traceLink(app, run, v.crossing, "look at the run")),
      h("span", {}, "shown by " + counted(v.schedules, "schedule")),
    ),
    (v.where ?? []).length > 0 &&
      h(
        "ul",
        {},
        v.where.map((line) => h("li", {}, onLine(line))),
      ),
    v.stretch && h("pre", {}, visible(textOf(v.stretch))),
    (v.command || v.test) &&
      h(
        "details",
        { class: "fold" },
        h("summary", {}, "make it again"),
        v.command && h("pre", {}, visible(v.command)),
        v.test && h("pre", {}, visible(v.test)),
      ),
  );
}

// triedView is what was tried at which kind of crossing.
function triedView(table) {
  const rows = table?.rows ?? [],
    faults = table?.faults ?? [];
  if (!rows.length) return null;
  return h(
    "details",
    { class: "fold" },
    h("summary", {}, "what was tried at which crossing"),
    h(
      "div",
      { class: "wide", tabIndex: 0, role: "region", "aria-label": "what was tried" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "crossing"),
            faults.map((f) => h("th", { scope: "col" }, onLine(f))),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, onLine(textOf(row.crossing))),
              (row.cells ?? []).map((cell) => h("td", { title: cell.why ? onLine(cell.why) : "" }, cell.tried || "·")),
            ),
          ),
        ),
      ),
    ),
  );
}

// tracesView is the list of all traces.
function tracesView(app, verified) {
  const all = app.contents.traces,
    causes = causesOf(verified);
  return h(
    "section",
    { class: "report", "aria-labelledby": "traces" },
    h("h2", { id: "traces" }, counted(all.length, "trace")),
    longTable(
      app,
      "trace",
      [...all.keys()],
      (i) => all[i].name,
      (i) => traceRow(app, i, causes),
    ),
  );
}

// longTable is a table with a row for each of a list, which can be looked through by what says
// gives of each; cells makes the cells of one. The keys of the page lead to it and through its rows,
// of which Enter opens the one that they are at.
function longTable(app, noun, all, says, cells) {
  const list = h("div", { class: "traces", tabIndex: 0, role: "table", "aria-label": noun + "s" });
  let shown = all;
  const rows = new LongList(list, 40, (i) =>
    h("div", { class: "trace-row", role: "row", "aria-rowindex": i + 1, tabIndex: -1 }, cells(shown[i])),
  );
  const show = () => {
    list.style.height = Math.min(shown.length * 40 + 2, 640) + "px";
    rows.reset(shown.length);
  };
  const find = h("input", {
    type: "search",
    placeholder: "find a " + noun,
    "aria-label": "find a " + noun,
    oninput: () => {
      const needle = find.value.toLowerCase();
      shown = all.filter((one) => says(one).toLowerCase().includes(needle));
      show();
      say(counted(shown.length, noun));
    },
  });
  const step = (by) => {
    if (!shown.length) return;
    const row = list.contains(document.activeElement) && document.activeElement.closest(".trace-row");
    const at = Math.min(Math.max(0, row ? Number(row.ariaRowIndex) - 1 + by : 0), shown.length - 1);
    rows.reveal(at);
    const e = rows.shown.get(at);
    (e.querySelector("a") ?? e).focus();
  };
  find.addEventListener("keydown", (e) => {
    if (e.key !== "ArrowDown" && e.key !== "Enter") return;
    step(1);
    e.preventDefault();
  });
  app.lists.push({ element: list, find: all.length > 8 ? find : null, step });
  show();
  return [all.length > 8 && find, list];
}

function traceRow(app, i, causes) {
  const t = app.contents.traces[i],
    hit = causes.get(t.name) ?? [];
  return [
    h(
      "span",
      { class: "name", role: "cell", title: onLine(t.name) },
      t.held ? link(app.hash(i, 1), {}, app.shortName(i)) : app.shortName(i),
      t.fault && h("span", { class: "bad" }, " breaks off"),
    ),
    h(
      "span",
      { class: "facts", role: "cell" },
      hit.map((n) => h("span", { class: "tag bad" }, "cause " + n)),
      t.errors > 0 && h("span", { class: "bad" }, counted(t.errors, "error")),
      t.status && h("span", { class: "tag" }, onLine(t.status)),
      t.held
        ? h("span", { class: "number" }, counted(t.crossings, "crossing"))
        : h("span", { class: "faint" }, t.fault ? "cannot be read" : "not in this file"),
      t.elapsed > 0 && h("span", { class: "number" }, lasting(t.elapsed)),
    ),
  ];
}
