// A graph as it is drawn: boxes that are open with what is in them, others as one item. The converter laid out each box
// with all of its inner ones closed; here rows grow to the height of what is open in them and neighbours move aside, so
// that the picture stays the one that the user knows.

const NODE_HEIGHT = 40, PORT_HEIGHT = 8, BEND_HEIGHT = 4, ROW_GAP = 36, HEAD_HEIGHT = 28, FRAME_PAD = 14;
const MOST_SHOWN = 48;  // items that a graph shows at first

// The boxes that are open at first: level by level from outside, as long as there is not too much to see.
function openAtFirst(graph) {
  const open = new Set([0]);
  let level = [0], shown = graph.boxes[0].items.length;
  while (level.length) {
    const next = level.flatMap((b) => graph.boxes[b].items.filter((i) => i < 0).map((i) => -i)), more = (b) => graph.boxes[b].items.length - 1;
    const all = next.reduce((sum, b) => sum + more(b), 0) + shown <= MOST_SHOWN;
    // Where a whole level is too much, and there is little to see so far, its largest boxes.
    level = all ? next : next.sort((a, b) => graph.boxes[b].nodes - graph.boxes[a].nodes).slice(0, shown < 12 ? 1 : 0).filter((b) => shown + more(b) <= MOST_SHOWN);
    for (const b of level) { open.add(b); shown += more(b); }
  }
  return open;
}

class Scene {
  constructor(side, graph, open) {
    this.side = side; this.graph = graph; this.open = open;
    this.items = [];   // that have no others in them: nodes, closed boxes, inputs and outputs, ports
    this.frames = [];  // open boxes, outer ones first
    this.lines = [];
    const whole = this.place(0);
    this.width = whole.w; this.height = whole.h;
    this.flatten(whole, 0, 0, null);
    this.byNode = new Map(this.items.filter((i) => i.node !== undefined).map((i) => [i.node, i]));
    this.byBox = new Map([...this.frames, ...this.items].filter((i) => i.box).map((i) => [i.box, i]));
    this.labels = this.lines.length < 4000 ? this.shapes() : [];
  }

  // What stands in a box, in its own coordinates.
  entries(b) {
    const box = this.graph.boxes[b], p = box.places, all = [];
    const port = (v, role) => b === 0 ? {value: v, role, h: NODE_HEIGHT} : {value: v, port: role, h: PORT_HEIGHT};
    for (const v of b === 0 ? this.graph.inputs : box.ins) all.push(port(v, "input"));
    for (const item of box.items) {
      if (item >= 0) all.push({node: item, h: NODE_HEIGHT});
      else if (!this.open.has(-item)) all.push({box: -item, h: NODE_HEIGHT});
      else all.push({box: -item, inner: this.place(-item)});
    }
    for (const v of b === 0 ? this.graph.outputs : box.outs) all.push(port(v, "output"));
    all.forEach((e, i) => {
      e.x = p[3 * i]; e.row = p[3 * i + 1]; e.w = p[3 * i + 2]; e.aside = 0;
      if (!e.inner) return;
      e.h = e.inner.h;
      e.aside = Math.max(0, e.inner.w - e.w) / 2;
      e.w = Math.max(e.inner.w, e.w);
    });
    return all;
  }

  place(b) {
    const box = this.graph.boxes[b], all = this.entries(b), heights = [], tops = [];
    for (const e of all) heights[e.row] = Math.max(heights[e.row] || BEND_HEIGHT, e.h);
    for (let r = 0, y = b ? HEAD_HEIGHT : 0; r < heights.length; r++) { heights[r] = heights[r] || BEND_HEIGHT; tops[r] = y; y += heights[r] + ROW_GAP; }
    const grown = all.filter((e) => e.aside > 0);
    const moved = (row, x) => { let to = x; for (const e of grown) if (e.row === row) to += Math.sign(x - e.x) * e.aside; return to; };
    const lines = box.lines.map((l) => {
      const from = all[l[0]], to = all[l[1]], values = Array.isArray(l[2]) ? l[2] : [l[2]];
      const line = {from, to, values, cut: l[3] === 1, points: []};
      if (line.cut) return line;
      const bends = new Map();
      for (let k = 4; k + 1 < l.length; k += 2) bends.set(l[k + 1], l[k]);
      let x = from.x;
      for (let r = from.row + 1; r < to.row; r++) {  // a bend that is not listed lies straight under the one above
        if (bends.has(r)) x = bends.get(r);
        const at = moved(r, x);
        line.points.push(at, tops[r], at, tops[r] + heights[r]);
      }
      line.bottom = tops[from.row] + heights[from.row];
      return line;
    });
    let left = Infinity, right = -Infinity;
    const middles = all.map((e) => moved(e.row, e.x));
    for (const [i, e] of all.entries()) {
      e.x = middles[i];
      e.y = tops[e.row];
      left = Math.min(left, e.x - e.w / 2); right = Math.max(right, e.x + e.w / 2);
    }
    for (const l of lines) for (let k = 0; k < l.points.length; k += 2) { left = Math.min(left, l.points[k] - 5); right = Math.max(right, l.points[k] + 5); }
    if (!all.length) left = right = 0;
    const pad = b ? FRAME_PAD : 0, dx = pad - left;
    for (const e of all) e.x += dx;
    for (const l of lines) for (let k = 0; k < l.points.length; k += 2) l.points[k] += dx;
    const last = heights.length - 1;
    return {b, all, lines, w: right - left + 2 * pad, h: last < 0 ? 0 : tops[last] + heights[last] + pad};
  }

