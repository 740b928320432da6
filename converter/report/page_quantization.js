// What static quantization cost each layer, and the ranges that it chose.

function quantization() {
  const q = data.quantization;
  if (!q || !q.layers) return $("quantization").remove();
  const layers = Object.entries(q.layers).map(([name, l]) => ({name, ...l})), shown = (v) => v === null || v === undefined ? "–" : v.toFixed(1);
  const measured = layers.filter((l) => l.sqnr_db !== null || l.accumulated_db !== null);
  const repairs = [];
  if (Object.keys(q.equalised || {}).length) repairs.push("channels of " + count(Object.keys(q.equalised).length, "value") + " equalised");
  if (q.biases_corrected) repairs.push(count(q.biases_corrected, "bias", "biases") + " corrected");
  if (q.rounding_gain_db > 0) repairs.push("weights rounded by what their products lose, " + q.rounding_gain_db.toFixed(1) + " dB less lost");
  $("quantization-text").textContent = count(layers.length, "product") + " and " + count(q.values, "value") + " in codes, by " + count(q.samples, "sample") + (repairs.length ? ". Repairs: " + repairs.join("; ") : "") +
    ". Signal to noise of each layer's result, in dB: by what the layer itself rounds (own), and with all that was rounded before it (accumulated). Six dB are one bit.";
  if (measured.length) plotLayers(measured, shown);
  $("quantization-list").append(table(["layer", "operator", {text: "own dB", n: true}, {text: "accumulated dB", n: true}, {text: "weights", n: true}, "what stands out"],
    [...layers].sort((a, b) => (a.sqnr_db ?? Infinity) - (b.sqnr_db ?? Infinity)).map((l) => [nameItem(l.name), l.op, shown(l.sqnr_db), shown(l.accumulated_db), bytesText(l.bytes), l.compared ? l.why || "" : "not compared: it does not fit under --memory"]), 12));
  const float = Object.entries(q.float || {});
  if (float.length) $("quantization-list").append(h("h3", {}, "Left in float"), table(["layer", "why"], float.map(([name, why]) => [nameItem(name), why]), 12));
  const ranges = Object.entries(q.ranges || {});
  if (ranges.length) $("quantization-list").append(h("details", {}, h("summary", {}, "Ranges of " + count(ranges.length, "value")), rangeTable(ranges)));
}

function plotLayers(layers, shown) {
  const left = 52, right = 12, top = 12, bottom = 26, height = 260;
  const known = layers.flatMap((l) => [l.sqnr_db, l.accumulated_db]).filter((v) => v !== null);
  const least = Math.min(0, ...known), most = Math.max(...known) * 1.05 || 1;
  const x = (i, width) => left + (width - left - right) * (i + 0.5) / layers.length, y = (v) => top + (height - top - bottom) * (1 - (v - least) / (most - least));
  let focus = -1;
  const plot = canvasIn($("quantization-plot"), height, (c, width, hgt, k) => {
    c.clearRect(0, 0, width, hgt);
    c.font = "12px " + FONT; c.strokeStyle = k.line; c.fillStyle = k.soft; c.lineWidth = 1; c.textAlign = "right";
    for (const v of marksOf(least, most, 5)) { c.beginPath(); c.moveTo(left, y(v)); c.lineTo(width - right, y(v)); c.stroke(); c.fillText(v + " dB", left - 6, y(v) + 4); }
    c.textAlign = "left"; c.fillText("first layer", left, hgt - 8); c.textAlign = "right"; c.fillText("last layer", width - right, hgt - 8);
    c.textAlign = "center"; c.fillStyle = k.s0; c.fillText("● own", left + (width - left) / 2 - 50, hgt - 8); c.fillStyle = k.bad; c.fillText("■ accumulated", left + (width - left) / 2 + 30, hgt - 8);
    if (focus >= 0) { c.fillStyle = k.faint; c.fillRect(x(focus - 0.5, width), top, x(1, width) - x(0, width), height - top - bottom); }
    for (const [key, colour] of [["accumulated_db", k.bad], ["sqnr_db", k.s0]]) {
      c.strokeStyle = c.fillStyle = colour; c.lineWidth = 1; c.beginPath();
      layers.forEach((l, i) => { if (l[key] !== null) c.lineTo(x(i, width), y(l[key])); });
      c.stroke();
      layers.forEach((l, i) => { if (l[key] === null) return; if (key === "sqnr_db") { c.beginPath(); c.arc(x(i, width), y(l[key]), 3, 0, 2 * Math.PI); c.fill(); } else c.fillRect(x(i, width) - 2.5, y(l[key]) - 2.5, 5, 5); });
    }
  }, (px, py, width) => {
    const at = Math.max(0, Math.min(layers.length - 1, Math.floor((px - left) / (width - left - right) * layers.length))), l = layers[at];
    if (at === focus) return;
    focus = at;
    plot.paint();
    $("quantization-hover").textContent = l.op + " " + l.name + ": own " + shown(l.sqnr_db) + " dB, accumulated " + shown(l.accumulated_db) + " dB" + (l.why ? "; " + l.why : "");
  });
  plot.canvas.setAttribute("aria-label", "Signal to noise of " + layers.length + " layers in their order; the table below says the same.");
}

// Each range as a bar from its least to its greatest value, on one axis of the fourth root: a range of 0.1 is seen beside one of 1,000.
function rangeTable(ranges) {
  const root = (v) => Math.sign(v) * Math.abs(v) ** 0.25, ends = ranges.flatMap(([, r]) => r.map(root)), least = Math.min(0, ...ends), width = Math.max(0, ...ends) - least || 1;
  const drawn = ([low, high]) => {
    const fill = h("i");
    fill.style.marginLeft = 100 * (root(low) - least) / width + "%";
    fill.style.width = Math.max(0.5, 100 * (root(high) - root(low)) / width) + "%";
    return h("div", {class: "track", "aria-hidden": "true"}, fill);
  };
  return table(["value", {text: "least", n: true}, {text: "greatest", n: true}, {text: "", class: "barcell"}], ranges.map(([name, r]) => [name, number3(r[0]), number3(r[1]), drawn(r)]), 25);
}
