// The graphs: drawn on a canvas, so that thousands of nodes move smoothly. What a canvas cannot tell (readers of screens,
// text to copy) is in the panel beside it, which follows every choice.

class GraphView {
  constructor(host, side, key, onChoose) {
    this.side = side; this.key = key; this.onChoose = onChoose;
    this.graph = 0; this.chosen = null; this.kin = new Set(); this.paint = null;
    this.opened = new Map();  // of each graph: the boxes that are open
    this.canvas = h("canvas", {tabindex: "0", role: "application"});
    this.where = h("div", {class: "where"});
    const tool = (text, label, run) => h("button", {type: "button", "aria-label": label, title: label, onclick: run}, text);
    this.boxTools = [tool("⊞", "Open all modules", () => this.openAll(true)), tool("⊟", "Close all modules", () => this.openAll(false))];
    host.append(this.canvas, this.where, h("div", {class: "tools"}, this.boxTools,
      tool("+", "Zoom in", () => this.zoom(1.3)), tool("−", "Zoom out", () => this.zoom(1 / 1.3)), tool("▢", "Show all", () => this.fit(true))));
    this.host = host;
    this.prepare();
    listenTo(this);
    repaints.push(() => this.render());
    new ResizeObserver(() => this.resize()).observe(host);
  }

  get items() { return this.scene.items; }
  get shape() { return this.side.graphs[this.graph]; }
  get open() { return this.opened.get(this.graph); }
  // The item that is chosen, or what shows it.
  get focus() {
    if (this.terminal) return this.terminal;
    if (this.box) return this.scene.byBox.get(this.box);
    return this.chosen === null ? undefined : this.scene.shown(this.chosen);
  }

  prepare() {
    const g = this.shape;
    if (!this.open) this.opened.set(this.graph, openAtFirst(g));
    this.scene = new Scene(this.side, g, this.open);
    for (const b of this.boxTools) b.hidden = g.boxes.length < 2;
    const path = [];
    for (let at = this.graph; at !== undefined; at = this.side.graphs[at].owner === undefined ? undefined : this.side.nodes[this.side.graphs[at].owner].graph) path.unshift(at);
    this.where.replaceChildren(...path.map((at, i) => {
      const graph = this.side.graphs[at];
      const label = i === 0 ? (this.key === "before" ? "Before: as imported" : "After: as it runs") : titleOf(this.side, graph.owner) + (graph.role && graph.role !== "body" ? ", " + graph.role : "");
      return i + 1 === path.length ? h("span", {}, (i ? " › " : "") + label + (i === 0 ? " (" + g.nodes.length + " nodes)" : "")) : h("button", {type: "button", class: "link", onclick: () => this.enter(at)}, (i ? " › " : "") + label);
    }));
    this.canvas.setAttribute("aria-label", (this.key === "before" ? "Graph before conversion" : "Graph after conversion") + ", " + g.nodes.length + " nodes. Arrow keys follow the lines.");
  }

  forget() { this.chosen = null; this.terminal = null; this.box = 0; }

  enter(graph, node) {
    const from = this.graph;
    this.graph = graph;
    this.terminal = null; this.box = 0;
    this.prepare();
    this.fit();
    if (node === undefined && from !== graph && this.side.graphs[from].owner !== undefined && this.shape.nodes.includes(this.side.graphs[from].owner)) node = this.side.graphs[from].owner;
    if (node !== undefined) this.choose(node); else { this.forget(); this.draw(); }
  }

  // Opens or closes a box; it stays where it is on the screen.
  toggle(box) {
    const was = this.scene.byBox.get(box), x = was.x, y = was.y;
    if (this.open.has(box)) this.open.delete(box); else this.open.add(box);
    this.rebuild();
    const now = this.scene.byBox.get(box);
    this.x += (x - now.x) * this.scale; this.y += (y - now.y) * this.scale;
    this.pickBox(box);
  }
  openAll(all) {
    this.opened.set(this.graph, new Set(all ? this.shape.boxes.keys() : [0]));
    this.rebuild();
    if (this.focus) this.reveal(this.focus); else this.fit();
  }
  // The outermost boxes around a node are opened until it is seen.
  unfold(node) {
    let changed = false;
    for (let b = this.side.home[node]; b; b = this.shape.boxes[b].parent) if (!this.open.has(b)) { this.open.add(b); changed = true; }
    if (changed) this.rebuild();
  }
  rebuild() {
    this.terminal = null;
    this.prepare();
    this.draw();
  }

