// ---- turn.js: one trace: the timeline, the tree of its calls, and beside it what is chosen.

const rowHeight = 26;

// The most that a row stands further in, and the most lanes beside it.
const mostIndent = 24,
  mostGutter = 8;

class Turn {
  constructor(app, number, trace) {
    this.app = app;
    this.number = number;
    this.trace = trace;
    this.seq = 1;
    this.tab = "crossing";
    this.span = "crossing"; // since when something is new (states.js)
    this.hidden = new Set(); // groups that the filter leaves out
    this.failuresOnly = false;
    this.needle = "";
    this.visible = [];
    this.build();
  }
  hash(seq, tab = this.tab) {
    return this.app.hash(this.number, seq, tab);
  }
  build() {
    this.overview = new Overview(this.trace, (seq) => this.choose(seq));
    this.tree = h("div", {
      class: "rows",
      role: "tree",
      tabIndex: 0,
      "aria-label": "crossings",
      onkeydown: (e) => this.key(e),
      onclick: (e) => this.click(e),
    });
    this.list = new LongList(this.tree, rowHeight, (i) => this.rowView(i));
    this.lanes = [...this.trace.strands.values()].sort((a, b) => a.id - b.id).slice(0, mostGutter);
    this.widest = strandName([...this.trace.strands.keys()].reduce((a, b) => Math.max(a, b), 0)).length; // of which there may be more than arguments
    this.count = h("span", { class: "faint", role: "status" });
    this.filters = this.filterView();
    this.panel = h("div", { class: "panel", role: "tabpanel", id: "panel", tabIndex: 0, "aria-labelledby": "tab-crossing" });
    this.tabs = h(
      "div",
      { class: "tabs", role: "tablist", "aria-label": "what is chosen" },
      tabs.map(([name, text], i) =>
        h(
          "button",
          {
            role: "tab",
            id: "tab-" + name,
            "aria-controls": "panel",
            title: String(i + 1),
            onclick: () => this.choose(this.seq, name),
            onkeydown: (e) => this.tabKey(e, i),
          },
          text,
        ),
      ),
    );
    const entry = this.app.contents.traces[this.number];
    this.element = h(
      "div",
      { class: "turn" },
      entry.fault && h("p", { class: "notice", role: "alert" }, "This trace breaks off: " + onLine(entry.fault)),
      this.summary(),
      this.overview.element,
      h(
        "div",
        { class: "split" },
        h("section", { class: "left", "aria-label": "tree of calls" }, h("div", { class: "bar" }, this.filters, this.count), this.tree),
        h("section", { class: "right", "aria-label": "details" }, this.tabs, this.panel),
      ),
    );
  }
  summary() {
    const t = this.trace,
      sum = totals(t),
      facts = [counted(t.length, "crossing")];
    if (t.elapsed) facts.push(lasting(t.elapsed));
    if (sum.asks) facts.push(counted(sum.asks, "ask"));
    if (sum.counted) facts.push(`${sum.in.toLocaleString("en")} tokens in, ${sum.out.toLocaleString("en")} out`);
    const strands = [...t.strands.keys()].filter(Boolean).length; // beside the turn itself
    if (strands) facts.push(counted(strands, "strand"));
    const entry = this.app.contents.traces[this.number],
      of = this.app.turnsOfSessions.get(entry.name);
    return h(
      "p",
      { class: "facts summary" },
      of &&
        link(
          `s${of.session.number}.${of.attempt.delivery.seq}`,
          {},
          `session ${of.session.title}, ${short(textOf(of.attempt.delivery.name), 40)}, attempt ${of.attempt.number}`,
        ),
      facts.map((text) => h("span", {}, text)),
      entry.status && h("span", { class: "tag" }, onLine(entry.status)),
      entry.errors > 0 && h("span", { class: "bad" }, counted(entry.errors, "error")),
      h("span", { class: "faint" }, textOf(t.header.start)),
    );
  }
  filterView() {
    const groups = { seams: new Map(), kinds: new Map() };
    for (const row of this.trace.rows) {
      const of = row.crossing.kind === "call" ? groups.seams : groups.kinds;
      of.set(groupOf(row), (of.get(groupOf(row)) ?? 0) + 1);
    }
    const box = (label, checked, change, extra) =>
      h(
        "label",
        {},
        h("input", {
          type: "checkbox",
          checked,
          onchange: (e) => {
            change(e.target.checked);
            this.filter();
          },
        }),
        " ",
        label,
        " ",
        h("span", { class: "faint" }, extra),
      );
    const choice = (legend) =>
      h(
        "fieldset",
        {},
        h("legend", {}, legend),
        [...groups[legend]].sort().map(([name, n]) =>
          box(
            onLine(name),
            true,
            (on) => {
              if (on) this.hidden.delete(name);
              else this.hidden.add(name);
            },
            n,
          ),
        ),
      );
    this.boxes = h("div", {}, choice("seams"), choice("kinds"));
    const all = (on) => {
      for (const input of this.boxes.querySelectorAll("input")) if (input.checked !== on) input.click();
    };
    return h(
      "details",
      { class: "filters" },
      h("summary", { title: "f" }, "Filter"),
      h(
        "div",
        { class: "menu" },
        box(
          "failures only",
          false,
          (on) => {
            this.failuresOnly = on;
          },
          this.trace.rows.filter(isFailure).length,
        ),
        h(
          "p",
          {},
          h("button", { onclick: () => all(true) }, "all"),
          " ",
          h("button", { onclick: () => all(false) }, "none"),
          " ",
          h("button", { onclick: () => this.fold(true) }, "fold"),
          " ",
          h("button", { onclick: () => this.fold(false) }, "unfold"),
        ),
        this.boxes,
      ),
    );
  }
  fold(closed) {
    for (const row of this.trace.rows) row.closed = closed && row.children > 0 && row.depth > 0;
    this.filter();
  }
  // filter works out which rows are shown.
  filter() {
    const found = this.needle ? searched(this.trace, this.needle) : null;
    const narrow = found || this.failuresOnly;
    const hiddenBelow = new Uint8Array(this.trace.rows.length);
    this.visible = this.trace.rows.filter((row) => {
      if (row.parent && !narrow) hiddenBelow[row.number] = hiddenBelow[row.parent.number] || row.parent.closed ? 1 : 0;
      return (
        !hiddenBelow[row.number] &&
        !this.hidden.has(groupOf(row)) &&
        (!this.failuresOnly || isFailure(row)) &&
        (!found || found[row.number])
      );
    });
    this.places = new Map(this.visible.map((row, i) => [row, i]));
    this.count.textContent =
      narrow || this.hidden.size ? `${this.visible.length.toLocaleString("en")} of ${this.trace.rows.length.toLocaleString("en")}` : "";
    this.list.reset(this.visible.length);
    this.mark();
  }
  search(needle) {
    this.needle = needle;
    this.filter();
    say(needle ? counted(this.visible.length, "match") : "");
  }
  rowView(i) {
    const row = this.visible[i],
      [verb, what, arrow, answer] = this.found(textsOf(this.trace, row)),
      isBad = answerOf(this.trace, row)?.bad;
    const isParent = row.children > 0,
      isChosen = row === this.trace.row(this.seq);
    const twist = h("span", { class: "twist" }, isParent ? (row.closed ? "▸" : "▾") : "");
    const e = h(
      "div",
      {
        class: "row" + (isFailure(row) ? " failed" : ""),
        role: "treeitem",
        id: "row-" + row.number,
        "data-colour": colourOf(row),
        "aria-level": row.depth + 1,
        "aria-setsize": this.visible.length,
        "aria-posinset": i + 1,
        "aria-selected": String(isChosen),
        "aria-label": spoken(this.trace, row),
        "aria-expanded": isParent ? String(!row.closed) : null,
      },
      h("span", { class: "n" }, row.seq),
      this.gutter(row),
      this.strand(row.crossing),
      twist,
      h("span", { class: "verb" }, verb),
      h("span", { class: "what", dir: "auto" }, what),
      answer && h("span", { class: isBad ? "answer bad" : "answer" }, arrow, " ", h("bdi", {}, answer)),
      row.events.length > 0 && h("span", { class: "event", title: "told to listeners" }, "•"),
      h("span", { class: "took" }, row.takes > 0 ? lasting(row.takes) : ""),
    );
    twist.style.setProperty("--depth", Math.min(row.depth, mostIndent));
    return e;
  }
  // found are the texts of a row in which what is searched is marked, also where it is in several.
  found(texts) {
    const at = this.needle ? texts.join(" ").toLowerCase().indexOf(this.needle.toLowerCase()) : -1;
    let before = 0;
    return texts.map((text) => {
      const [from, to] = [at, at + this.needle.length].map((n) => Math.min(Math.max(0, n - before), text.length));
      before += text.length + 1;
      if (at < 0 || from === to) return isolated(text);
      return [isolated(text.slice(0, from)), h("mark", {}, text.slice(from, to)), isolated(text.slice(to))];
    });
  }
  gutter(row) {
    if (this.lanes.length < 2) return null;
    return h(
      "span",
      { class: "gutter" },
      this.lanes.map((lane) =>
        h("span", {
          class: lane.id === row.crossing.strand ? "here" : lane.first <= row.seq && row.seq <= lane.last ? "alive" : "",
          "data-lane": lane.id % 6,
        }),
      ),
    );
  }
  // strand is the name of the strand of a row, as wide as the longest there is.
  strand({ strand }) {
    if (this.lanes.length < 2) return null;
    const e = h(
      "span",
      { class: "strand", "data-lane": strand % 6, title: textOf(this.trace.strands.get(strand)?.name) },
      strand ? strandName(strand) : "",
    );
    e.style.setProperty("--wide", this.widest + "ch");
    return e;
  }
  click(e) {
    const at = e.target.closest(".row");
    if (!at) return;
    const row = this.trace.rows[Number(at.id.slice(4))];
    if (e.target.closest(".twist") && row.children) this.toggle(row, !row.closed);
    else this.choose(row.seq);
  }
  toggle(row, closed) {
    row.closed = closed;
    this.filter();
  }
  // choose goes to a crossing, from which the browser's own way leads back; step goes on to
  // one that is near.
  choose(seq, tab = this.tab, isStep = false) {
    this.app.go(this.hash(Math.min(Math.max(1, seq), this.trace.length), tab), isStep);
  }
  step(seq) {
    this.choose(seq, this.tab, true);
  }
  // show shows what is chosen; of a crossing that there is not the nearest, and says so.
  show(seq = this.seq, tab = this.tab) {
    this.seq = Math.min(Math.max(1, seq), Math.max(1, this.trace.length));
    this.tab = tab;
    if (!this.trace.length) {
      fill(this.panel, h("p", { class: "lead" }, "There is no crossing in this trace."));
      return;
    }
    for (const [name] of tabs) {
      const button = this.tabs.querySelector("#tab-" + name);
      button.setAttribute("aria-selected", String(name === tab));
      button.tabIndex = name === tab ? 0 : -1;
    }
    this.panel.setAttribute("aria-labelledby", "tab-" + tab);
    fill(
      this.panel,
      seq !== this.seq &&
        h("p", { class: "notice", role: "alert" }, `There is no crossing ${seq}: the turn has ${counted(this.trace.length, "crossing")}.`),
      tabs.find(([name]) => name === tab)[2](this, this.seq),
    );
    this.panel.scrollTop = 0;
    this.overview.select(this.seq);
    this.open(this.trace.row(this.seq));
    this.mark();
  }
  // open shows the rows above one, so that it can be seen.
  open(row) {
    let changed = false;
    for (let r = row.parent; r; r = r.parent)
      if (r.closed) {
        r.closed = false;
        changed = true;
      }
    if (changed) this.filter();
  }
  // mark marks the chosen row.
  mark() {
    const row = this.trace.row(this.seq),
      at = row && this.places?.get(row);
    for (const [i, e] of this.list.shown) e.setAttribute("aria-selected", String(i === at));
    if (at === undefined) {
      this.tree.removeAttribute("aria-activedescendant");
      return;
    }
    this.list.reveal(at);
    for (const [i, e] of this.list.shown) e.setAttribute("aria-selected", String(i === at));
    this.tree.setAttribute("aria-activedescendant", "row-" + row.number);
  }
  move(by) {
    if (!this.visible.length) return;
    let at = this.places.get(this.trace.row(this.seq));
    if (at === undefined) {
      // it is between two of those that are shown
      const next = this.visible.findIndex((row) => row.seq > this.seq);
      at = (next < 0 ? this.visible.length : next) - (by > 0 ? 1 : 0);
    }
    const to = this.visible[Math.min(this.visible.length - 1, Math.max(0, at + by))];
    this.step(to.seq);
  }
  key(e) {
    const row = this.trace.row(this.seq),
      page = Math.max(1, this.list.inSight - 2);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key in moves) this.move(moves[e.key]);
    else if (e.key === "ArrowRight") row.children && row.closed ? this.toggle(row, false) : this.move(1);
    else if (e.key === "ArrowLeft") row.children && !row.closed ? this.toggle(row, true) : row.parent && this.choose(row.parent.seq);
    else if (e.key === "Enter") this.panel.focus();
    else return;
    e.preventDefault();
  }
  tabKey(e, i) {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    const [name] = tabs[(to + tabs.length) % tabs.length];
    this.choose(this.seq, name);
    this.tabs.querySelector("#tab-" + name).focus();
  }
  // shortcut is a key that is pressed anywhere; it reports whether it means something.
  shortcut(key) {
    const moments = () => momentsOf(this.trace),
      at = momentAt(this.trace, this.seq);
    switch (key) {
      case "1":
      case "2":
      case "3":
      case "4":
        this.choose(this.seq, tabs[Number(key) - 1][0]);
        return true;
      case "j":
      case "ArrowDown":
        this.move(1);
        return true;
      case "k":
      case "ArrowUp":
        this.move(-1);
        return true;
      case "n":
        this.step(this.seq + 1);
        return true;
      case "p":
        this.step(this.seq - 1);
        return true;
      case "[":
        if (moments()[at - 1]) this.choose(moments()[at - 1].seq);
        return true;
      case "]":
        if (moments()[at + 1]) this.choose(moments()[this.seq < moments()[at].seq ? at : at + 1].seq);
        return true;
      case "e":
        this.failure();
        return true;
      case "t":
        this.overview.turn();
        return true;
      case "f":
        this.filters.open = !this.filters.open;
        if (this.filters.open) this.filters.querySelector("input").focus();
        return true;
    }
    return false;
  }
  // failure goes to the next row in which something went wrong.
  failure() {
    const failed = this.trace.rows.filter(isFailure),
      next = failed.find((row) => row.seq > this.seq) ?? failed[0];
    if (next) this.choose(next.seq);
    else say("nothing went wrong");
  }
  // print lays all rows out, as far as paper goes.
  print(on) {
    this.paper?.remove();
    this.paper = null;
    if (!on) return;
    const rows = this.visible.slice(0, mostPrinted);
    const onPaper = (_, i) => {
      const e = this.rowView(i);
      e.removeAttribute("id");
      return e;
    };
    this.paper = h(
      "div",
      { class: "paper" },
      rows.map(onPaper),
      this.visible.length > rows.length &&
        h("p", {}, `The first ${rows.length} of ${counted(this.visible.length, "row")}: filter or search for fewer.`),
    );
    this.tree.after(this.paper);
  }
}

