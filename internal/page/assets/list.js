// ---- list.js: a list of which only what is in sight is in the document.

// The tallest that an element may be: browsers cut what is taller.
const mostHeight = 12_000_000;

// LongList shows rows of one height. render(i) makes the i-th.
class LongList {
  constructor(box, height, render) {
    this.box = box;
    this.height = height;
    this.render = render;
    this.count = 0;
    this.shown = new Map(); // elements by their places
    this.room = h("div", { class: "room", role: "presentation" });
    fill(box, this.room);
    box.addEventListener("scroll", () => this.later(), { passive: true });
    new ResizeObserver(() => this.later()).observe(box);
  }
  // reset shows so many rows, all of them anew.
  reset(count) {
    this.count = count;
    this.room.style.height = Math.min(count * this.height, mostHeight) + "px";
    this.refresh();
  }
  refresh() {
    for (const e of this.shown.values()) e.remove();
    this.shown.clear();
    this.draw();
  }
  // spread is how many rows stand for one of the scrolled height: more than one where all of
  // them would be too tall.
  get spread() {
    return Math.max(1, (this.count * this.height) / mostHeight);
  }
  get inSight() {
    return Math.ceil(this.box.clientHeight / this.height);
  }
  later() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }
  draw() {
    const top = this.box.scrollTop;
    const first = Math.floor((top * this.spread) / this.height);
    const from = Math.max(0, first - 8),
      to = Math.min(this.count, first + this.inSight + 9);
    for (const [i, e] of this.shown) {
      if (i < from || i >= to) {
        e.remove();
        this.shown.delete(i);
      }
    }
    for (let i = from; i < to; i++) {
      if (!this.shown.has(i)) {
        const e = this.render(i);
        this.shown.set(i, e);
        this.room.append(e);
      }
      this.shown.get(i).style.top = (this.spread === 1 ? i * this.height : top + (i - first) * this.height) + "px";
    }
  }
  // reveal brings a row into sight: beside the edge where it is next to what is seen, as when
  // one goes on, else into the upper part.
  reveal(i) {
    const at = (i * this.height) / this.spread,
      top = this.box.scrollTop,
      seen = this.box.clientHeight,
      margin = 2 * this.height;
    if (at < top - margin || at > top + seen + margin) this.box.scrollTop = at - seen / 3;
    else if (at < top + margin) this.box.scrollTop = at - margin;
    else if (at + this.height > top + seen - margin) this.box.scrollTop = at + this.height - seen + margin;
    this.draw();
  }
}
