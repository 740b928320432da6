// The plots over time: memory and placement, on canvases with a table behind each.

function niceStep(most, parts) {
  const raw = most / parts, unit = 2 ** Math.floor(Math.log2(raw || 1));
  return Math.max(1, unit * 2 < raw * 1.2 ? unit * 2 : unit);
}

// A name in a rectangle, whole or none; upwards where that gives it room.
function labelIn(c, name, x, y, w, hgt) {
  const across = hgt > 15 ? fitting(c, name, w - 8) : "", upwards = across === "" && w > 15 ? fitting(c, name, hgt - 8) : "";
  if (across) c.fillText(across, x + w / 2, y + hgt / 2 + 4);
  if (!upwards) return;
  c.save();
  c.translate(x + w / 2 + 4, y + hgt / 2); c.rotate(-Math.PI / 2);
  c.fillText(upwards, 0, 0);
  c.restore();
}

function memory() {
  const m = data.memory, a = data.after;
  if (!m || !m.tensors.length || m.steps < 1) return $("memory").remove();
  const planned = m.planned, steps = m.steps;
  const live = new Array(steps).fill(0);
  for (const t of m.tensors) for (let s = t.first; s <= Math.min(t.last, steps - 1); s++) live[s] += t.bytes;
  const peakAt = live.indexOf(Math.max(...live));
  const placedTensors = m.tensors.filter((t) => t.offset !== undefined && t.bytes > 0);
  const most = planned ? m.arena_bytes : Math.max(...live);
  $("memory-text").textContent = planned ?
    "Each rectangle is a tensor: as wide as it lives, from the first step that needs it to the last, as high as its bytes, at its place in the arena; coloured by what made it, as in the graph. Arena " + bytesText(m.arena_bytes) + "; the dashed line is the least that any plan can have, " + bytesText(m.lower_bound_bytes) + (m.arena_bytes === m.lower_bound_bytes ? ": this plan has it." : ".") :
    "The file has no fixed plan" + (m.open ? ", because sizes are open: each session plans for its own" : ": the session plans, because kernels of quantized products need less than the portable bodies") + ". Shown is what is alive at each step" + (m.open ? ", with open sizes as 1. " : ". ") + (data.session ? "A session here takes " + bytesText(data.session.arena_bytes) + (data.session.assumed.length ? " with " + data.session.assumed.join(", ") : "") + "." : "");
  if (!(most > 0)) { $("memory-plot").remove(); return; }
  const left = 74, right = 12, top = 20, bottom = 30, height = 360;
  let focus = null;
  const box = (t, width) => {
    const w = width - left - right, hgt = height - top - bottom;
    return [left + w * t.first / steps, top + hgt * (1 - (t.offset + t.bytes) / most), Math.max(1, w * (Math.min(t.last, steps - 1) - t.first + 1) / steps), Math.max(1, hgt * t.bytes / most)];
  };
  const text = (t) => { const maker = a.maker.get(t.value); return nameOf(a.values[t.value]) + ": " + bytesText(t.bytes) + (t.offset !== undefined ? " at " + t.offset.toLocaleString("en") : "") + ", steps " + t.first + " to " + t.last + (maker !== undefined ? ", made by " + titleOf(a, maker) : ""); };
  const plot = canvasIn($("memory-plot"), height, (c, width, hgt, k) => {
    const w = width - left - right, inner = hgt - top - bottom, y = (b) => top + inner * (1 - b / most);
    c.clearRect(0, 0, width, hgt);
    c.font = "12px " + FONT; c.fillStyle = k.soft; c.textAlign = "right"; c.strokeStyle = k.line; c.lineWidth = 1;
    const step = niceStep(most, 6);
    for (let b = 0; b <= most * 1.001; b += step) { c.beginPath(); c.moveTo(left, y(b)); c.lineTo(width - right, y(b)); c.stroke(); c.fillText(bytesText(b), left - 8, y(b) + 4); }
    c.textAlign = "center";
    const every = Math.max(1, Math.ceil(steps / Math.max(2, Math.floor(w / 70))));
    for (let s = 0; s < steps; s += every) c.fillText(String(s), left + w * (s + 0.5) / steps, hgt - 10);
    if (planned) {
      placedTensors.forEach((t, i) => {
        const b = box(t, width), maker = a.maker.get(t.value);
        c.fillStyle = k["k" + (maker === undefined ? 7 : kindOf(a.nodes[maker]))]; c.strokeStyle = t === focus ? k.accent : k.soft; c.lineWidth = t === focus ? 3 : 0.7;
        c.fillRect(...b); c.strokeRect(...b);
        c.fillStyle = k.ink;
        labelIn(c, a.values[t.value].name, ...b);
      });
      for (const r of m.regions || []) { const b = box({first: r.step, last: r.step, offset: r.offset, bytes: r.bytes}, width); c.setLineDash([2, 2]); c.strokeStyle = k.soft; c.lineWidth = 0.7; c.strokeRect(...b); c.setLineDash([]); }
      c.setLineDash([6, 4]); c.strokeStyle = k.bad; c.lineWidth = 1.5; c.beginPath(); c.moveTo(left, y(m.lower_bound_bytes)); c.lineTo(width - right, y(m.lower_bound_bytes)); c.stroke(); c.setLineDash([]);
    } else {
      c.fillStyle = k.k0; c.strokeStyle = k.s0; c.lineWidth = 1.5; c.beginPath(); c.moveTo(left, y(0));
      live.forEach((b, s) => { c.lineTo(left + w * s / steps, y(b)); c.lineTo(left + w * (s + 1) / steps, y(b)); });
      c.lineTo(left + w, y(0)); c.closePath(); c.fill(); c.stroke();
    }
    const x = left + w * (peakAt + 0.5) / steps;
    c.fillStyle = k.bad; c.beginPath(); c.moveTo(x, top - 2); c.lineTo(x - 5, top - 10); c.lineTo(x + 5, top - 10); c.fill();
    c.textAlign = x > width - 140 ? "right" : "left"; c.fillText("peak: step " + peakAt, x + (x > width - 140 ? -9 : 9), top - 4);
  }, (px, py, width, click) => {
    const step = Math.floor((px - left) / (width - left - right) * steps);
    if (!planned) { if (step >= 0 && step < steps) $("memory-hover").textContent = "Step " + step + ", " + titleOf(a, a.graphs[0].nodes[step]) + ": " + bytesText(live[step]) + " alive"; return; }
    const hit = placedTensors.filter((t) => { const b = box(t, width); return px >= b[0] && px <= b[0] + b[2] && py >= b[1] && py <= b[1] + b[3]; }).sort((s, t) => s.bytes - t.bytes)[0] || null;
    if (hit !== focus) { focus = hit; plot.paint(); $("memory-hover").textContent = hit ? text(hit) : ""; }
    if (click && hit && a.maker.has(hit.value)) goTo("after", a.maker.get(hit.value));
  });
  plot.canvas.setAttribute("aria-label", "Memory over " + steps + " steps; the tensors alive at the peak are listed below.");
  const node = a.graphs[0].nodes[peakAt];
  const alive = m.tensors.filter((t) => t.first <= peakAt && t.last >= peakAt && t.bytes > 0).sort((s, t) => t.bytes - s.bytes);
  $("memory-table").append(h("h3", {}, "At the peak: step " + peakAt + ", ", nodeLink("after", node)), table(["tensor", "type", {text: "bytes", n: true}, {text: "", class: "barcell"}, "made by", "lives"],
    alive.map((t) => [nameOf(a.values[t.value]), h("code", {}, a.values[t.value].type), bytesText(t.bytes), bar(t.bytes / most), a.maker.has(t.value) ? nodeLink("after", a.maker.get(t.value)) : "input", h("span", {class: "whole"}, t.first + " to " + t.last)]), 8));
}

