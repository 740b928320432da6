const data = JSON.parse(document.getElementById("data").textContent);
const nameOf = (value) => value.name || "(no name)";
const $ = (id) => document.getElementById(id);
const sides = {before: data.before, after: data.after};
const views = {};

// What a device says of a node that another one has.
const wordOf = (o, device) => o.takes ? (o.allowed ? "it could, " + device + " comes first" : "it could, but is not asked for") : o.reason || "it does not take it";

function bytesText(n) {
  if (n === undefined || n === null) return "open";
  if (n < 1024) return n + " B";
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let u = -1;
  do { n /= 1024; u++; } while (n >= 1023.95 && u < units.length - 1);
  return n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0) + " " + units[u];
}
const count = (n, one, many) => n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s");
const percent = (x) => (100 * x).toFixed(x < 0.1 ? 1 : 0) + " %";
const usText = (us) => us >= 10000 ? (us / 1000).toFixed(1) + " ms" : us >= 1000 ? (us / 1000).toFixed(2) + " ms" : us.toFixed(us < 10 ? 2 : 1) + " µs";
const number3 = (x) => x === null || x === undefined ? "no number" : x === 0 ? "0" : Math.abs(x) < 1e-3 || Math.abs(x) >= 1e5 ? x.toExponential(1) : x.toPrecision(3);
const median = (list) => list.length ? [...list].sort((a, b) => a - b)[list.length >> 1] : 0;

// ---- what follows from the data ------------------------------------------------------------------------------------
for (const side of Object.values(sides)) {
  if (!side) continue;
  side.maker = new Map(); side.readers = new Map();
  side.nodes.forEach((n, id) => {
    for (const v of n.outputs) if (v >= 0) side.maker.set(v, id);
    for (const v of n.inputs) if (v >= 0) { if (!side.readers.has(v)) side.readers.set(v, new Set()); side.readers.get(v).add(id); }
  });
  side.byName = new Map();
  side.nodes.forEach((n, id) => { if (n.name && (!side.byName.has(n.name) || n.graph === 0)) side.byName.set(n.name, id); });
}
// Constants that a node reads, those of its bodies with them; each value once.
function weightsOf(side, id, into = new Set()) {
  const n = side.nodes[id];
  for (const v of n.inputs) if (v >= 0 && side.values[v].constant) into.add(v);
  for (const b of n.bodies || []) for (const inner of side.graphs[b].nodes) weightsOf(side, inner, into);
  return into;
}
const weightBytes = (side, ids) => {
  const all = new Set();
  for (const id of ids) weightsOf(side, id, all);
  let sum = 0;
  for (const v of all) sum += side.values[v].bytes || 0;
  return sum;
};
const sqnr = new Map();
for (const p of data.passes || []) for (const w of p.weights || []) sqnr.set(w.tensor, w.sqnr_db);
const placed = (id) => data.placement && data.placement.nodes && data.placement.nodes[id];
const timed = (id) => data.latency && data.latency.nodes[id];
const judged = new Map((data.layers || []).map((l) => [l.node, l]));

function nodeLink(key, id, text) {
  return h("button", {type: "button", class: "link", onclick: () => goTo(key, id)}, text || titleOf(sides[key], id));
}
function goTo(key, id) {
  show(key === "before" && mode !== "both" ? "before" : mode === "both" ? "both" : "after");
  views[key].choose(id);
  $("graph").scrollIntoView({block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth"});
  views[key].canvas.focus({preventScroll: true});
}
// Long lists show their beginning; a button brings the rest.
function cut(host, items, most, make) {
  host.append(...items.slice(0, most).map(make));
  if (items.length <= most) return null;
  const more = h("button", {type: "button", class: "link more", onclick: () => { host.append(...items.slice(most).map(make)); more.remove(); }}, "show all " + items.length.toLocaleString("en"));
  return more;
}
function table(head, rows, most = 40) {
  const body = h("tbody"), t = h("table", {class: head.length > 4 ? "wide" : null}, h("thead", {}, h("tr", {}, head.map((c) => h("th", {scope: "col", class: c.n ? "n" : null}, c.text ?? c)))), body);
  const more = cut(body, rows, most, (cells) => h("tr", {}, cells.map((c, i) => h("td", {class: (head[i].n ? "n " : "") + (head[i].class || "")}, c))));
  return h("div", {class: "scroll"}, t, more);
}
function bar(share, colour) {
  const fill = h("i");
  fill.style.width = Math.max(share > 0 ? 0.5 : 0, Math.min(100, 100 * share)) + "%";
  if (colour) fill.style.background = "var(--" + colour + ")";
  return h("div", {class: "track", "aria-hidden": "true"}, fill);
}
function facts(pairs) {
  return h("dl", {class: "facts"}, pairs.filter((p) => p[1] !== undefined && p[1] !== "" && p[1] !== null).map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v))));
}

