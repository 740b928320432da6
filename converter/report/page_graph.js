"use strict";
// The graphs: drawn on a canvas at the places that the converter computed, so that thousands of nodes move smoothly. What
// a canvas cannot tell (readers of screens, text to copy) is in the panel beside it, which follows every choice.

// Elements without innerHTML: texts of models never become markup.
function h(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (key === "class") e.className = value;
    else e.setAttribute(key, value === true ? "" : value);
  }
  for (const c of children.flat(Infinity)) if (c !== null && c !== undefined && c !== "") e.append(c);
  return e;
}

function colours() {
  const style = getComputedStyle(document.documentElement), out = {};
  for (const name of ["paper", "card", "ink", "soft", "line", "faint", "accent", "accent-soft", "bad",
                      "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"])
    out[name] = style.getPropertyValue("--" + name).trim();
  return out;
}

// What is drawn again when colours change: the theme of the system, or paper, which is light.
const repaints = [];
const repaint = () => repaints.forEach((paint) => paint());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
addEventListener("beforeprint", () => { document.documentElement.classList.add("printing"); repaint(); });
addEventListener("afterprint", () => { document.documentElement.classList.remove("printing"); repaint(); });

const KINDS = ["products", "elementwise", "moves data", "reduces, pools, normalises", "control flow", "changes type", "other", "input or output"];
function kindOf(node) {
  const k = (node.kind || node.op).toLowerCase();
  if (/^(if|loop|scan)$/.test(k)) return 4;
  if (/attention|conv|gemm|matmul|einsum|lstm|gru|rnn|qlinear/.test(k)) return 0;
  if (/quantize|^cast/.test(k)) return 5;
  if (/softmax|norm|reduce|pool|argm|topk|cumsum|resize|upsample|nonmax/.test(k)) return 3;
  if (/reshape|transpose|concat|slice|split|gather|scatter|squeeze|flatten|expand|pad|tile|shape|spacetodepth|depthtospace|identity|where|constant|shuffle/.test(k)) return 2;
  if (/relu|add|mul|sub|div|sigmoid|tanh|clip|exp|log|sqrt|erf|gelu|pow|abs|neg|min|max|sin|cos|equal|less|greater|and|or|not|floor|ceil|round|swish|silu|elu|chain|mean|affine|rotary/.test(k)) return 1;
  return 6;
}

class GraphView {
  constructor(host, side, key, onChoose) {
    this.side = side; this.key = key; this.onChoose = onChoose;
    this.graph = 0; this.chosen = null; this.kin = new Set(); this.paint = null;
    this.canvas = h("canvas", {tabindex: "0", role: "application"});
    this.where = h("div", {class: "where"});
    const tool = (text, label, run) => h("button", {type: "button", "aria-label": label, title: label, onclick: run}, text);
    host.append(this.canvas, this.where, h("div", {class: "tools"},
      tool("+", "Zoom in", () => this.zoom(1.3)), tool("−", "Zoom out", () => this.zoom(1 / 1.3)), tool("▢", "Show all", () => this.fit(true))));
    this.host = host;
    this.prepare();
    this.listen();
    repaints.push(() => this.render());
    new ResizeObserver(() => this.resize()).observe(host);
  }

