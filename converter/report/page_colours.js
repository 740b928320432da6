// What the graphs are coloured by. Kinds of operators and devices have names and a palette of their own; amounts have
// another one, from pale to strong. Both graphs are coloured alike: an original node by the steps that it became.

const RAMP = ["t0", "t1", "t2", "t3", "t4"];
// The strongest colour from `edges[3]` on, the palest below `edges[0]`.
const onRamp = (value, edges) => RAMP[edges.filter((e) => value >= e).length];
const NONE = "k6";

function colourings() {
  const all = {kind: {text: "kind of operator", legend: KINDS.map((text, i) => ["k" + i, text])}};
  const sum = (ids, of) => { let s = 0, any = false; for (const id of ids) { const x = of(id); if (x !== undefined) { s += x; any = true; } } return any ? s : undefined; };
  const worst = (ids, of) => { const list = ids.map(of).filter((x) => x !== undefined); return list.length ? Math.min(...list) : undefined; };
  if (data.placement && data.placement.nodes) {
    const named = (id) => { const p = placed(id); return p && p.device + (p.part !== undefined ? ", part " + p.part : ""); };
    const devices = [...new Set(Object.keys(data.placement.nodes).map(named))];
    all.device = {text: "device and part", of: (key, ids) => { const found = [...new Set(stepsOf(key, ids).map(named).filter(Boolean))]; return found.length === 1 ? "k" + devices.indexOf(found[0]) % 6 : found.length ? "k7" : NONE; },
      legend: [...devices.slice(0, 14).map((d, i) => ["k" + i % 6, deviceName(d)]), ["k7", "several"], [NONE, "inside another node, or gone"]]};
  }
  if (data.latency) {
    const share = (id) => { const t = timed(id); return t && t.share; }, edges = [0.01, 0.03, 0.1, 0.25];
    all.time = {text: "time", of: (key, ids) => { const x = sum(stepsOf(key, ids), share); return x === undefined ? NONE : onRamp(x, edges); },
      legend: [["t4", "a quarter of a run or more (median)"], ["t3", "a tenth"], ["t2", "3 %"], ["t1", "1 %"], ["t0", "less"], [NONE, "not measured, or gone"]]};
  }
  if (judged.size) {
    const noise = (id) => { const j = judged.get(id); return j && (j.sqnr_db === null ? Infinity : j.sqnr_db); };
    all.error = {text: "exactness", of: (key, ids) => { const x = worst(stepsOf(key, ids), noise); return x === undefined ? NONE : onRamp(-x, [-60, -45, -30, -15]); },
      legend: [["t0", "over 60 dB"], ["t1", "over 45 dB"], ["t2", "over 30 dB"], ["t3", "over 15 dB"], ["t4", "less"], [NONE, "not compared"]]};
  }
  const whole = {};
  for (const [key, side] of Object.entries(sides)) if (side) whole[key] = weightBytes(side, side.nodes.keys()) || 1;
  all.weights = {text: "weights", of: (key, ids) => { const bytes = weightBytes(sides[key], ids); return bytes ? onRamp(bytes / whole[key], [0.003, 0.0125, 0.05, 0.125]) : NONE; },
    legend: [["t4", "an eighth of all or more"], ["t3", "a twentieth"], ["t2", "an eightieth"], ["t1", "0.3 %"], ["t0", "less"], [NONE, "none"]]};
  return all;
}

const colouring = {all: {}, chosen: "kind"};
function addColouring(key, entry) {
  if (!colouring.all[key]) $("colour").append(h("option", {value: key}, entry.text));
  colouring.all[key] = entry;
}
function applyColours() {
  colouring.chosen = $("colour").value;
  const {of, legend} = colouring.all[colouring.chosen];
  for (const [key, view] of Object.entries(views)) {
    view.paint = of ? (ids, k) => k[of(key, ids)] : null;
    view.draw();
  }
  $("legend").replaceChildren(...legend.map(([c, text]) => { const i = h("i"); i.style.background = "var(--" + c + ")"; return h("span", {}, i, text); }),
    h("span", {}, "double frame: a fused node; open it to see inside"), h("span", {}, "dot: the line leaves its module"));
}
function paints() {
  for (const [key, entry] of Object.entries(colourings())) addColouring(key, entry);
  $("colour").addEventListener("change", applyColours);
  applyColours();
}