// ---- summary -------------------------------------------------------------------------------------------------------
function summary() {
  const a = data.after, steps = a ? a.graphs[0].nodes.length : data.nodes, from = data.provenance || {};
  const name = data.model.split("/").pop();
  $("title").textContent = name;
  const ran = (data.passes || []).filter((p) => p.changes > 0);
  $("lede").textContent = (data.nodes_imported !== undefined ? count(data.nodes_imported, "node") + " became " + count(steps, "step") + (ran.length ? " in " + count(ran.length, "pass", "passes") : "") : count(steps, "step")) +
    (data.latency ? "; a run takes " + usText(data.latency.median_us) : "") + ".";
  const warnings = (data.diagnostics || []).map((d) => h("div", {class: "warning"}, h("b", {}, (d.severity === "error" ? "Error " : "Warning ") + d.code), " " + (d.node ? (d.op || "node") + " \"" + d.node + "\": " : "") + d.what, ...(d.notes || []).map((n) => h("p", {}, n)), d.help ? h("p", {}, "What to do: " + d.help) : ""));
  if ((data.open_dimensions || []).length) warnings.push(h("div", {class: "warning"}, h("b", {}, "Open sizes"), " A session needs a bound for " + data.open_dimensions.join(", ") + "; --shape NAME=1..8,... puts it into the file."));
  if (data.layers_error) warnings.push(h("div", {class: "warning"}, h("b", {}, "Layers not compared"), " " + data.layers_error));
  if (data.placement && data.placement.error) warnings.push(h("div", {class: "warning"}, h("b", {}, "Not placed"), " " + data.placement.error));
  $("warnings").append(...(warnings.length ? warnings : [h("p", {class: "fine"}, "✓ No warnings.")]));
  const before = data.before && weightBytes(data.before, data.before.nodes.keys()), after = a && weightBytes(a, a.nodes.keys());
  const card = (t, v, sub) => h("dl", {class: "card"}, h("dt", {}, t), h("dd", {}, v, sub ? h("div", {class: "sub"}, sub) : ""));
  const cards = [];
  cards.push(card("File", bytesText(data.file_bytes), data.source_bytes ? "from " + bytesText(data.source_bytes) : ""));
  cards.push(card("Weights", bytesText(data.constant_bytes !== undefined ? data.constant_bytes : after), before ? "from " + bytesText(before) : ""));
  cards.push(card("Steps", steps.toLocaleString("en"), data.nodes_imported !== undefined ? "from " + count(data.nodes_imported, "node") : ""));
  const m = data.session || {};
  if (m.arena_bytes !== undefined) cards.push(card("Memory of a session", bytesText(m.arena_bytes), "no plan is below " + bytesText(m.arena_lower_bound_bytes) + (m.packed_bytes ? "; and " + bytesText(m.packed_bytes) + " of packed weights" : "")));
  else if (data.planned) cards.push(card("Arena", bytesText(data.arena_bytes), "no plan is below " + bytesText(data.arena_lower_bound_bytes)));
  if (data.latency) cards.push(card("Time of a run", usText(data.latency.median_us), "median of " + count(data.latency.runs, "run") + " on " + data.latency.device));
  const worst = (data.layers || [])[0];
  const check = (data.passes || []).filter((p) => p.max_difference !== undefined);
  if (worst) cards.push(card("Least exact layer", worst.sqnr_db === null ? "exact" : worst.sqnr_db.toFixed(1) + " dB", worst.value));
  else if (check.length) cards.push(card("Largest difference", number3(Math.max(...check.map((p) => p.max_difference))), "of the output, over all passes"));
  if (data.transposes) cards.push(card("Transposes left", String(data.transposes)));
  $("cards").append(...cards);
  const ops = new Map();
  if (a) for (const id of a.graphs[0].nodes) { const k = a.nodes[id].kind || a.nodes[id].op; ops.set(k, (ops.get(k) || 0) + 1); }
  const listed = [...ops].sort((x, y) => y[1] - x[1]), top = listed.length ? listed[0][1] : 1;
  $("ops").append(table(["operator", {text: "steps", n: true}, {text: "", class: "barcell"}], listed.map(([k, n]) => [k, String(n), bar(n / top)]), 12));
  const ios = (list, what) => (list || []).map((v) => [what, v.name, h("code", {}, v.type)]);
  const main = a && a.graphs[0];
  $("io").append(table(["", "name", "type"], [...ios(main ? main.inputs.map((v) => a.values[v]) : data.inputs, "in"), ...ios(main ? main.outputs.map((v) => a.values[v]) : data.outputs, "out")], 12));
  const row = (k, v) => v && v !== "" && v.length !== 0 ? [h("div", {}, h("dt", {}, k), h("dd", {}, v))] : [];
  $("origin").append(...row("Model", data.model), ...row("SHA-256", from.source_sha256 && h("code", {}, from.source_sha256)), ...row("Written by", from.producer), ...row("Opset", (from.opset || []).join(", ")),
    ...row("Converter", from.converter), ...row("Options", (from.options || []).length ? from.options.join(" ") : "none"), ...row("Took", data.seconds !== undefined ? data.seconds.toFixed(2) + " s" : ""));
  $("foot").textContent = "Written by " + (from.converter || "vireo") + ". This page holds everything it shows and asks nothing of any network; " + bytesText($("data").textContent.length) + " of data.";
}