const mostPrinted = 3000;

// The tabs beside the tree.
const tabs = [
  ["crossing", "Crossing", crossingView],
  ["state", "State", statesView],
  ["conversation", "Conversation", conversationView],
  ["phases", "Phases", phasesView],
];

// searched marks the rows that say a text, in what they show or in any of their lines, with the
// records that they speak of. What an ask says again is found where it was said first.
function searched(trace, needle) {
  needle = needle.toLowerCase();
  const records = new Map();
  for (const [n, r] of trace.records) records.set(n, says(r.value, needle, null, 0));
  const found = new Uint8Array(trace.rows.length);
  for (const row of trace.rows) if ((row.line ??= lineOf(trace, row).toLowerCase()).includes(needle)) found[row.number] = 1;
  for (const x of trace.crossings) {
    const row = trace.row(x.seq);
    if (
      !found[row.number] &&
      (says(x.data, needle, records, 0) ||
        (x.said && says(x.said.news, needle, null, 1)) ||
        (trace.seamOf(x).toLowerCase().includes(needle) && x.kind === "call"))
    )
      found[row.number] = 1;
  }
  return found;
}

// says reports whether a value has a text in it: in its strings, its numbers and its names.
function says(value, needle, records, depth) {
  if (typeof value === "string") return value.toLowerCase().includes(needle);
  if (typeof value === "number") return String(value) === needle;
  if (typeof value !== "object" || value === null || depth > 64) return false;
  if (Array.isArray(value)) return value.some((one) => says(one, needle, records, depth + 1));
  if (records && records.get(value["#"])) return true;
  for (const name in value) {
    if (depth > 0 && name.toLowerCase().includes(needle)) return true;
    if (
      !(depth === 0 && (name === "at" || name === "in" || name === "op" || name === "strand")) &&
      says(value[name], needle, records, depth + 1)
    )
      return true;
  }
  return false;
}