  // Items of the graph that is shown: inputs, nodes, outputs, as the layout numbers them.
  prepare() {
    const g = this.side.graphs[this.graph], l = g.layout, items = [];
    const entries = [...g.inputs.map((v) => ({value: v, role: "input"})), ...g.nodes.map((n) => ({node: n})), ...g.outputs.map((v) => ({value: v, role: "output"}))];
    entries.forEach((e, i) => items.push({...e, x: l.items[3 * i], y: l.items[3 * i + 1], w: l.items[3 * i + 2], up: [], down: [], index: i}));
    this.items = items;
    this.byNode = new Map(items.filter((i) => i.node !== undefined).map((i) => [i.node, i]));
    this.lines = l.lines.map((e) => {
      const from = items[e[0]], to = items[e[1]], points = [from.x, from.y + 40];
      for (let k = 4; k < e.length; k++) points.push(e[k]);
      points.push(to.x, to.y);
      from.down.push(to); to.up.push(from);
      let left = Infinity, right = -Infinity;
      for (let k = 0; k < points.length; k += 2) { left = Math.min(left, points[k]); right = Math.max(right, points[k]); }
      return {from, to, value: e[2], cut: e[3] === 1, points, left, right, top: points[1], bottom: points[points.length - 1]};
    });
    for (const l of this.lines) if (l.top > l.bottom) [l.top, l.bottom] = [l.bottom, l.top];
    this.size = [l.width, l.height];
    const path = [];
    for (let at = this.graph; at !== undefined; at = this.side.graphs[at].owner === undefined ? undefined : this.side.nodes[this.side.graphs[at].owner].graph) path.unshift(at);
    this.where.replaceChildren(...path.map((at, i) => {
      const graph = this.side.graphs[at];
      const label = i === 0 ? (this.key === "before" ? "Before: as imported" : "After: as it runs") : titleOf(this.side, graph.owner) + (graph.role && graph.role !== "body" ? ", " + graph.role : "");
      return i + 1 === path.length ? h("span", {}, (i ? " › " : "") + label + (i === 0 ? " (" + g.nodes.length + " nodes)" : "")) : h("button", {type: "button", class: "link", onclick: () => this.enter(at)}, (i ? " › " : "") + label);
    }));
    this.canvas.setAttribute("aria-label", (this.key === "before" ? "Graph before conversion" : "Graph after conversion") + ", " + g.nodes.length + " nodes. Arrow keys follow the lines.");
  }

  enter(graph, node) {
    const from = this.graph;
    this.graph = graph;
    this.prepare();
    this.fit();
    if (node === undefined && from !== graph && this.side.graphs[from].owner !== undefined && this.byNode.has(this.side.graphs[from].owner)) node = this.side.graphs[from].owner;
    if (node !== undefined) this.choose(node); else this.draw();
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
    const [w, hgt] = this.size, whole = Math.min(this.width / (w + 60), this.height / (hgt + 90), 1.15);
    this.scale = all ? whole : Math.max(whole, Math.min(0.85, Math.max(0.42, this.width / (w + 60))));
    this.x = this.width / 2 - (w / 2) * this.scale;
    if (w * this.scale > this.width) { const first = this.items[0]; this.x = this.width / 2 - (first ? first.x : w / 2) * this.scale; }
    this.y = hgt * this.scale < this.height - 60 ? (this.height - hgt * this.scale) / 2 + 10 : 52;
    this.draw();
  }