// ---- graph ---------------------------------------------------------------------------------------------------------
let mode = "";
function show(which) {
  if (!sides.before) which = "after";
  if (mode === which) return;
  mode = which;
  for (const b of document.querySelectorAll("[data-show]")) b.setAttribute("aria-pressed", String(b.dataset.show === which));
  $("panes").className = "panes" + (which === "both" ? " both" : "");
  for (const key of ["before", "after"]) if (views[key]) views[key].host.hidden = which !== "both" && which !== key;
  for (const v of Object.values(views)) if (!v.host.hidden) { v.resize(); v.draw(); }
}

function valueLine(key, v, side) {
  const value = side.values[v], maker = side.maker.get(v);
  return h("li", {}, value.name || "(no name)", maker !== undefined ? [" from ", nodeLink(key, maker, side.nodes[maker].kind || side.nodes[maker].op)] : value.constant ? " (weights, " + bytesText(value.bytes) + ")" : "",
    h("div", {class: "type"}, value.type + (value.contents ? " = " + value.contents : value.constant || value.bytes === undefined ? "" : ", " + bytesText(value.bytes) + (value.open ? " with open sizes as 1" : ""))),
    sqnr.has(value.name) ? h("div", {class: "type"}, "quantized, signal to noise " + (sqnr.get(value.name) === null ? "exact" : sqnr.get(value.name).toFixed(1) + " dB")) : "");
}