function placement() {
  const p = data.placement, a = data.after;
  if (!p || !p.nodes) return $("placement").remove();
  const order = a.graphs[0].nodes.filter((id) => p.nodes[id]), shares = new Map();
  for (const id of order) {
    const n = p.nodes[id], s = shares.get(n.device) || {steps: 0, parts: new Set(), bytes: 0};
    s.steps++; s.bytes += n.bytes_crossing || 0;
    if (n.part !== undefined) s.parts.add(n.part);
    shares.set(n.device, s);
  }
  const list = [...shares].sort((x, y) => y[1].steps - x[1].steps), named = deviceName;
  $("placement-text").textContent = list.map(([d, s]) => named(d) + ": " + s.steps + " of " + order.length + " steps" + (s.parts.size ? " in " + count(s.parts.size, "part") : "") + (s.bytes ? ", " + bytesText(s.bytes) + " come from other devices" : "")).join("; ") + ". This is the placement on the machine that wrote this report. The file also runs on other machines.";
  const devices = list.map(([d]) => d), rows = devices.length, height = 26 * rows + 34;
  let left = 110;
  const strip = canvasIn($("placement-plot"), height, (c, width, hgt, k) => {
    c.font = "12px " + FONT;
    left = 16 + Math.min(width / 3, Math.max(...devices.map((d) => c.measureText(named(d)).width)));
    const w = width - left - 12;
    c.clearRect(0, 0, width, hgt); c.textAlign = "right";
    devices.forEach((d, r) => { c.fillStyle = k.ink; c.fillText(clipped(c, named(d), left - 12), left - 8, 10 + 26 * r + 16); c.fillStyle = k.faint; c.fillRect(left, 10 + 26 * r, w, 22); });
    order.forEach((id, i) => {
      const n = p.nodes[id], r = devices.indexOf(n.device);
      c.fillStyle = k["s" + (n.part !== undefined ? (n.part + 1) % 7 : 0)];
      c.fillRect(left + w * i / order.length, 10 + 26 * r, Math.max(1, w / order.length - (w / order.length > 4 ? 1 : 0)), 22);
      if (n.bytes_crossing) { c.fillStyle = k.bad; c.fillRect(left + w * i / order.length - 1, 8 + 26 * r, 2, 26); }
    });
    c.fillStyle = k.soft; c.textAlign = "left";
    c.fillText("first step", left, hgt - 6); c.textAlign = "right"; c.fillText("last step" + (list.some(([, s]) => s.bytes) ? " (red: data come from another device)" : ""), width - 12, hgt - 6);
  }, (px, py, width, click) => {
    const i = Math.floor((px - left) / (width - left - 12) * order.length);
    strip.canvas.title = order[i] !== undefined ? titleOf(a, order[i]) + ": " + p.nodes[order[i]].kernel : "";
    if (click && order[i] !== undefined) goTo("after", order[i]);
  });
  strip.canvas.setAttribute("aria-label", "Steps by device; the table below says the same.");
  const kernels = new Map();
  for (const id of order) {
    const n = p.nodes[id], key = n.device + "\n" + n.kernel + "\n" + (n.reason || "");
    if (!kernels.has(key)) kernels.set(key, []);
    kernels.get(key).push(id);
  }
  const groups = [...kernels].map(([key, ids]) => [...key.split("\n"), ids]).sort((x, y) => y[3].length - x[3].length);
  const others = (ids) => {
    const said = new Map();
    for (const id of ids) for (const o of p.nodes[id].others || []) if ((o.allowed || o.takes) && o.reason !== p.nodes[id].reason) { const t = o.device + ": " + wordOf(o, p.nodes[id].device); said.set(t, (said.get(t) || 0) + 1); }
    return [...said].sort((x, y) => y[1] - x[1]).slice(0, 4).map(([t, n]) => h("div", {}, (ids.length > 1 && n < ids.length ? n + " × " : "") + t));
  };
  $("placement-list").append(table(["device", "kernel", {text: "steps", n: true}, "why this kernel, and why not others", "which"],
    groups.map(([device, kernel, reason, ids]) => { const box = h("span"); const more = cut(box, ids, 3, (id) => h("span", {}, nodeLink("after", id), " ")); return [h("span", {class: "whole"}, named(device)), h("code", {}, kernel), String(ids.length), [reason, ...others(ids)], [box, more ? [" ", more] : ""]]; }), 30));
}