  resize() {
    const box = this.host.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    if (box.width === 0) return;
    const first = !this.width;
    this.width = box.width; this.height = box.height;
    this.canvas.width = Math.round(box.width * ratio); this.canvas.height = Math.round(box.height * ratio);
    if (first) this.fit();
    this.draw();
  }

  // All of it, or, where that would be too small to read, its beginning.
  fit(all) {
    if (!this.width) return;
    const {width: w, height: hgt} = this.scene, whole = Math.min(this.width / (w + 60), this.height / (hgt + 90), 1.15);
    this.scale = all ? whole : Math.max(whole, Math.min(0.85, Math.max(0.42, this.width / (w + 60))));
    this.x = this.width / 2 - (w / 2) * this.scale;
    if (w * this.scale > this.width) { const first = this.items[0]; this.x = this.width / 2 - (first ? first.x : w / 2) * this.scale; }
    this.y = hgt * this.scale < this.height - 60 ? (this.height - hgt * this.scale) / 2 + 10 : 52;
    this.draw();
  }

  zoom(by, cx, cy) {
    if (cx === undefined) {
      const item = this.focus;
      cx = item ? item.x * this.scale + this.x : this.width / 2; cy = item ? item.y * this.scale + this.y : this.height / 2;
    }
    const to = Math.min(3, Math.max(0.01, this.scale * by));
    this.x = cx - (cx - this.x) * to / this.scale; this.y = cy - (cy - this.y) * to / this.scale;
    this.scale = to;
    this.draw();
  }

  choose(node, quietly) {
    const n = this.side.nodes[node];
    if (n.graph !== this.graph) { this.graph = n.graph; this.prepare(); this.fit(); }
    this.forget();
    this.unfold(node);
    this.chosen = node;
    this.reveal(this.scene.byNode.get(node));
    this.draw();
    if (!quietly) this.onChoose(this.key, {node});
  }

  pickBox(box) {
    this.forget();
    this.box = box;
    this.reveal(this.focus);
    this.draw();
    this.onChoose(this.key, {graph: this.graph, box});
  }

  reveal(item) {
    if (!item || !this.width) return;
    if (this.scale < 0.5) this.scale = 0.8;
    const x = item.x * this.scale + this.x, y = item.y * this.scale + this.y, margin = Math.min(90, this.height / 4);
    if (x < margin || x > this.width - margin || y < margin || y > this.height - margin) {
      this.x = this.width / 2 - item.x * this.scale; this.y = this.height / 2 - item.y * this.scale;
    }
  }

  // The other side chose: its kin are shown here, in boxes where these are closed.
  showKin(nodes) {
    this.kin = new Set(nodes);
    this.forget();
    if (nodes.length > 0) {
      const first = this.side.nodes[nodes[0]];
      if (first.graph !== this.graph) { this.graph = first.graph; this.prepare(); this.fit(); }
      this.reveal(this.scene.shown(nodes[0]));
    }
    this.draw();
  }

  at(px, py) {
    const x = (px - this.x) / this.scale, y = (py - this.y) / this.scale;
    const hit = this.items.find((i) => !i.port && Math.abs(x - i.x) <= i.w / 2 + 2 && y >= i.y - 2 && y <= i.y + i.h + 2);
    return hit || this.scene.frames.filter((f) => Math.abs(x - f.x) <= f.w / 2 && y >= f.y && y <= f.y + HEAD_HEIGHT).pop();
  }
  // Whether a place is on the sign that opens or closes a box.
  onSign(item, px) { return item.box && px <= (item.x - item.w / 2) * this.scale + this.x + 26 * Math.max(this.scale, 0.6); }

  pick(item) {
    if (item.node !== undefined) return this.choose(item.node);
    if (item.box) return this.pickBox(item.box);
    this.forget();
    this.terminal = item;
    this.reveal(item);
    this.draw();
    this.onChoose(this.key, {terminal: item});
  }

