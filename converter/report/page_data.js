// What follows from the data of a report, of this one or of another that it is compared with.

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

// Makers and readers of values, where each node is shown, extents with their bounds.
function prepareSide(side) {
  side.maker = new Map(); side.readers = new Map(); side.byName = new Map(); side.home = [];
  side.nodes.forEach((n, id) => {
    for (const v of n.outputs) if (v >= 0) side.maker.set(v, id);
    for (const v of n.inputs) if (v >= 0) { if (!side.readers.has(v)) side.readers.set(v, new Set()); side.readers.get(v).add(id); }
    if (n.name && (!side.byName.has(n.name) || n.graph === 0)) side.byName.set(n.name, id);
  });
  for (const g of side.graphs) g.boxes.forEach((box, b) => { for (const item of box.items) if (item >= 0) side.home[item] = b; });
  side.bounded = new Map(Object.entries(side.bounds || {}));
}

const nameOf = (value) => value.name || "(no name)";
function titleOf(side, node) {
  const n = side.nodes[node];
  return n.name ? (n.kind || n.op) + " " + n.name : n.kind || n.op;
}
// What is left of a node's name inside of a module; dots in names divide as strokes do.
function nameWithin(name, path) {
  const rest = name.startsWith("/") ? name.slice(1) : name, end = path.length;
  const inside = end > 0 && rest.length > end + 1 && (rest[end] === "/" || rest[end] === ".") && (rest.startsWith(path) || rest.slice(0, end).replaceAll(".", "/") === path);
  return inside ? rest.slice(end + 1) : name;
}
// Extents of "float32[batch,3]" as a list; commas inside of min(a, b) divide nothing.
function extentsOf(type) {
  const inside = type.slice(type.indexOf("[") + 1, -1);
  return inside ? inside.split(/,(?! )/) : [];
}
const rangeText = (range) => range[0] === range[1] ? String(range[0]) : range[0] + ".." + range[1];
// "float32[batch=1..8,3]": what a name may be is said where it is met.
function boundedType(side, type) {
  return type.slice(0, type.indexOf("[") + 1) + extentsOf(type).map((d) => side.bounded.has(d) ? d + "=" + rangeText(side.bounded.get(d)) : d).join(",") + "]";
}
// "1..8×3×224×224"
function shapeText(side, value, bounded) {
  const extents = extentsOf(side.values[value].type).map((d) => bounded && side.bounded.has(d) ? rangeText(side.bounded.get(d)) : d);
  return extents.join("×") || "scalar";
}

// Constants that a node reads, those of its bodies with them; each value once.
function weightsOf(side, id, into = new Set()) {
  const n = side.nodes[id];
  for (const v of n.inputs) if (v >= 0 && side.values[v].constant) into.add(v);
  for (const b of n.bodies || []) for (const inner of side.graphs[b].nodes) weightsOf(side, inner, into);
  return into;
}
function weightBytes(side, ids) {
  const all = new Set();
  for (const id of ids) weightsOf(side, id, all);
  let sum = 0;
  for (const v of all) sum += side.values[v].bytes || 0;
  return sum;
}
// All nodes in a box, at any depth.
function nodesIn(graph, box) {
  const out = [], boxes = [box];
  while (boxes.length) for (const item of graph.boxes[boxes.pop()].items) if (item < 0) boxes.push(-item); else out.push(item);
  return out;
}
// The path of a box: of its module, and the section that it is.
function boxTitle(graph, box) {
  const b = graph.boxes[box];
  return b.name + (b.path && !b.path.endsWith(b.name) ? " in " + b.path : "");
}

const data = JSON.parse($("data").textContent);
const sides = {before: data.before, after: data.after};
const views = {};
for (const side of Object.values(sides)) if (side) prepareSide(side);

const sqnr = new Map();
for (const p of data.passes || []) for (const w of p.weights || []) sqnr.set(w.tensor, w.sqnr_db);
const placed = (id) => data.placement && data.placement.nodes && data.placement.nodes[id];
const timed = (id) => data.latency && data.latency.nodes[id];
const judged = new Map((data.layers || []).map((l) => [l.node, l]));
// Nodes of `after` that nodes of either side stand for.
const stepsOf = (key, ids) => key === "after" ? ids : [...new Set(ids.flatMap((id) => sides.before.nodes[id].kin || []))];
const deviceName = (d) => d === "-" ? "the runtime itself" : d;
// What a device says of a node that another one has.
const wordOf = (o, device) => o.takes ? (o.allowed ? "it could, " + device + " comes first" : "it could, but is not asked for") : o.reason || "it does not take it";

function nodeLink(key, id, text) {
  return h("button", {type: "button", class: "link", onclick: () => goTo(key, id)}, text || titleOf(sides[key], id));
}
function goTo(key, id) {
  show(key === "before" && mode !== "both" ? "before" : mode === "both" ? "both" : "after");
  views[key].choose(id);
  $("graph").scrollIntoView({block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth"});
  views[key].canvas.focus({preventScroll: true});
}
