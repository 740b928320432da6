// The panel beside the graphs: all that is known of what was chosen.

function valueLine(key, v, side) {
  const value = side.values[v], maker = side.maker.get(v);
  return h("li", {}, value.name || "(no name)", maker !== undefined ? [" from ", nodeLink(key, maker, side.nodes[maker].kind || side.nodes[maker].op)] : value.constant ? " (weights, " + bytesText(value.bytes) + ")" : "",
    h("div", {class: "type"}, boundedType(side, value.type) + (value.contents ? " = " + value.contents : value.constant || value.bytes === undefined ? "" : ", " + bytesText(value.bytes) + (value.open ? " with open sizes as 1" : ""))),
    sqnr.has(value.name) ? h("div", {class: "type"}, "quantized, signal to noise " + (sqnr.get(value.name) === null ? "exact" : sqnr.get(value.name).toFixed(1) + " dB")) : "");
}

const listed = (title, items, make, most = 12) => { if (!items.length) return []; const ul = h("ul"); return [h("h4", {}, title), ul, cut(ul, items, most, make) || ""]; };
const bytesOf = (value) => value.bytes === undefined ? "" : bytesText(value.bytes) + (value.open ? " with open sizes as 1" : "");

function terminalParts(key, terminal) {
  const side = sides[key], value = side.values[terminal.value], input = terminal.role === "input";
  const near = input ? [...(side.readers.get(terminal.value) || [])] : [side.maker.get(terminal.value)].filter((x) => x !== undefined);
  return [h("h3", {}, nameOf(value)), h("p", {class: "quiet"}, terminal.role + " of the graph"), facts([["Type", h("code", {}, boundedType(side, value.type))], ["Bytes", bytesOf(value)]]),
    ...listed(input ? "Read by" : "Made by", near, (n) => h("li", {}, nodeLink(key, n)))];
}

function boxParts(key, at, box) {
  const side = sides[key], graph = side.graphs[at], ids = nodesIn(graph, box).sort((a, b) => a - b), b = graph.boxes[box], view = views[key], open = view.open.has(box);
  const times = key === "after" ? ids.map(timed).filter(Boolean) : [], bytes = weightBytes(side, ids), ops = new Map();
  for (const id of ids) { const k = side.nodes[id].kind || side.nodes[id].op; ops.set(k, (ops.get(k) || 0) + 1); }
  const value = (v) => h("li", {}, nameOf(side.values[v]), h("div", {class: "type"}, boundedType(side, side.values[v].type)));
  return [h("h3", {}, b.name), h("p", {class: "quiet"}, (b.path && b.path !== b.name ? b.path + " · " : "") + count(b.nodes, "node")),
    h("p", {}, h("button", {type: "button", class: "link", onclick: () => view.toggle(box)}, open ? "Close" : "Open")),
    facts([["Time", times.length ? usText(times.reduce((s, t) => s + t.p50_us, 0)) + ", " + percent(times.reduce((s, t) => s + t.share, 0)) + " of a run (medians)" : ""], ["Weights", bytes ? bytesText(bytes) : ""]]),
    ...listed("Operators", [...ops].sort((x, y) => y[1] - x[1]), ([k, n]) => h("li", {}, n + " × " + k)),
    ...listed("Nodes", ids, (id) => h("li", {}, nodeLink(key, id, (side.nodes[id].kind || side.nodes[id].op) + " " + nameWithin(side.nodes[id].name || "", b.path || "")))),
    ...listed("Comes in", b.ins, value), ...listed("Goes out", b.outs, value)];
}