  enterChosen() {
    if (this.box) return this.toggle(this.box);
    const n = this.chosen !== null && this.side.nodes[this.chosen];
    if (n && n.bodies) this.enter(n.bodies[0]);
  }
  // Out of the box around what is chosen, or of the body.
  leave() {
    const item = this.focus;
    if (item && item.inner) return this.toggle(item.box);
    if (item && item.owner) return this.toggle(item.owner.box);
    const owner = this.shape.owner;
    if (owner !== undefined) this.enter(this.side.nodes[owner].graph, owner);
  }

  label(item) {
    if (item.box) return boxTitle(this.shape, item.box) + ", " + count(this.shape.boxes[item.box].nodes, "node");
    if (item.node === undefined) return item.role + " " + this.side.values[item.value].name + " " + boundedType(this.side, this.side.values[item.value].type);
    return titleOf(this.side, item.node);
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.render(); });
  }
  render() {
    if (this.width) new Brush(this).draw();
  }
}

// What fingers, mice and keys do to a view.
function listenTo(view) {
  const c = view.canvas, pointers = new Map();
  let moved = 0, spread = 0;
  const local = (e) => { const r = c.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
  const gap = () => { const [a, b] = [...pointers.values()]; return Math.hypot(a[0] - b[0], a[1] - b[1]); };
  c.addEventListener("pointerdown", (e) => {
    try { c.setPointerCapture(e.pointerId); } catch (_) { /* a pointer that is gone already */ }
    pointers.set(e.pointerId, local(e)); moved = 0;
    if (pointers.size === 2) spread = gap();
  });
  c.addEventListener("pointermove", (e) => {
    const p = local(e);
    if (!pointers.has(e.pointerId)) { const item = view.at(...p); c.style.cursor = item ? "pointer" : ""; c.title = item ? view.label(item) : ""; return; }
    const old = pointers.get(e.pointerId);
    pointers.set(e.pointerId, p);
    if (pointers.size === 2) {
      const now = gap(), [a, b] = [...pointers.values()];
      if (spread > 0) view.zoom(now / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      spread = now; moved = 99;
      return;
    }
    moved += Math.abs(p[0] - old[0]) + Math.abs(p[1] - old[1]);
    view.x += p[0] - old[0]; view.y += p[1] - old[1];
    view.draw();
  });
  const up = (e) => {
    if (!pointers.delete(e.pointerId) || e.type !== "pointerup" || moved >= 5) return;
    const p = local(e), item = view.at(...p);
    if (!item) return;
    if (view.onSign(item, p[0])) view.toggle(item.box); else view.pick(item);
  };
  c.addEventListener("pointerup", up);
  c.addEventListener("pointercancel", up);
  c.addEventListener("dblclick", (e) => { const p = local(e), item = view.at(...p); if (item && !view.onSign(item, p[0])) view.enterChosen(); });
  // The page scrolls as everywhere; the wheel zooms with a key held, or once the graph is chosen.
  c.addEventListener("wheel", (e) => {
    if (document.activeElement !== c && !e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    view.zoom(Math.exp(-e.deltaY * (e.deltaMode === 1 ? 0.03 : 0.0015)), ...local(e));
  }, {passive: false});
  c.addEventListener("keydown", (e) => {
    const item = view.focus;
    const beside = (sign) => item && view.items.filter((i) => !i.port && i.y === item.y && (i.x - item.x) * sign > 0).sort((a, b) => Math.abs(a.x - item.x) - Math.abs(b.x - item.x))[0];
    const start = view.items.find((i) => i.node !== undefined || i.box) || view.items[0];
    const near = (list) => list.sort((a, b) => Math.abs(a.x - item.x) - Math.abs(b.x - item.x))[0];
    let to;
    if (e.key === "ArrowDown") to = item ? near(view.scene.below(item)) : start;
    else if (e.key === "ArrowUp") to = item ? near(view.scene.above(item)) : start;
    else if (e.key === "ArrowLeft") to = beside(-1);
    else if (e.key === "ArrowRight") to = beside(1);
    else if (e.key === "+" || e.key === "=") view.zoom(1.3);
    else if (e.key === "-") view.zoom(1 / 1.3);
    else if (e.key === "0") view.fit(true);
    else if (e.key === "Enter") view.enterChosen();
    else if (e.key === "Escape") view.leave();
    else return;
    if (to) view.pick(to);
    e.preventDefault();
  });
}