function details(key, id, terminal) {
  const side = sides[key], box = $("details");
  const list = (title, items, make, most = 12) => { if (!items.length) return []; const ul = h("ul"); return [h("h4", {}, title), ul, cut(ul, items, most, make) || ""]; };
  if (id === null) {
    const value = side.values[terminal.value], near = terminal.role === "input" ? [...(side.readers.get(terminal.value) || [])] : [side.maker.get(terminal.value)].filter((x) => x !== undefined);
    box.replaceChildren(h("h3", {}, nameOf(value)), h("p", {class: "quiet"}, terminal.role + " of the graph"), facts([["Type", h("code", {}, value.type)], ["Bytes", value.bytes === undefined ? "" : bytesText(value.bytes) + (value.open ? " with open sizes as 1" : "")]]),
      ...list(terminal.role === "input" ? "Read by" : "Made by", near, (n) => h("li", {}, nodeLink(key, n))));
    return;
  }
  const n = side.nodes[id], w = [...weightsOf(side, id)], p = key === "after" && placed(id), t = key === "after" && timed(id), j = key === "after" && judged.get(id);
  const readers = [...new Set(n.outputs.flatMap((v) => [...(side.readers.get(v) || [])]))];
  const kin = n.kin || [], body = n.bodies || [];
  const parts = [h("h3", {}, n.kind || n.op), h("p", {class: "quiet"}, n.name || "(no name)", n.op === "Composite" ? " · several operators in one" : "")];
  if (body.length) parts.push(h("p", {}, body.map((b) => [h("button", {type: "button", class: "link", onclick: () => views[key].enter(b)}, "Open " + (side.graphs[b].role === "body" ? "what it is made of" : "branch \"" + side.graphs[b].role + "\"")), " (" + side.graphs[b].nodes.length + ") "])));
  if (key === "after" && data.before) {
    parts.push(...list(kin.length ? "Made from" : "", kin, (k) => h("li", {}, nodeLink("before", k))));
    if (!kin.length) parts.push(h("h4", {}, "Made from"), h("p", {}, "Nothing of the original: it was added."));
    if ((n.passes || []).length) parts.push(h("h4", {}, "By the passes"), h("p", {}, n.passes.map((x) => h("span", {class: "tag"}, x))));
  } else if (key === "before") {
    if (kin.length) parts.push(...list("Became", kin, (k) => h("li", {}, nodeLink("after", k))), (n.passes || []).length ? h("p", {}, n.passes.map((x) => h("span", {class: "tag"}, x))) : "", n.fate ? h("p", {class: "quiet"}, n.fate + ".") : "");
    else parts.push(h("h4", {}, "Became"), h("p", {}, n.fate ? "Gone. " + n.fate + "." : "Gone."));
  }
  const why = [];
  for (const pass of data.passes || []) for (const d of pass.declined || []) if (d.node === n.name && n.name) why.push([pass.name, d.reason]);
  parts.push(...list("Left alone by", why, ([pass, reason]) => h("li", {}, h("span", {class: "tag"}, pass), " " + reason)));
  if (p) parts.push(h("h4", {}, "Runs on"), facts([["Device", p.device === "-" ? "the runtime itself" : p.device], ["Kernel", p.kernel && h("code", {}, p.kernel)], ["Why", p.reason], ["Part", p.part], ["If lost", p.second_device], ["From elsewhere", p.bytes_crossing ? bytesText(p.bytes_crossing) : ""]]),
    ...(p.others || []).map((o) => h("p", {class: "quiet"}, h("b", {}, o.device + ": "), wordOf(o, p.device))));
  if (t) parts.push(h("h4", {}, "Time"), facts([["Measured", usText(t.mean_us)], ["Share", percent(t.share)], ["At least", t.least_us ? usText(Math.min(t.mean_us, t.least_us)) + " by the machine's rates" : ""]]));
  if (j) parts.push(h("h4", {}, "Exactness"), facts([["Largest difference", number3(j.max_abs)], ["Signal to noise", j.sqnr_db === null ? "exact" : j.sqnr_db.toFixed(1) + " dB"]]));
  const attributes = Object.entries(n.attributes || {});
  if (attributes.length) parts.push(h("h4", {}, "Attributes"), facts(attributes));
  if (w.length) parts.push(h("h4", {}, "Weights"), h("p", {}, bytesText(weightBytes(side, [id])) + " in " + count(w.length, "tensor")));
  parts.push(...list("Reads", n.inputs.filter((v) => v >= 0), (v) => valueLine(key, v, side)));
  const inner = w.filter((v) => !n.inputs.includes(v));
  parts.push(...list("Holds", inner, (v) => valueLine(key, v, side)));
  parts.push(...list("Makes", n.outputs.filter((v) => v >= 0), (v) => valueLine(key, v, side)));
  parts.push(...list("Read by", readers, (r) => h("li", {}, nodeLink(key, r))));
  box.replaceChildren(...parts.flat());
  box.scrollTop = 0;
}