// What the exporter wrote: of an original node, or of those that a step was made from.
function originParts(key, id) {
  const before = sides.before, ids = key === "before" ? [id] : sides.after.nodes[id].kin || [], seen = new Set(), parts = [];
  if (!before || !before.texts) return [];
  for (const from of ids) {
    for (const [what, text] of Object.entries(before.nodes[from].origin || {})) {
      if (seen.has(what + text)) continue;
      seen.add(what + text);
      parts.push([what, before.texts[text]]);
    }
  }
  const source = parts.filter(([what]) => what === "trace" || what === "doc").slice(0, 6), more = parts.filter(([what]) => what !== "trace" && what !== "doc").slice(0, 12);
  return [...(source.length ? [h("h4", {}, "Source, by the exporter")] : []), ...source.map(([, text]) => traceOf(text)), ...(more.length ? [h("h4", {}, "Noted by the exporter"), facts(more)] : [])];
}
// The line of the user's own code first: the innermost call that is in no installed package. All others behind it.
function traceOf(text) {
  const calls = text.split(/\n(?=\s*File "|\S+\(\d+\): )/), own = calls.filter((c) => !/site-packages|dist-packages|\/torch\/|<frozen/.test(c));
  const best = (own.length ? own : calls).at(-1).trim();
  return h("div", {class: "trace"}, h("pre", {}, best), calls.length > 1 ? h("details", {}, h("summary", {}, count(calls.length, "call")), h("pre", {}, text)) : "");
}

function nodeParts(key, id) {
  const side = sides[key];
  const n = side.nodes[id], w = [...weightsOf(side, id)], p = key === "after" && placed(id), t = key === "after" && timed(id), j = key === "after" && judged.get(id);
  const readers = [...new Set(n.outputs.flatMap((v) => [...(side.readers.get(v) || [])]))];
  const kin = n.kin || [], body = n.bodies || [];
  const parts = [h("h3", {}, n.kind || n.op), h("p", {class: "quiet"}, n.name || "(no name)", n.op === "Composite" ? " · several operators in one" : "")];
  if (body.length) parts.push(h("p", {}, body.map((b) => [h("button", {type: "button", class: "link", onclick: () => views[key].enter(b)}, "Open " + (side.graphs[b].role === "body" ? "what it is made of" : "branch \"" + side.graphs[b].role + "\"")), " (" + side.graphs[b].nodes.length + ") "])));
  if (key === "after" && data.before) {
    parts.push(...listed(kin.length ? "Made from" : "", kin, (k) => h("li", {}, nodeLink("before", k))));
    if (!kin.length) parts.push(h("h4", {}, "Made from"), h("p", {}, "Nothing of the original: it was added."));
    if ((n.passes || []).length) parts.push(h("h4", {}, "By the passes"), h("p", {}, n.passes.map((x) => h("span", {class: "tag"}, x))));
  } else if (key === "before") {
    if (kin.length) parts.push(...listed("Became", kin, (k) => h("li", {}, nodeLink("after", k))), (n.passes || []).length ? h("p", {}, n.passes.map((x) => h("span", {class: "tag"}, x))) : "", n.fate ? h("p", {class: "quiet"}, n.fate + ".") : "");
    else parts.push(h("h4", {}, "Became"), h("p", {}, n.fate ? "Gone. " + n.fate + "." : "Gone."));
  }
  const why = [];
  for (const pass of data.passes || []) for (const d of pass.declined || []) if (d.node === n.name && n.name) why.push([pass.name, d.reason]);
  parts.push(...listed("Left alone by", why, ([pass, reason]) => h("li", {}, h("span", {class: "tag"}, pass), " " + reason)));
  if (p) parts.push(h("h4", {}, "Runs on"), facts([["Device", p.device === "-" ? "the runtime itself" : p.device], ["Kernel", p.kernel && h("code", {}, p.kernel)], ["Why", p.reason], ["Part", p.part], ["If lost", p.second_device], ["From elsewhere", p.bytes_crossing ? bytesText(p.bytes_crossing) : ""]]),
    ...(p.others || []).map((o) => h("p", {class: "quiet"}, h("b", {}, o.device + ": "), wordOf(o, p.device))));
  parts.push(...originParts(key, id));
  if (t) parts.push(h("h4", {}, "Time"), facts([["Median", usText(t.p50_us) + " (p10 " + usText(t.p10_us) + ", p90 " + usText(t.p90_us) + ")"], ["Share of a run", percent(t.share)], ["At least", t.least_us ? usText(Math.min(t.p50_us, t.least_us)) + " by the machine's rates" : ""]]));
  if (j) parts.push(h("h4", {}, "Exactness"), facts([["Largest difference", number3(j.max_abs)], ["Signal to noise", j.sqnr_db === null ? "exact" : j.sqnr_db.toFixed(1) + " dB"]]));
  const attributes = Object.entries(n.attributes || {});
  if (attributes.length) parts.push(h("h4", {}, "Attributes"), facts(attributes));
  if (w.length) parts.push(h("h4", {}, "Weights"), h("p", {}, bytesText(weightBytes(side, [id])) + " in " + count(w.length, "tensor")));
  parts.push(...listed("Reads", n.inputs.filter((v) => v >= 0), (v) => valueLine(key, v, side)));
  const inner = w.filter((v) => !n.inputs.includes(v));
  parts.push(...listed("Holds", inner, (v) => valueLine(key, v, side)));
  parts.push(...listed("Makes", n.outputs.filter((v) => v >= 0), (v) => valueLine(key, v, side)));
  parts.push(...listed("Read by", readers, (r) => h("li", {}, nodeLink(key, r))));
  return parts.flat();
}

function chosen(key, {node, box, graph, terminal}) {
  const parts = node !== undefined ? nodeParts(key, node) : terminal ? terminalParts(key, terminal) : boxParts(key, graph, box);
  $("details").replaceChildren(...parts);
  $("details").scrollTop = 0;
  const other = key === "before" ? "after" : "before", ids = node !== undefined ? [node] : box ? nodesIn(sides[key].graphs[graph], box) : [];
  views[key].kin = new Set();
  if (views[other]) views[other].showKin([...new Set(ids.flatMap((id) => sides[key].nodes[id].kin || []))]);
  $("find").value = "";
}
