// The summary, the two graphs side by side, and the start of it all.

function summary() {
  const a = data.after, steps = a ? a.graphs[0].nodes.length : data.nodes, from = data.provenance || {};
  const name = data.model.split("/").pop();
  $("title").textContent = name;
  const ran = (data.passes || []).filter((p) => p.changes > 0);
  $("lede").textContent = (data.nodes_imported !== undefined ? count(data.nodes_imported, "node") + " became " + count(steps, "step") + (ran.length ? " in " + count(ran.length, "pass", "passes") : "") : count(steps, "step")) +
    (data.latency ? "; a run takes " + usText(data.latency.median_us) + " (median)" : "") + ".";
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
  if (m.arena_bytes !== undefined) cards.push(card("Memory of a session", bytesText(m.arena_bytes), "tensors take at least " + bytesText(m.arena_lower_bound_bytes) + " in any plan" + (m.packed_bytes ? "; plus " + bytesText(m.packed_bytes) + " of packed weights" : "")));
  else if (data.planned) cards.push(card("Arena", bytesText(data.arena_bytes), "at least " + bytesText(data.arena_lower_bound_bytes) + " in any plan"));
  if (data.latency) cards.push(card("Time of a run", usText(data.latency.median_us), "median of " + count(data.latency.runs, "run") + " on " + data.latency.device + "; p10 " + usText(data.latency.p10_us) + ", p90 " + usText(data.latency.p90_us)));
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
  const main = a && a.graphs[0], bounded = (v) => ({name: a.values[v].name, type: boundedType(a, a.values[v].type)});
  $("io").append(table(["", "name", "type"], [...ios(main ? main.inputs.map(bounded) : data.inputs, "in"), ...ios(main ? main.outputs.map(bounded) : data.outputs, "out")], 12));
  const row = (k, v) => v && v !== "" && v.length !== 0 ? [h("div", {}, h("dt", {}, k), h("dd", {}, v))] : [];
  $("origin").append(...row("Model", data.model), ...row("SHA-256", from.source_sha256 && h("code", {}, from.source_sha256)), ...row("Written by", from.producer), ...row("Opset", (from.opset || []).join(", ")),
    ...row("Converter", from.converter), ...row("Options", (from.options || []).length ? from.options.join(" ") : "none"), ...row("Took", data.seconds !== undefined ? data.seconds.toFixed(2) + " s" : ""));
  $("foot").textContent = "Written by " + (from.converter || "vireo") + ". This page is self-contained and makes no network requests; " + bytesText($("data").textContent.length) + " of data.";
}

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

summary();
graph();
passes();
weights();
memory();
placement();
targets();
quantization();
evaluation();
accuracy();
latency();
compare();
$("tabs").append(...[...document.querySelectorAll("main > section")].map((s) => h("a", {href: "#" + s.id}, s.querySelector("h2").textContent)));
document.documentElement.dataset.ready = "yes";
// For tests, and for who looks with the console.
window.vireoReport = {data, views, goTo, show, compareWith};