function chosen(key, id, terminal) {
  details(key, id, terminal);
  const other = key === "before" ? "after" : "before";
  views[key].kin = new Set();
  if (views[other]) views[other].showKin(id === null ? [] : sides[key].nodes[id].kin || []);
  $("find").value = "";
}

function paints() {
  const select = $("colour"), legend = $("legend"), all = {kind: null};
  const swatches = (pairs) => legend.replaceChildren(...pairs.map(([c, text]) => { const i = h("i"); i.style.background = "var(--" + c + ")"; return h("span", {}, i, text); }), h("span", {}, "double frame: has a body to open"));
  if (data.placement && data.placement.nodes) {
    const devices = [...new Set(Object.values(data.placement.nodes).map((p) => p.device + (p.part !== undefined ? ", part " + p.part : "")))];
    all.device = {text: "device and part", paint: (id, k) => { const p = placed(id); return k["k" + (p ? devices.indexOf(p.device + (p.part !== undefined ? ", part " + p.part : "")) % 7 : 6)]; }, legend: () => devices.slice(0, 14).map((d, i) => ["k" + i % 7, d === "-" ? "the runtime itself" : d]).concat([["k6", "inside another node"]])};
  }
  const heat = (share, k) => k["k" + (share > 0.5 ? 3 : share > 0.2 ? 1 : share > 0.05 ? 5 : share >= 0 ? 2 : 6)];
  if (data.latency) {
    const top = Math.max(...Object.values(data.latency.nodes).map((t) => t.mean_us));
    all.time = {text: "time", paint: (id, k) => heat(timed(id) ? timed(id).mean_us / top : -1, k), legend: () => [["k3", "more than half of the slowest"], ["k1", "a fifth"], ["k5", "a twentieth"], ["k2", "less"], ["k6", "not measured"]]};
  }
  if (judged.size) all.error = {text: "exactness", paint: (id, k) => { const j = judged.get(id); return k["k" + (!j ? 6 : j.sqnr_db === null || j.sqnr_db > 60 ? 2 : j.sqnr_db > 30 ? 5 : j.sqnr_db > 15 ? 1 : 3)]; }, legend: () => [["k2", "over 60 dB"], ["k5", "over 30 dB"], ["k1", "over 15 dB"], ["k3", "less"], ["k6", "not compared"]]};
  if (data.after) all.weights = {text: "weights", paint: (id, k) => heat(weightBytes(data.after, [id]) / (data.constant_bytes || 1) * 4 || -1, k), legend: () => [["k3", "more than an eighth of all"], ["k1", "a twentieth"], ["k5", "an eightieth"], ["k2", "less"], ["k6", "none"]]};
  for (const [key, p] of Object.entries(all)) if (p) select.append(h("option", {value: key}, p.text));
  const apply = () => {
    const p = all[select.value];
    if (views.after) { views.after.paint = p ? p.paint : null; views.after.draw(); }
    swatches(p ? p.legend() : KINDS.map((text, i) => ["k" + i, text]));
  };
  select.addEventListener("change", apply);
  apply();
}

