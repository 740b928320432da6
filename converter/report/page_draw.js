// Draws a view: frames of open boxes, lines, shapes beside them, items.

class Brush {
  constructor(view) {
    this.view = view; this.scene = view.scene; this.side = view.side; this.s = view.scale;
    this.c = view.canvas.getContext("2d"); this.k = colours();
    this.left = -view.x / this.s; this.top = -view.y / this.s;
    this.right = this.left + view.width / this.s; this.bottom = this.top + view.height / this.s;
    this.thin = Math.max(1, 0.8 / this.s);
    this.detail = this.s > 0.36;
    this.focus = view.focus;
    this.kin = new Set([...view.kin].map((n) => this.scene.shown(n)));
  }

  draw() {
    const {c, k, view, s} = this, ratio = window.devicePixelRatio || 1;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = k.card;
    c.fillRect(0, 0, view.width, view.height);
    c.setTransform(ratio * s, 0, 0, ratio * s, ratio * view.x, ratio * view.y);
    for (const f of this.scene.frames) if (this.seen(f)) this.frame(f);
    this.drawLines();
    if (s > 0.55) this.drawShapes();
    for (const i of this.scene.items) if (this.seen(i)) this.item(i);
  }

  seen(i) { return i.x + i.w / 2 >= this.left && i.x - i.w / 2 <= this.right && i.y + i.h >= this.top && i.y <= this.bottom; }

  outline(i, radius) {
    this.c.beginPath();
    if (this.c.roundRect) this.c.roundRect(i.x - i.w / 2, i.y, i.w, i.h, radius); else this.c.rect(i.x - i.w / 2, i.y, i.w, i.h);
  }

  // "+" or "−" in a square: opens or closes the box.
  sign(i, open) {
    const {c, k} = this, x = i.x - i.w / 2 + 13, y = i.y + (open ? HEAD_HEIGHT / 2 : i.h / 2);
    c.strokeStyle = k.ink; c.lineWidth = 1.3; c.globalAlpha = 0.8;
    c.beginPath();
    c.rect(x - 6, y - 6, 12, 12); c.moveTo(x - 3, y); c.lineTo(x + 3, y);
    if (!open) { c.moveTo(x, y - 3); c.lineTo(x, y + 3); }
    c.stroke();
    c.globalAlpha = 1;
  }

  frame(f) {
    const {c, k} = this, chosen = f === this.focus, box = this.view.shape.boxes[f.box];
    this.outline(f, 9);
    c.fillStyle = k.faint; c.globalAlpha = 0.75; c.fill(); c.globalAlpha = 1;
    c.strokeStyle = chosen ? k.accent : k.soft; c.lineWidth = chosen ? Math.max(3, 2.4 / this.s) : this.thin; c.globalAlpha = chosen ? 1 : 0.5;
    c.stroke();
    c.globalAlpha = 1;
    if (!this.detail) return;
    this.sign(f, true);
    c.textAlign = "left"; c.fillStyle = k.ink; c.font = "600 12px " + FONT;
    c.fillText(clipped(c, box.name, f.w - 34), f.x - f.w / 2 + 25, f.y + 18);
  }

  drawLines() {
    const {c, k} = this, lit = this.focus ? this.scene.lit(this.focus) : new Set();
    c.strokeStyle = k.soft; c.lineWidth = this.thin; c.globalAlpha = 0.55;
    for (const l of this.scene.lines) {
      if (l.right < this.left || l.left > this.right || l.bottom < this.top || l.top > this.bottom || lit.has(l)) continue;
      this.line(l);
    }
    c.globalAlpha = 1; c.strokeStyle = k.accent; c.lineWidth = Math.max(2, 1.6 / this.s);
    for (const l of lit) this.line(l);
  }
  line(l) {
    const c = this.c, p = l.points;
    c.beginPath();
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
  }

  drawShapes() {
    const {c, k} = this;
    c.textAlign = "left"; c.font = "11px " + FONT; c.lineWidth = 3; c.lineJoin = "round";
    for (const l of this.scene.labels) {
      if (l.x > this.right || l.y < this.top || l.y - 12 > this.bottom || l.x + 200 < this.left) continue;
      const text = l.text.length > 28 ? l.text.slice(0, 27) + "…" : l.text;
      c.strokeStyle = k.card; c.strokeText(text, l.x, l.y);
      c.fillStyle = k.soft; c.fillText(text, l.x, l.y);
    }
  }

  ground(i) {
    if (i.value !== undefined) return this.k.k7;
    const paint = this.view.paint;
    if (paint) return paint(i.box ? nodesIn(this.view.shape, i.box) : [i.node], this.k);
    return i.box ? this.k.paper : this.k["k" + kindOf(this.side.nodes[i.node])];
  }

  item(i) {
    const {c, k} = this, n = i.node === undefined ? null : this.side.nodes[i.node], chosen = i === this.focus, kin = this.kin.has(i);
    if (i.port) {
      c.fillStyle = k.soft; c.beginPath(); c.arc(i.x, i.y + i.h / 2, 3, 0, 7); c.fill();
      return;
    }
    if (i.box && this.detail) this.behind(i);
    this.outline(i, n ? 6 : i.box ? 9 : 20);
    c.fillStyle = this.ground(i); c.fill();
    c.strokeStyle = chosen || kin ? k.accent : k.soft;
    c.lineWidth = chosen ? Math.max(3, 2.4 / this.s) : kin ? Math.max(2.5, 2 / this.s) : this.thin;
    c.globalAlpha = chosen || kin ? 1 : 0.6;
    if (kin && !chosen) c.setLineDash([6, 3]);
    c.stroke();
    c.setLineDash([]);
    c.globalAlpha = 1;
    if (!this.detail) return;
    if (n && n.bodies) { c.beginPath(); c.rect(i.x - i.w / 2 + 3, i.y + 3, i.w - 6, 34); c.globalAlpha = 0.35; c.lineWidth = 1; c.strokeStyle = k.soft; c.stroke(); c.globalAlpha = 1; }
    if (i.box) { this.sign(i, false); this.text(i, this.view.shape.boxes[i.box].name, count(this.view.shape.boxes[i.box].nodes, "node"), 10); }
    else if (n) this.text(i, n.kind || n.op, nameWithin(n.name || "", this.view.shape.boxes[this.side.home[i.node]].path || ""), 0);
    else this.text(i, i.role, this.side.values[i.value].name, 0);
  }
  // A closed box looks like a pile.
  behind(i) {
    const {c, k} = this;
    c.strokeStyle = k.soft; c.lineWidth = this.thin; c.fillStyle = k.card; c.globalAlpha = 0.6;
    this.outline({...i, x: i.x + 4, y: i.y + 4}, 9); c.fill(); c.stroke();
    c.globalAlpha = 1;
  }
  text(i, title, name, aside) {
    const {c, k} = this, x = i.x + aside, room = i.w - 12 - 2 * aside, two = name && name !== title;
    c.textAlign = "center"; c.fillStyle = k.ink; c.font = "600 13px " + FONT;
    c.fillText(clipped(c, title, room), x, i.y + (two ? 17 : 25));
    if (!two) return;
    c.globalAlpha = 0.75; c.font = "11px " + FONT;
    c.fillText(clipped(c, name, room), x, i.y + 32);
    c.globalAlpha = 1;
  }
}
