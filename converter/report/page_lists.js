// Passes, weights, targets and accuracy, as lists.

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
  if (idle.length) $("passlist").append(h("details", {}, h("summary", {}, h("span", {class: "quiet"}, (busy.length ? "and " : "") + count(idle.length, "pass", "passes") + " that changed nothing")), h("div", {}, idle.map((p) => h("span", {class: "tag"}, p.name.replace(/_/g, " "))))));
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
    $("targets-list").append(h("h3", {}, t.target), facts([[t.arena_of === "session" ? "Memory of a session" : "Memory of its " + t.arena_of, bytesText(t.arena_bytes)], ["Packed weights", t.constants ? bytesText(t.packed_bytes) + " of " + count(t.constants, "constant") : ""],
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
