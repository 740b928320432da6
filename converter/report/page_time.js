// How long a run takes: one statistic, the median over the runs, with the spread beside it; and three runs over time.

function latency() {
  const l = data.latency;
  if (!l) return $("latency").remove();
  const rows = Object.entries(l.nodes).map(([id, t]) => ({id: Number(id), ...t})).filter((r) => r.depth === 0).sort((x, y) => y.p50_us - x.p50_us);
  const top = Math.max(l.between.p90_us, ...rows.map((r) => r.p90_us));
  $("latency-text").textContent = "All times are medians (p50) over " + count(l.runs, "run") + " with " + (l.threads ? count(l.threads, "thread") : "all cores") + "; one run of ten is faster than p10, one slower than p90. Shares are of the median run, " + usText(l.median_us) +
    " (p10 " + usText(l.p10_us) + ", p90 " + usText(l.p90_us) + "): those in the list are 100 % together. Medians add up only nearly, and \"in no median\" is what is left: much on a busy machine, where each run is interrupted in another step, and below zero where steps are seldom slow together. \"At least\" is a bound: what the operations and bytes of the step take at the rates of this machine (roofline; convolutions with a quarter of their multiplications, which Winograd leaves). A step near its bound has nothing to gain here.";
  const between = [h("i", {}, "between the steps"), "", usText(l.between.p10_us), usText(l.between.p50_us), usText(l.between.p90_us), percent(l.between.p50_us / l.median_us), spread(l.between, top), "", ""];
  const rest = [h("i", {}, "in no median"), "", "", usText(l.rest_us), "", percent(l.rest_us / l.median_us), "", "", ""];
  const cells = rows.map((r) => [nodeLink("after", r.id), r.device, usText(r.p10_us), usText(r.p50_us), usText(r.p90_us), percent(r.share), spread(r, top), r.least_us ? usText(Math.min(r.p50_us, r.least_us)) + (r.under_half ? " (not half reached)" : "") : "", h("code", {}, r.kernel)]);
  cells.push(between, rest);
  $("latency-list").append(table(["step", "device", {text: "p10", n: true}, {text: "median", n: true}, {text: "p90", n: true}, {text: "share", n: true}, {text: "p10 to p90, median", class: "barcell"}, {text: "at least", n: true}, "kernel"], cells, rows.length > 25 ? 25 : cells.length));
  timeline(l);
}
// From p10 to p90, with a mark at the median.
function spread(r, top) {
  const range = h("i", {class: "range"}), middle = h("i", {class: "middle"});
  range.style.left = 100 * r.p10_us / top + "%"; range.style.width = Math.max(0.5, 100 * (r.p90_us - r.p10_us) / top) + "%";
  middle.style.left = 100 * r.p50_us / top + "%";
  return h("div", {class: "track spread", "aria-hidden": "true"}, range, middle);
}

const RUN_NAMES = {0.1: "fast run (p10)", 0.5: "median run", 0.9: "slow run (p90)"};
const ROW_HEIGHT = 24;

