// ---- overview.js: the whole turn in a picture: a lane a strand, and in it its calls.

// The most lanes that are drawn, and those beyond which they are narrow and scroll; the strands
// behind share the last.
const mostLanes = 200,
  fewLanes = 10;

// How tall a bar is, how many stand below one another in a lane that is wide or narrow, and how
// tall lanes are then.
const barHeight = 7,
  laneHeight = barHeight * 4 + 8,
  narrowHeight = barHeight * 2 + 4;

class Overview {
  constructor(trace, choose) {
    this.trace = trace;
    this.choose = choose;
    this.byTime = trace.elapsed > 0;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.axis = h("canvas", { class: "axis", "aria-hidden": "true" });
    this.cursor = h("div", { class: "cursor", "aria-hidden": "true" });
    this.lanes = [...trace.strands.values()].sort((a, b) => a.id - b.id);
    this.laneOf = new Map(this.lanes.map((lane, i) => [lane.id, Math.min(i, mostLanes - 1)]));
    const isMany = this.lanes.length > fewLanes;
    this.laneHeight = isMany ? narrowHeight : laneHeight;
    this.levels = isMany ? 2 : 4;
    this.names = h(
      "ol",
      { class: "lane-names", "aria-label": "strands" },
      this.lanes.slice(0, mostLanes).map((lane, i) => h("li", {}, this.laneName(lane, i))),
    );
    this.picture = h("div", { class: "picture" }, this.canvas, this.axis, this.cursor);
    this.scale = h("button", { class: "quiet", onclick: () => this.turn(), title: "t" }, "");
    this.element = h(
      "section",
      { class: isMany ? "overview many" : "overview", "aria-label": "timeline", tabIndex: isMany ? 0 : -1 },
      this.names,
      this.picture,
      this.scale,
    );
    this.picture.addEventListener("click", (e) => this.click(e));
    new ResizeObserver(() => requestAnimationFrame(() => this.draw())).observe(this.picture);
    this.label();
  }
  laneName(lane, i) {
    if (i === mostLanes - 1 && this.lanes.length > mostLanes) return counted(this.lanes.length - i, "other strand");
    return lane.id === 0 ? (this.lanes.length > 1 ? "turn" : "") : strandName(lane.id) + " " + short(textOf(lane.name), 24);
  }
  turn() {
    if (!this.trace.elapsed) return;
    this.byTime = !this.byTime;
    this.label();
    this.draw();
    this.select(this.seq ?? 1);
  }
  label() {
    this.scale.textContent = this.byTime ? "by time" : "by order";
    this.scale.hidden = !this.trace.elapsed;
  }
  // place is where a crossing stands, from 0 to 1.
  place(x) {
    return this.byTime ? x.at / (this.trace.elapsed || 1) : (x.seq - 1) / Math.max(1, this.trace.length - 1);
  }
  draw() {
    const width = this.picture.clientWidth,
      lanes = Math.min(this.lanes.length, mostLanes);
    if (!width) return;
    const g = drawing(this.canvas, width, lanes * this.laneHeight),
      colour = coloursOf(this.names);
    this.bars = [];
    const drawn = new Map(); // the last pixel that was drawn on, by line and colour
    for (const row of this.trace.rows) this.bar(g, row, width, colour, drawn);
    g.fillStyle = colour("error");
    for (const row of this.trace.rows) {
      if (isFailure(row))
        g.fillRect(
          Math.max(0, this.place(row.crossing) * width - 1),
          this.laneOf.get(row.crossing.strand) * this.laneHeight + 1,
          2,
          this.laneHeight - 3,
        );
    }
    drawAxis(this.axis, width, getComputedStyle(this.element).fontFamily, colour("faint"), (share) =>
      this.byTime ? lasting(Math.round(this.trace.elapsed * share)) : "#" + (1 + Math.round((this.trace.length - 1) * share)),
    );
    this.select(this.seq ?? 1);
  }
  bar(g, row, width, colour, drawn) {
    const x = row.crossing,
      spans = x.kind === "call" || ["ask", "wait-for", "sleep"].includes(x.kind);
    if (!spans) return;
    let level = 0;
    for (let r = row.parent; r && r.crossing.strand === x.strand && level < this.levels - 1; r = r.parent) {
      if (r.crossing.kind === "call") level++;
    }
    const from = this.place(x) * width,
      to = (row.end ? this.place(row.end) : 1) * width;
    const y = this.laneOf.get(x.strand) * this.laneHeight + level * barHeight + 2,
      w = Math.max(1.5, to - from - 0.5);
    const name = x.kind === "call" ? seamColour(x.data.seam) : x.kind === "ask" ? "ask" : "fact",
      line = y + name;
    if (to - from < 1 && drawn.get(line) === Math.floor(from)) return; // nothing would be seen of it
    drawn.set(line, Math.floor(from));
    g.fillStyle = colour(name);
    g.fillRect(Math.min(from, width - 1.5), y, w, barHeight - 1.5);
    this.bars.push({ from, to: from + w, y, row });
  }
  select(seq) {
    this.seq = seq;
    const x = this.trace.at(seq);
    if (!x) return;
    this.cursor.style.left = this.place(x) * 100 + "%";
    const lane = this.laneOf.get(x.strand);
    for (const [i, e] of [...this.names.children].entries()) e.classList.toggle("here", i === lane);
    const top = lane * this.laneHeight,
      seen = this.element.clientHeight - axisHeight - this.laneHeight;
    if (top < this.element.scrollTop || top > this.element.scrollTop + seen) this.element.scrollTop = top - seen / 2;
  }
  click(e) {
    const box = this.canvas.getBoundingClientRect(),
      x = e.clientX - box.left,
      y = e.clientY - box.top;
    let best = null;
    for (const bar of this.bars ?? []) {
      if (
        x >= bar.from - 2 &&
        x <= bar.to + 2 &&
        y >= bar.y - 1 &&
        y <= bar.y + barHeight &&
        (!best || bar.to - bar.from < best.to - best.from)
      )
        best = bar;
    }
    const share = Math.min(1, Math.max(0, x / box.width));
    this.choose(best ? best.row.seq : this.nearest(share));
  }
  nearest(share) {
    if (!this.byTime) return 1 + Math.round(share * (this.trace.length - 1));
    let low = 0,
      high = this.trace.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.trace.crossings[middle].at < share * this.trace.elapsed) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  }
}

