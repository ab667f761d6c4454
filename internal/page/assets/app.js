// ---- app.js: what is shown where, and the keys.

class App {
  constructor(contents) {
    this.contents = contents;
    this.turns = new Map(); // by number
    this.turn = null; // that is shown
    this.lists = []; // that are (longTable)
    this.main = document.getElementById("main");
    this.folder = commonFolder(contents.traces.map((t) => t.name));
    this.journals = commonFolder((contents.sessions ?? []).map((s) => s.folder)); // that all folders of journals are in
    this.sessions = []; // of journals
    this.turnsOfSessions = new Map(); // by the name of a trace
    const several = contents.traces.length > 1 || contents.verified || contents.explored || contents.sessions;
    this.hasFront = Boolean(several) || !contents.traces[0]?.held;
    this.head();
    this.helping = document.getElementById("help");
    if (contents.watched) this.watch = new Watch(this);
    addEventListener("popstate", () => this.route()); // links too, and the browser's ways back
    addEventListener("keydown", (e) => this.key(e));
    addEventListener("click", (e) => {
      if (this.turn?.filters.open && !e.target.closest(".filters")) this.turn.filters.open = false;
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    addEventListener("beforeprint", () => this.turn?.print(true));
    addEventListener("afterprint", () => this.turn?.print(false));
  }
  head() {
    this.title = h("h1", {}, "");
    this.search = h("input", {
      type: "search",
      placeholder: "Search  /",
      "aria-label": "search the crossings",
      "aria-keyshortcuts": "/",
      oninput: () => this.searching(),
    });
    this.search.addEventListener("keydown", (e) => {
      if (e.key === "Enter") {
        this.turn?.move(1);
        e.preventDefault();
      }
      if (e.key === "Escape") {
        this.search.value = "";
        this.turn?.search("");
        this.turn?.tree.focus();
      }
    });
    this.look = h(
      "button",
      { class: "quiet", title: "light or dark", "aria-label": "light or dark", onclick: () => this.turnLights() },
      "◐",
    );
    fill(
      document.getElementById("top"),
      this.hasFront && link("", { class: "home", title: "all that is in this file" }, "☰ All"),
      this.title,
      this.search,
      this.look,
      h("button", { class: "quiet", title: "keys  ?", "aria-label": "help", onclick: () => this.help() }, "?"),
    );
  }
  // numberOf is the number of the trace of a name.
  numberOf(name) {
    this.numbers ??= new Map(this.contents.traces.map((t, i) => [t.name, i]));
    return this.numbers.get(name);
  }
  // shortName is the name of a trace without the folder that all are in.
  shortName(i) {
    return short(this.contents.traces[i].name.slice(this.folder.length), 300);
  }
  searching() {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.turn?.search(this.search.value.trim()), 120);
  }
  turnLights() {
    const root = document.documentElement,
      dark = root.dataset.look ? root.dataset.look === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.look = dark ? "light" : "dark";
    this.redraw();
  }
  // redraw draws the picture in the colours of now.
  redraw() {
    this.picture?.draw();
  }
  // help shows the keys that mean something here.
  help() {
    const ofTurn = [
      ["↑ ↓  or  j k", "the row before, the next"],
      ["← →", "fold, unfold, go to the row above"],
      ["n p", "the next crossing, the one before"],
      ["[ ]", "the ask before, the next"],
      ["e", "the next failure"],
      ["1 2 3 4", "crossing, state, conversation, phases"],
      ["/", "search"],
      ["f", "filter"],
      ["t", "timeline by time or by order"],
    ];
    const ofLists = [
      ["↑ ↓  or  j k", "the row before, the next"],
      ["Enter", "open it"],
      ["/", "find"],
    ];
    const keys = [...(this.turn ? ofTurn : this.lists.length ? ofLists : []), ["?", "this help"], ["Esc", "close"]];
    fill(
      this.helping,
      h("h2", { id: "help-title" }, "Keys"),
      h(
        "dl",
        {},
        keys.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)]),
      ),
      h("p", { class: "faint" }, "A link such as #23 leads to a crossing. Nothing in this page asks a network."),
      h("form", { method: "dialog" }, h("button", {}, "Close")),
    );
    this.helping.showModal();
  }
  key(e) {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || this.helping.open) return;
    if (e.target.closest("input[type=search], select, textarea")) return;
    if (e.key === "?") {
      this.help();
      e.preventDefault();
      return;
    }
    if (e.key === "/") {
      const field = this.turn ? this.search : this.list("find")?.find;
      if (!field) return;
      field.focus();
      field.select();
      e.preventDefault();
      return;
    }
    if (e.key === "Escape" && this.turn?.filters.open) {
      this.turn.filters.open = false;
      return;
    }
    const by = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[e.key];
    if (by && !this.turn && this.lists.length) {
      this.list("step").step(by);
      e.preventDefault();
      return;
    }
    const scrolls = e.target.closest(".panel, .menu, [role=tablist], summary, button") && e.key.startsWith("Arrow");
    if (!scrolls && this.turn?.shortcut(e.key)) e.preventDefault();
  }
  // list is the one that has a member: where one is, else the first.
  list(member) {
    const able = this.lists.filter((list) => list[member]);
    return able.find(({ element }) => element.contains(document.activeElement)) ?? able[0];
  }
  // hash is the link to a crossing of a trace: 23, 23/state, and 2.23 of the second trace of
  // several.
  hash(number, seq, tab = "crossing") {
    return (this.contents.traces.length > 1 ? number + 1 + "." : "") + seq + (tab === "crossing" ? "" : "/" + tab);
  }
  // go goes to a place in the page. Steps, which come many at a time where a key is held
  // down, leave one entry in the browser's history, and are written into the address when
  // they rest: browsers refuse to do so too often.
  go(hash, isStep) {
    this.route("#" + hash);
    const enter = () => {
      if (location.hash !== "#" + hash) history[isStep ? "replaceState" : "pushState"](null, "", "#" + hash);
    };
    if (isStep) this.resting = setTimeout(enter, 200);
    else enter();
  }
  // begin shows what the address says, once the sessions are there.
  async begin() {
    this.sessions = await readSessions(this);
    this.turnsOfSessions = turnsOf(this.sessions);
    this.route();
  }
  // route shows what a hash says: at once, but for a trace that is not unpacked yet.
  route(hash = location.hash) {
    const [, session, delivery] = /^#s(\d+)(?:\.(\d+))?$/.exec(hash) ?? [];
    if (this.sessions[session - 1]) {
      this.showSession(this.sessions[session - 1], Number(delivery ?? 0));
      this.shown(hash);
      return;
    }
    const [, number, seq, tab] = /^#(?:(\d+)\.)?(\d+)(?:\/(\w+))?$/.exec(hash) ?? [];
    const at = number ? Number(number) - 1 : 0;
    this.wanted = hash;
    clearTimeout(this.resting);
    if (!(seq || !this.hasFront) || !this.contents.traces[at]?.held) {
      this.showFront();
      this.shown(hash);
      return;
    }
    const show = (turn) => {
      if (this.wanted !== hash) return; // one went on meanwhile
      this.showTurn(turn, Number(seq ?? 1), tabs.some(([name]) => name === tab) ? tab : "crossing");
      this.shown(hash);
    };
    const turn = this.turns.get(at);
    if (turn) show(turn);
    else this.unpack(at).then(show).catch(broken);
  }
  shown(hash) {
    performance.mark("shown"); // for those who ask how long it took
    document.documentElement.dataset.ready = hash || "#";
  }
  async unpack(number) {
    const held = document.getElementById("trace-" + number);
    const turn = new Turn(this, number, new Trace(await unpacked(held.textContent)));
    this.turns.set(number, turn);
    this.watch?.restore(turn);
    return turn;
  }
  showFront() {
    this.turn = this.picture = null;
    this.lists = [];
    this.search.hidden = true;
    this.title.textContent = onLine(this.contents.title);
    fill(
      this.main,
      this.contents.traces.length === 0 && !this.contents.verified && !this.contents.explored && !this.contents.sessions
        ? h("p", { class: "lead" }, "There is nothing in this page.")
        : frontView(this),
    );
    document.title = onLine(this.contents.title);
  }
  showSession(session, seq) {
    this.wanted = "";
    this.turn = null;
    this.lists = [];
    this.search.hidden = true;
    fill(this.title, h("span", { class: "faint" }, "session "), session.title);
    document.title = session.title;
    this.picture = new Leases(session, (attempt) => this.go(`s${session.number}.${attempt.delivery.seq}`));
    fill(this.main, sessionView(this, session, seq));
    if (seq) document.getElementById("delivery-" + seq)?.scrollIntoView({ block: "center" });
  }
  showTurn(turn, seq, tab) {
    const number = turn.number;
    if (this.turn !== turn) {
      this.turn = turn;
      this.picture = turn.overview;
      this.search.hidden = false;
      this.search.value = turn.needle;
      fill(this.title, h("span", { class: "faint" }, onLine(this.folder)), this.shortName(number));
      document.title = onLine(this.contents.traces[number].name);
      fill(this.main, turn.element);
      turn.filter();
      turn.show(seq, tab);
      if (!document.activeElement || document.activeElement === document.body) turn.tree.focus({ preventScroll: true });
      return;
    }
    turn.show(seq, tab);
  }
}

// commonFolder is the folder that all names begin with, with the slash at its end.
function commonFolder(names) {
  let folder = (names[0] ?? "").slice(0, (names[0] ?? "").lastIndexOf("/") + 1);
  while (folder && !names.every((name) => name.startsWith(folder)))
    folder = folder.slice(0, folder.lastIndexOf("/", folder.length - 2) + 1);
  return folder;
}

const app = (() => {
  try {
    if (!contentsHeld) throw new Error("what stands behind the traces is missing");
    learnKinds(tables.kinds);
    const app = new App(JSON.parse(contentsHeld));
    if (app.contents.sessions) app.begin().catch(broken);
    else app.route();
    return app;
  } catch (e) {
    broken(e);
  }
})();

// broken says that the file is not whole: a page that was cut short ends within its data.
function broken(e) {
  fill(
    document.getElementById("main"),
    h(
      "p",
      { class: "lead", role: "alert" },
      "This page cannot be shown: " +
        onLine(String(e?.message ?? e)) +
        ". The file may have been cut short; adkreplay view makes it again.",
    ),
  );
  throw e;
}