  zoom(by, cx, cy) {
    if (cx === undefined) {
      const item = this.chosen !== null && this.byNode.get(this.chosen);
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
    this.chosen = node; this.terminal = null;
    this.reveal(this.byNode.get(node));
    this.draw();
    if (!quietly) this.onChoose(this.key, node);
  }

  reveal(item) {
    if (!item || !this.width) return;
    if (this.scale < 0.5) this.scale = 0.8;
    const x = item.x * this.scale + this.x, y = item.y * this.scale + this.y, margin = Math.min(90, this.height / 4);
    if (x < margin || x > this.width - margin || y < margin || y > this.height - margin) {
      this.x = this.width / 2 - item.x * this.scale; this.y = this.height / 2 - item.y * this.scale;
    }
  }

  // The other side chose: its kin are shown here.
  showKin(nodes) {
    this.kin = new Set(nodes);
    this.chosen = null;
    if (nodes.length > 0) {
      const first = this.side.nodes[nodes[0]];
      if (first.graph !== this.graph) { this.graph = first.graph; this.prepare(); this.fit(); }
      this.reveal(this.byNode.get(nodes[0]));
    }
    this.draw();
  }

  at(px, py) {
    const x = (px - this.x) / this.scale, y = (py - this.y) / this.scale;
    return this.items.find((i) => Math.abs(x - i.x) <= i.w / 2 + 2 && y >= i.y - 2 && y <= i.y + 42);
  }

  pick(item) {
    if (item.node !== undefined) return this.choose(item.node);
    this.chosen = null; this.terminal = item;
    this.reveal(item);
    this.draw();
    this.onChoose(this.key, null, item);
  }

  open() {
    const n = this.chosen !== null && this.side.nodes[this.chosen];
    if (n && n.bodies) this.enter(n.bodies[0]);
  }
  leave() {
    const owner = this.side.graphs[this.graph].owner;
    if (owner !== undefined) this.enter(this.side.nodes[owner].graph, owner);
  }

  listen() {
    const c = this.canvas, pointers = new Map();
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
      if (!pointers.has(e.pointerId)) { const item = this.at(...p); c.style.cursor = item ? "pointer" : ""; c.title = item ? this.label(item) : ""; return; }
      const old = pointers.get(e.pointerId);
      pointers.set(e.pointerId, p);
      if (pointers.size === 2) {
        const now = gap(), [a, b] = [...pointers.values()];
        if (spread > 0) this.zoom(now / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
        spread = now; moved = 99;
        return;
      }
      moved += Math.abs(p[0] - old[0]) + Math.abs(p[1] - old[1]);
      this.x += p[0] - old[0]; this.y += p[1] - old[1];
      this.draw();
    });
    const up = (e) => {
      if (pointers.delete(e.pointerId) && e.type === "pointerup" && moved < 5) {
        const item = this.at(...local(e));
        if (item) this.pick(item);
      }
    };
    c.addEventListener("pointerup", up);
    c.addEventListener("pointercancel", up);
    c.addEventListener("dblclick", (e) => { if (this.at(...local(e))) this.open(); });
    // The page scrolls as everywhere; the wheel zooms with a key held, or once the graph is chosen.
    c.addEventListener("wheel", (e) => {
      if (document.activeElement !== c && !e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      this.zoom(Math.exp(-e.deltaY * (e.deltaMode === 1 ? 0.03 : 0.0015)), ...local(e));
    }, {passive: false});
    c.addEventListener("keydown", (e) => {
      const item = this.terminal || (this.chosen !== null && this.byNode.get(this.chosen));
      const beside = (sign) => item && this.items.filter((i) => i.y === item.y && (i.x - item.x) * sign > 0).sort((a, b) => Math.abs(a.x - item.x) - Math.abs(b.x - item.x))[0];
      const start = this.items.find((i) => i.node !== undefined) || this.items[0];
      const steps = {ArrowDown: () => item ? item.down[0] : start, ArrowUp: () => item ? item.up[0] : start, ArrowLeft: () => beside(-1), ArrowRight: () => beside(1)};
      if (steps[e.key]) { const to = steps[e.key](); if (to) this.pick(to); }
      else if (e.key === "+" || e.key === "=") this.zoom(1.25);
      else if (e.key === "-") this.zoom(0.8);
      else if (e.key === "0") this.fit(true);
      else if (e.key === "Enter") this.open();
      else if (e.key === "Escape") this.leave();
      else return;
      e.preventDefault();
    });
  }

  label(item) {
    if (item.node === undefined) return item.role + " " + this.side.values[item.value].name + " " + this.side.values[item.value].type;
    const n = this.side.nodes[item.node];
    return (n.kind || n.op) + (n.name ? " " + n.name : "");
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.render(); });
  }

  render() {
    if (!this.width) return;
    const c = this.canvas.getContext("2d"), ratio = window.devicePixelRatio || 1, k = colours(), s = this.scale;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = k.card;
    c.fillRect(0, 0, this.width, this.height);
    c.setTransform(ratio * s, 0, 0, ratio * s, ratio * this.x, ratio * this.y);
    const left = -this.x / s, top = -this.y / s, right = left + this.width / s, bottom = top + this.height / s;
    const focus = this.terminal || (this.chosen !== null && this.byNode.get(this.chosen));
    const thin = Math.max(1, 0.8 / s);
    const line = (l) => {
      c.beginPath();
      const p = l.points;
      if (l.cut) {  // two stumps
        c.setLineDash([4, 3]);
        c.moveTo(p[0], p[1]); c.lineTo(p[0], p[1] + 16);
        c.moveTo(l.to.x, l.to.y - 16); c.lineTo(l.to.x, l.to.y);
        c.stroke(); c.setLineDash([]);
        return;
      }
      c.moveTo(p[0], p[1]);
      for (let i = 2; i < p.length; i += 2) {
        const mid = (p[i - 1] + p[i + 1]) / 2;
        if (p[i] === p[i - 2]) c.lineTo(p[i], p[i + 1]); else c.bezierCurveTo(p[i - 2], mid, p[i], mid, p[i], p[i + 1]);
      }
      c.stroke();
    };
    c.strokeStyle = k.soft; c.lineWidth = thin; c.globalAlpha = 0.55;
    const lit = [];
    for (const l of this.lines) {
      if (l.right < left || l.left > right || l.bottom < top || l.top > bottom) continue;
      if (focus && (l.from === focus || l.to === focus)) { lit.push(l); continue; }
      line(l);
    }
    c.globalAlpha = 1; c.strokeStyle = k.accent; c.lineWidth = Math.max(2, 1.6 / s);
    lit.forEach(line);
    const detail = s > 0.36;
    c.textAlign = "center";
    for (const i of this.items) {
      if (i.x + i.w / 2 < left || i.x - i.w / 2 > right || i.y + 40 < top || i.y > bottom) continue;
      const n = i.node === undefined ? null : this.side.nodes[i.node];
      const chosen = i === focus, kin = n && this.kin.has(i.node);
      c.fillStyle = n ? (this.paint ? this.paint(i.node, k) : k["k" + kindOf(n)]) : k.k7;
      c.strokeStyle = chosen || kin ? k.accent : k.soft;
      c.lineWidth = chosen ? Math.max(3, 2.4 / s) : kin ? Math.max(2.5, 2 / s) : thin;
      c.beginPath();
      if (c.roundRect) c.roundRect(i.x - i.w / 2, i.y, i.w, 40, n ? 6 : 20); else c.rect(i.x - i.w / 2, i.y, i.w, 40);
      c.fill();
      c.globalAlpha = chosen || kin ? 1 : 0.6;
      if (kin && !chosen) c.setLineDash([6, 3]);
      c.stroke();
      c.setLineDash([]);
      c.globalAlpha = 1;
      if (n && n.bodies && detail) { c.beginPath(); c.rect(i.x - i.w / 2 + 3, i.y + 3, i.w - 6, 34); c.globalAlpha = 0.35; c.lineWidth = 1; c.strokeStyle = k.soft; c.stroke(); c.globalAlpha = 1; }
      if (!detail) continue;
      const name = n ? n.name || "" : this.side.values[i.value].name;
      c.fillStyle = k.ink;
      c.font = "600 13px system-ui, sans-serif";
      const clip = (text, most) => { if (c.measureText(text).width <= most) return text; let t = text; while (t.length > 1 && c.measureText("…" + t).width > most) t = t.slice(Math.max(1, t.length >> 4)); return "…" + t; };
      c.fillText(clip(n ? n.kind || n.op : i.role, i.w - 14), i.x, i.y + (name ? 17 : 25));
      if (!name) continue;
      c.fillStyle = k.ink; c.globalAlpha = 0.75; c.font = "11px system-ui, sans-serif";
      c.fillText(clip(name, i.w - 14), i.x, i.y + 32);
      c.globalAlpha = 1;
    }
  }
}

function titleOf(side, node) {
  const n = side.nodes[node];
  return n.name ? (n.kind || n.op) + " " + n.name : n.kind || n.op;
}