class Timeline {
  constructor(latency, runs) {
    this.runs = runs; this.nodes = latency.nodes;
    const depth = Math.max(...Object.values(this.nodes).map((n) => n.depth));
    this.devices = [...new Set(Object.values(this.nodes).map((n) => n.device))];
    this.depth = depth + 1;
    this.chosen = -1;
    const switches = h("div", {class: "switch", role: "group", "aria-label": "Which run"}, runs.map((run, i) => h("button", {type: "button", onclick: () => this.show(i)}, RUN_NAMES[run.quantile] || "run")));
    this.buttons = [...switches.children];
    const tool = (text, label, act) => h("button", {type: "button", "aria-label": label, title: label, onclick: act}, text);
    $("timeline-bar").append(switches, h("div", {class: "tools"}, tool("+", "Zoom in", () => this.zoom(1.6)), tool("−", "Zoom out", () => this.zoom(1 / 1.6)), tool("▢", "Show all", () => this.zoom(0))));
    this.plot = canvasIn($("timeline-plot"), this.devices.length * this.depth * ROW_HEIGHT + 64, (...at) => this.draw(...at), (...at) => this.hover(...at));
    const c = this.plot.canvas;
    c.tabIndex = 0; c.setAttribute("role", "application");
    c.addEventListener("keydown", (e) => this.key(e));
    c.addEventListener("wheel", (e) => {
      if (document.activeElement !== c && !e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      this.zoom(Math.exp(-e.deltaY * 0.0015), e.clientX - c.getBoundingClientRect().left);
    }, {passive: false});
    this.show(Math.max(0, runs.findIndex((r) => r.quantile === 0.5)));
  }

  show(i) {
    this.run = this.runs[i];
    this.buttons.forEach((b, k) => b.setAttribute("aria-pressed", String(k === i)));
    this.slices = this.run.slices.map(([node, start, length]) => ({node, start, length, ...this.nodes[node]}));
    this.end = Math.max(this.run.wall_us, ...this.slices.map((s) => s.start + s.length)) || 1;
    this.chosen = -1;
    this.plot.canvas.setAttribute("aria-label", "Timeline of the " + (RUN_NAMES[this.run.quantile] || "run") + ", " + usText(this.run.wall_us) + ", " + count(this.slices.length, "slice") + ". Arrow keys go from slice to slice.");
    this.tell("");
    this.zoom(0);
  }

  tell(text) { $("timeline-hover").textContent = text || count(this.slices.length, "slice") + " in " + usText(this.run.wall_us) + "."; }
  labelWidth(ctx) { ctx.font = "12px " + FONT; return Math.min(130, 16 + Math.max(...this.devices.map((d) => ctx.measureText(deviceName(d)).width))); }

  zoom(by, px) {
    if (!by) { this.from = 0; this.span = this.end; }
    else {
      const middle = px === undefined ? (this.chosen >= 0 ? this.slices[this.chosen].start : this.from + this.span / 2) : this.timeAt(px);
      const span = Math.min(this.end, Math.max(this.end / 20000, this.span / by));
      this.from = Math.max(0, Math.min(this.end - span, middle - (middle - this.from) * span / this.span));
      this.span = span;
    }
    this.plot.paint();
  }
  timeAt(px) { return this.from + (px - this.left) / this.room * this.span; }
  x(us) { return this.left + (us - this.from) / this.span * this.room; }
  y(slice) { return 30 + (this.devices.indexOf(slice.device) * this.depth + slice.depth) * ROW_HEIGHT; }

  draw(c, width, height, k) {
    this.left = this.labelWidth(c) + 8; this.room = Math.max(40, width - this.left - 12);
    c.clearRect(0, 0, width, height);
    this.axis(c, height, k);
    c.textAlign = "right"; c.fillStyle = k.ink;
    this.devices.forEach((d, i) => c.fillText(clipped(c, deviceName(d), this.left - 14), this.left - 8, 30 + i * this.depth * ROW_HEIGHT + 16));
    c.save(); c.beginPath(); c.rect(this.left, 0, this.room, height); c.clip();
    c.textAlign = "left";
    this.slices.forEach((s, i) => this.slice(c, s, i === this.chosen, k));
    c.fillStyle = k.s6; c.globalAlpha = 0.5;
    c.fillRect(this.x(0), 24, Math.max(1, this.run.wall_us / this.span * this.room), 3);
    c.globalAlpha = 1;
    c.restore();
  }
  axis(c, height, k) {
    const step = 10 ** Math.floor(Math.log10(this.span / 2)), every = this.span / step > 10 ? step * 5 : this.span / step > 5 ? step * 2 : step;
    c.font = "12px " + FONT; c.textAlign = "center"; c.strokeStyle = k.line; c.fillStyle = k.soft; c.lineWidth = 1;
    let last = -Infinity;
    for (let t = Math.ceil(this.from / every) * every; t <= this.from + this.span * 1.0001; t += every) {
      const x = this.x(t), text = usText(t), half = c.measureText(text).width / 2;
      c.beginPath(); c.moveTo(x, 24); c.lineTo(x, height - 22); c.stroke();
      if (x - half < last + 8 || x + half > this.left + this.room + 12) continue;
      c.fillText(text, x, height - 7);
      last = x + half;
    }
  }
  slice(c, s, chosen, k) {
    const x = this.x(s.start), w = Math.max(0.7, s.length / this.span * this.room), y = this.y(s), node = sides.after.nodes[s.node];
    if (x + w < this.left || x > this.left + this.room) return;
    c.fillStyle = k["k" + kindOf(node)]; c.strokeStyle = chosen ? k.accent : k.soft; c.lineWidth = chosen ? 2.5 : 0.6;
    c.fillRect(x, y, w, ROW_HEIGHT - 3);
    if (w > 2 || chosen) c.strokeRect(x, y, w, ROW_HEIGHT - 3);
    const kind = node.kind || node.op, name = fitting(c, node.name || "", w - 8 - c.measureText(kind + " ").width);
    const text = name ? kind + " " + name : fitting(c, kind, w - 8);
    if (text) { c.fillStyle = k.ink; c.fillText(text, Math.max(x, this.left) + 4, y + 15); }
  }

  text(s) { return titleOf(sides.after, s.node) + ": " + usText(s.length) + " from " + usText(s.start) + " on, " + percent(s.length / this.run.wall_us) + " of this run; over all runs p10 " + usText(s.p10_us) + ", median " + usText(s.p50_us) + ", p90 " + usText(s.p90_us) + "; " + s.kernel + "."; }
  hover(px, py, width, click) {
    const at = this.slices.findLastIndex((s) => py >= this.y(s) && py < this.y(s) + ROW_HEIGHT && px >= this.x(s.start) - 1 && px <= this.x(s.start + s.length) + 1);
    if (at !== this.chosen && (at >= 0 || click)) { this.chosen = at; this.plot.paint(); this.tell(at >= 0 ? this.text(this.slices[at]) : ""); }
    if (click && at >= 0) goTo("after", this.slices[at].node);
  }
  key(e) {
    const to = {ArrowRight: Math.min(this.slices.length - 1, this.chosen + 1), ArrowLeft: Math.max(0, this.chosen - 1), Home: 0, End: this.slices.length - 1}[e.key];
    if (to !== undefined && this.slices[to]) {
      const s = this.slices[this.chosen = to];
      if (s.start < this.from || s.start + s.length > this.from + this.span) this.from = Math.max(0, Math.min(this.end - this.span, s.start + s.length / 2 - this.span / 2));
      this.plot.paint();
      this.tell(this.text(s));
    } else if (e.key === "+" || e.key === "=") this.zoom(1.6);
    else if (e.key === "-") this.zoom(1 / 1.6);
    else if (e.key === "0") this.zoom(0);
    else if (e.key === "Enter" && this.chosen >= 0) goTo("after", this.slices[this.chosen].node);
    else return;
    e.preventDefault();
  }
}

function timeline(l) {
  const runs = (l.timeline || []).filter((r) => r.slices.length);
  if (!runs.length || !data.after) return $("timeline").remove();
  return new Timeline(l, runs);
}