function search() {
  const input = $("find"), list = $("found");
  let at = -1, hits = [];
  const index = [];
  for (const [key, side] of Object.entries(sides)) {
    if (!side) continue;
    side.nodes.forEach((n, id) => index.push({key, id, text: ((n.kind || n.op) + " " + n.op + " " + (n.name || "")).toLowerCase(), label: titleOf(side, id), sub: key}));
    side.values.forEach((v, i) => {
      const id = side.maker.has(i) ? side.maker.get(i) : [...(side.readers.get(i) || [])][0];
      if (id !== undefined) index.push({key, id, text: (v.name + " " + v.type).toLowerCase(), label: v.name, sub: key + " · tensor " + v.type});
    });
  }
  const mark = () => { [...list.children].forEach((li, i) => li.setAttribute("aria-selected", String(i === at))); if (list.children[at]) { list.children[at].scrollIntoView({block: "nearest"}); input.setAttribute("aria-activedescendant", "hit" + at); } };
  const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); at = -1; };
  const take = (hit) => { close(); const value = input.value; goTo(hit.key, hit.id); input.value = value; };
  const run = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits = words.length ? index.filter((e) => words.every((w) => e.text.includes(w))) : [];
    // What is shown comes first, then nodes before tensors.
    const rank = (e) => (e.key !== (mode === "both" ? "after" : mode) ? 2 : 0) + (e.sub.length > 6 ? 1 : 0);
    hits = hits.sort((a, b) => rank(a) - rank(b));
    const rest = hits.length - 40;
    hits = hits.slice(0, 40);
    list.replaceChildren(...hits.map((e, i) => h("li", {role: "option", id: "hit" + i, onmousedown: (ev) => { ev.preventDefault(); take(e); }}, e.label || "(no name)", h("small", {}, e.sub))), ...(rest > 0 ? [h("li", {class: "quiet"}, "and " + rest.toLocaleString("en") + " more")] : words.length && !hits.length ? [h("li", {class: "quiet"}, "Nothing has this in its name, operator or type.")] : []));
    list.hidden = !words.length; at = hits.length ? 0 : -1;
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark();
  };
  input.addEventListener("input", run);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (e) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") { at = hits.length ? (at + (e.key === "ArrowDown" ? 1 : hits.length - 1)) % hits.length : -1; mark(); e.preventDefault(); }
    else if (e.key === "Enter" && hits[at]) take(hits[at]);
    else if (e.key === "Escape") close();
  });
  document.addEventListener("keydown", (e) => { if (e.key === "/" && !/input|select|textarea/i.test(document.activeElement.tagName)) { e.preventDefault(); input.focus(); } });
}

function graph() {
  if (!sides.after) return $("graph").remove();
  for (const key of ["before", "after"]) {
    if (!sides[key]) continue;
    const host = h("div", {class: "pane", id: "pane-" + key});
    $("panes").append(host);
    views[key] = new GraphView(host, sides[key], key, chosen);
  }
  if (!sides.before) document.querySelector(".switch").remove();
  for (const b of document.querySelectorAll("[data-show]")) b.addEventListener("click", () => show(b.dataset.show));
  $("details").append(h("p", {class: "quiet"}, "Click a node to see its attributes, shapes and weights, which pass made it and from what."));
  show(sides.before && window.innerWidth > 900 ? "both" : "after");
  paints();
  search();
}

// ---- lists ---------------------------------------------------------------------------------------------------------
function nameItem(name) {
  for (const key of ["after", "before"]) if (sides[key] && sides[key].byName.has(name)) return nodeLink(key, sides[key].byName.get(name), name);
  return document.createTextNode(name || "(no name)");
}
function passes() {
  const list = data.passes || [];
  if (!list.length) { $("passes").remove(); return; }
  const made = new Map();
  if (data.after) data.after.nodes.forEach((n, id) => { if (n.graph === 0 || data.after.nodes[data.after.graphs[n.graph].owner].op !== "Composite") for (const p of n.passes || []) { if (!made.has(p)) made.set(p, []); made.get(p).push(id); } });
  const gone = new Map();
  if (data.before) data.before.nodes.forEach((n, id) => { if (n.fate) { const p = n.fate.split(":")[0]; if (!gone.has(p)) gone.set(p, []); gone.get(p).push(id); } });
  const one = (p) => {
    const declined = (p.declined || []).length, m = made.get(p.name) || [], g = gone.get(p.name) || [];
    const inside = h("div");
    const fill = () => {
      if (inside.childNodes.length) return;
      const names = (title, ids, key) => { if (!ids.length) return; const ul = h("ul", {class: "names"}); inside.append(h("h4", {}, title), ul, cut(ul, ids, 30, (id) => h("li", {}, nodeLink(key, id))) || ""); };
      names("Steps that it made or changed", m, "after");
      names("Original nodes that it took away", g, "before");
      const groups = new Map();
      for (const d of p.declined || []) { if (!groups.has(d.reason)) groups.set(d.reason, []); groups.get(d.reason).push(d.node); }
      if (groups.size) inside.append(h("h4", {}, "Left alone, and why"));
      for (const [reason, nodes] of [...groups].sort((a, b) => b[1].length - a[1].length)) {
        const ul = h("ul", {class: "names"});
        inside.append(h("p", {}, h("b", {}, nodes.length + " × "), reason), ul, cut(ul, nodes, 12, (name) => h("li", {}, nameItem(name))) || "");
      }
      if (!inside.childNodes.length) inside.append(h("p", {class: "quiet"}, p.changes ? "What it made was taken up by later passes." : "It found nothing of its kind."));
    };
    const row = h("span", {class: "passrow"}, h("span", {class: p.changes ? "" : "zero"}, p.name.replace(/_/g, " ")), h("span", {class: p.changes ? "" : "zero"}, p.changes ? count(p.changes, "change") : "no change"),
      h("span", {class: "zero"}, declined ? declined.toLocaleString("en") + " left alone" : ""), h("span", {class: "zero"}, p.max_difference === undefined ? "" : p.max_difference === 0 ? "same output" : "output differs by " + number3(p.max_difference) + " of its largest value"));
    return h("details", {ontoggle: fill}, h("summary", {}, row), inside);
  };
  const idle = list.filter((p) => !p.changes && !(p.declined || []).length), busy = list.filter((p) => !idle.includes(p));
  $("passlist").append(...busy.map(one));
  if (idle.length) $("passlist").append(h("details", {}, h("summary", {}, h("span", {class: "quiet"}, (busy.length ? "and " : "") + count(idle.length, "pass", "passes") + " that found nothing of their kind")), h("div", {}, idle.map((p) => h("span", {class: "tag"}, p.name.replace(/_/g, " "))))));
}