  flatten(placed, x, y, owner) {
    for (const e of placed.all) {
      e.left = x + e.x - e.w / 2; e.x += x; e.y += y; e.owner = owner;
      if (e.inner) {
        this.frames.push(e);
        this.flatten(e.inner, e.x - e.inner.w / 2, e.y, e);
      } else {
        this.items.push(e);
      }
    }
    for (const l of placed.lines) {
      const p = [l.from.x, l.from.y + l.from.h];
      if (!l.cut && y + l.bottom > p[1] + 1) p.push(l.from.x, y + l.bottom);
      for (let k = 0; k < l.points.length; k += 2) p.push(l.points[k] + x, l.points[k + 1] + y);
      p.push(l.to.x, l.to.y);
      l.points = p;
      l.left = Math.min(...p.filter((_, k) => k % 2 === 0)); l.right = Math.max(...p.filter((_, k) => k % 2 === 0));
      l.top = Math.min(p[1], p[p.length - 1]); l.bottom = Math.max(p[1], p[p.length - 1]);
      this.lines.push(l);
    }
  }

  // Shapes beside the lines: once where a line begins, or, where an item makes several values, where each ends. What goes
  // over a border is said outside of it.
  shapes() {
    const out = [], leaving = new Map();
    for (const l of this.lines.filter((l) => !l.to.port && !l.from.port)) { if (!leaving.has(l.from)) leaving.set(l.from, []); leaving.get(l.from).push(l); }
    for (const [from, lines] of leaving) {
      const text = (l) => shapeText(this.side, l.values[0], from.role === "input") + (l.values.length > 1 ? " +" + (l.values.length - 1) : "");
      const alike = lines.every((l) => String(l.values) === String(lines[0].values));
      for (const l of alike ? lines.slice(0, 1) : lines) {
        const n = l.points.length;
        out.push(alike || l.cut ? {text: text(l), x: from.x + 6, y: from.y + from.h + 14} : {text: text(l), x: l.points[n - 2] + 6, y: l.points[n - 1] - 7});
      }
    }
    return out;
  }

  // What shows a node: itself, or the outermost closed box around it.
  shown(node) {
    let seen = this.byNode.get(node);
    for (let b = this.side.home[node]; !seen && b; b = this.graph.boxes[b].parent) seen = this.byBox.get(b);
    return seen;
  }
  reads(item) { return item.node !== undefined ? this.side.nodes[item.node].inputs : item.box ? this.graph.boxes[item.box].ins : item.role === "output" ? [item.value] : []; }
  makes(item) { return item.node !== undefined ? this.side.nodes[item.node].outputs : item.box ? this.graph.boxes[item.box].outs : item.role === "input" ? [item.value] : []; }
  // Items above and below, along the values, over borders of boxes.
  above(item) {
    const ends = this.items.filter((i) => i.role === "input"), out = new Set();
    for (const v of this.reads(item)) { const maker = this.side.maker.get(v); out.add(maker !== undefined ? this.shown(maker) : ends.find((i) => i.value === v)); }
    return [...out].filter((i) => i && i !== item);
  }
  below(item) {
    const ends = this.items.filter((i) => i.role === "output"), out = new Set();
    for (const v of this.makes(item)) { for (const r of this.side.readers.get(v) || []) out.add(this.shown(r)); for (const i of ends) if (i.value === v) out.add(i); }
    return [...out].filter((i) => i && i !== item);
  }
  // Lines that carry what an item reads or makes, over all borders.
  lit(item) {
    const around = new Set(), reads = new Set(this.reads(item)), makes = new Set(this.makes(item));
    for (let at = item; at; at = at.owner) around.add(at);
    return new Set(this.lines.filter((l) => (around.has(l.to) && l.values.some((v) => reads.has(v))) || (around.has(l.from) && l.values.some((v) => makes.has(v)))));
  }
}