// drawing is what draws on a canvas that is made so large.
function drawing(canvas, width, height) {
  const dots = window.devicePixelRatio || 1,
    g = canvas.getContext("2d");
  canvas.width = width * dots;
  canvas.height = height * dots;
  canvas.style.height = height + "px";
  g.scale(dots, dots);
  return g;
}

// coloursOf gives colours by their names, which it asks of an element: light-dark() is
// resolved by one alone.
function coloursOf(probe) {
  const known = new Map();
  return (name) => {
    if (!known.has(name)) {
      probe.style.color = `var(--${name}, var(--operation))`;
      known.set(name, getComputedStyle(probe).color);
      probe.style.color = "";
    }
    return known.get(name);
  };
}

// axisHeight is how tall the axis is below lanes.
const axisHeight = 16;

// drawAxis draws it: words for shares of the whole.
function drawAxis(canvas, width, font, colour, words) {
  const g = drawing(canvas, width, axisHeight),
    steps = width > 600 ? 4 : 2;
  g.fillStyle = colour;
  g.font = "11px " + font;
  g.textBaseline = "top";
  for (let i = 0; i <= steps; i++) {
    const at = (width * i) / steps;
    g.textAlign = i === 0 ? "left" : i === steps ? "right" : "center";
    g.fillRect(Math.min(width - 1, at), 0, 1, 2);
    g.fillText(words(i / steps), at, 4);
  }
}

// seamColour is the name of the colour of a seam.
const seamColour = (seam) => (seam ?? "").split("/", 1)[0];

// isFailure reports whether something went wrong in a row: it answered an error, a call did not
// end well, or an ask was refused. Who had enough of an answer has not failed.
function isFailure(row) {
  return (row.failed ??= [row.crossing, row.end].some(failedAt) || isRefused(row));
}

const failedAt = (x) =>
  x && ((x.data.err !== undefined && !isStop(x.data.err)) || (x.data.outcome ?? "ok") !== "ok" || x.data.isError === true);

// isStop reports whether an error says that nobody read on.
const isStop = (err) => isObject(err) && err.code === "E_ASK_STOPPED";

// isRefused reports whether an ask over HTTP was answered with a status that refuses it.
const isRefused = (row) => row.crossing.kind === "ask" && [row.piece?.data.piece, row.end?.data.answer].some((a) => statusOf(a) >= 400);