function weights() {
  const a = data.after;
  if (!a) return $("weights").remove();
  const rows = [];
  // What an original node held counts for one step: of those made from it, the one that holds most.
  const heirs = new Map();
  if (data.before) for (const id of a.graphs[0].nodes) {
    const bytes = weightBytes(a, [id]);
    for (const k of a.nodes[id].kin || []) if (!heirs.has(k) || heirs.get(k)[1] < bytes) heirs.set(k, [id, bytes]);
  }
  for (const id of a.graphs[0].nodes) {
    const values = [...weightsOf(a, id)], bytes = values.reduce((s, v) => s + (a.values[v].bytes || 0), 0);
    if (!bytes) continue;
    const main = values.sort((x, y) => (a.values[y].bytes || 0) - (a.values[x].bytes || 0))[0];
    const before = data.before ? weightBytes(data.before, (a.nodes[id].kin || []).filter((k) => heirs.get(k)[0] === id)) : 0;
    const errors = values.map((v) => sqnr.get(a.values[v].name)).filter((x) => x !== undefined && x !== null);
    rows.push({id, bytes, before, type: a.values[main].type, sqnr: errors.length ? Math.min(...errors) : null});
  }
  if (!rows.length) return $("weights").remove();
  rows.sort((x, y) => y.bytes - x.bytes);
  const top = Math.max(...rows.map((r) => Math.max(r.bytes, r.before))), total = rows.reduce((s, r) => s + r.bytes, 0), quantized = rows.some((r) => r.sqnr !== null);
  let sum = 0, half = 0;
  for (const r of rows) { if (sum < total / 2) half++; sum += r.bytes; }
  $("weights-text").textContent = count(rows.length, "step") + " of " + a.graphs[0].nodes.length + " hold weights; the " + (half === 1 ? "largest holds" : "largest " + half + " hold") + " half of them. Blue: in the file" + (data.before ? "; grey: what its original nodes held" : "") + ".";
  const two = (r) => { const o = h("i", {class: "old"}), n = h("i"); o.style.width = 100 * r.before / top + "%"; n.style.width = 100 * r.bytes / top + "%"; return h("div", {class: "track two", "aria-hidden": "true"}, n, data.before ? o : ""); };
  $("weights-list").append(table(["step", {text: "in the file", n: true}, {text: "before", n: true}, {text: "", class: "barcell"}, "largest tensor", ...(quantized ? [{text: "signal to noise", n: true}] : [])],
    rows.map((r) => [nodeLink("after", r.id), bytesText(r.bytes), data.before ? bytesText(r.before) : "", two(r), h("code", {}, r.type), ...(quantized ? [r.sqnr === null ? "" : r.sqnr.toFixed(1) + " dB"] : [])]), 25));
}

