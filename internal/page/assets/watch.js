// ---- watch.js: a page that is written again while one works.

// Watch loads the page again from where it was opened. It cannot ask whether there is another one:
// the policy of the page lets it ask nobody anything. So it does not ask, and loads it while one
// works elsewhere, where nothing moves under anybody's hands, and where the page comes into view.
class Watch {
  constructor(app) {
    this.app = app;
    this.kept = this.recalled();
    if (this.kept.look) document.documentElement.dataset.look = this.kept.look;
    addEventListener("pagehide", () => this.keep());
    addEventListener("visibilitychange", () => !document.hidden && location.reload());
    setInterval(() => !document.hidden && !document.hasFocus() && location.reload(), 2000);
  }
  // keep holds what the address does not say, for the page that follows.
  keep() {
    const { number, needle } = this.app.turn ?? {};
    try {
      sessionStorage.setItem("adkreplay", JSON.stringify({ look: document.documentElement.dataset.look, number, needle }));
    } catch {
      // a browser that holds nothing for files
    }
  }
  recalled() {
    try {
      return JSON.parse(sessionStorage.getItem("adkreplay")) ?? {};
    } catch {
      return {};
    }
  }
  // restore has a turn show what it showed before.
  restore(turn) {
    if (turn.number !== this.kept.number) return;
    turn.needle = textOf(this.kept.needle);
    this.kept = {};
  }
}