function targets() {
  if (!(data.targets || []).length) return $("targets").remove();
  const known = (d, text) => d.nodes_without_time ? (d.expected_ns ? text + ", " + count(d.nodes_without_time, "node") + " not known" : "not known") : text;
  for (const t of data.targets) {
    $("targets-list").append(h("h3", {}, t.target), facts([["Memory of a session", bytesText(t.arena_bytes)], ["Packed weights", t.constants ? bytesText(t.packed_bytes) + " of " + count(t.constants, "constant") : ""],
      ["Compiled", t.parts ? bytesText(t.compiled_bytes) + " in " + count(t.parts, "part") : ""], ["Assumed", t.assumed.join("; ")]]),
      table(["device", {text: "nodes", n: true}, {text: "parts", n: true}, {text: "expected time", n: true}, {text: "from other devices", n: true}, {text: "energy of a run", n: true}],
        t.devices.map((d) => [d.device, String(d.nodes), d.parts ? String(d.parts) : "", known(d, usText(d.expected_ns / 1000)), d.bytes_crossing ? bytesText(d.bytes_crossing) : "", d.energy_mj ? number3(d.energy_mj) + " mJ" : ""])),
      ...(t.other_types || []).map((o) => h("div", {class: "warning"}, h("b", {}, "Another type"), " " + o.node + ": " + o.what)));
  }
}

function accuracy() {
  if (!(data.layers || []).length) return $("accuracy").remove();
  const list = data.layers;
  $("accuracy-text").textContent = "Each value that is in both graphs, computed by the imported graph and by the converted one on the same inputs. Worst first: the least signal to noise. 60 dB is three digits, 120 dB is float32.";
  $("accuracy-list").append(table(["value", "made by", {text: "signal to noise", n: true}, {text: "noise", class: "barcell"}, {text: "largest difference", n: true}, {text: "largest value", n: true}],
    list.map((l) => [l.value, l.node !== undefined ? nodeLink("after", l.node) : "", l.sqnr_db === null ? "exact" : l.sqnr_db.toFixed(1) + " dB", bar(l.sqnr_db === null ? 0 : Math.max(0.01, 1 - l.sqnr_db / 150), l.sqnr_db !== null && l.sqnr_db < 30 ? "s1" : "s0"), number3(l.max_abs), number3(l.max_value)]), 30));
}

function latency() {
  const l = data.latency;
  if (!l) return $("latency").remove();
  const rows = Object.entries(l.nodes).map(([id, t]) => ({id: Number(id), ...t})).filter((r) => r.depth === 0).sort((x, y) => y.mean_us - x.mean_us);
  const top = rows.length ? rows[0].mean_us : 1;
  $("latency-text").textContent = "Mean of " + count(l.runs, "run") + " with " + (l.threads ? count(l.threads, "thread") : "all cores") + ". \"At least\" is a bound: what the operations and bytes of the step take at the rates of this machine (roofline; convolutions with a quarter of their multiplications, which Winograd leaves). A step near its bound has nothing to gain here.";
  $("latency-list").append(table(["step", "device", {text: "time", n: true}, {text: "share", n: true}, {text: "", class: "barcell"}, {text: "at least", n: true}, "kernel"],
    rows.map((r) => [nodeLink("after", r.id), r.device, usText(r.mean_us), percent(r.share), bar(r.mean_us / top), r.least_us ? usText(Math.min(r.mean_us, r.least_us)) : "", h("code", {}, r.kernel)]), 25));
}

summary();
graph();
passes();
weights();
memory();
placement();
targets();
accuracy();
latency();
$("tabs").append(...[...document.querySelectorAll("main > section")].map((s) => h("a", {href: "#" + s.id}, s.querySelector("h2").textContent)));
document.documentElement.dataset.ready = "yes";
// For tests, and for who looks with the console.
window.vireoReport = {data, views, goTo, show};
