// Models as points: what one costs against how good it is, and the front of those that no other model beats in both.

// Points that no other one beats: none is at most as dear and better, or cheaper and as good. The cheapest comes first.
function frontOf(points, higher) {
  const better = (p, q) => higher ? p.value > q.value : p.value < q.value;
  const beats = (p, q) => p.cost <= q.cost && !better(q, p) && (p.cost < q.cost || better(p, q));
  return points.filter((p) => !points.some((q) => beats(q, p))).sort((p, q) => p.cost - q.cost);
}

// Marks from the least to the most of an axis, at round numbers.
function marksOf(least, most, parts) {
  const raw = (most - least) / parts || 1, unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * ([1, 2, 5, 10].find((f) => unit * f >= raw) || 10), marks = [];
  for (let i = Math.ceil(least / step); i * step <= most + step * 1e-9; i++) marks.push(i * step);
  return marks;
}

// A name beside its point, where it covers no other name; else none: the table has it, and so has the line below the plot.
function nameBeside(c, p, x, y, width, taken) {
  const text = clipped(c, p.name, width / 3), w = c.measureText(text).width;
  for (const dy of [-8, 16, -22, 30]) {
    const box = [x > width / 2 ? x - 8 - w : x + 8, y + dy - 11, w, 14];
    if (taken.some((b) => box[0] < b[0] + b[2] && b[0] < box[0] + box[2] && box[1] < b[1] + b[3] && b[1] < box[1] + box[3])) continue;
    taken.push(box);
    return c.fillText(text, box[0], y + dy);
  }
}

// `points`: name, cost, value, low and high of its interval. `cost`: the axis' title, its marks, and its numbers as
// text.
function frontPlot(host, points, metric, higher, cost) {
  const left = 64, right = 16, top = 14, bottom = 40, height = 280;
  const front = frontOf(points, higher), inFront = new Set(front);
  const least = Math.min(...points.map((p) => p.low)), most = Math.max(...points.map((p) => p.high));
  const room = (most - least) * 0.08 || Math.abs(most) * 0.05 || 1, dearest = Math.max(...points.map((p) => p.cost)) * 1.12 || 1;
  const x = (c, width) => left + (width - left - right) * c / dearest, y = (v) => top + (height - top - bottom) * (1 - (v - least + room) / (most - least + 2 * room));
  let focus = null;
  const text = (p) => p.name + ": " + p.value.toFixed(4) + " (" + p.low.toFixed(4) + " to " + p.high.toFixed(4) + "), " + cost.text(p.cost) + (inFront.has(p) ? "" : "; another model is at most as dear and at least as good");
  const hover = h("p", {class: "hover", "aria-live": "polite"});
  const plot = canvasIn(host, height, (c, width, hgt, k) => {
    c.clearRect(0, 0, width, hgt);
    c.font = "12px " + FONT; c.strokeStyle = k.line; c.fillStyle = k.soft; c.lineWidth = 1;
    c.textAlign = "right";
    for (const v of marksOf(least - room, most + room, 5)) { c.beginPath(); c.moveTo(left, y(v)); c.lineTo(width - right, y(v)); c.stroke(); c.fillText(String(+v.toPrecision(4)), left - 8, y(v) + 4); }
    c.textAlign = "center";
    for (const v of cost.marks(dearest, Math.max(2, Math.floor(width / 110)))) c.fillText(cost.text(v), x(v, width), hgt - 22);
    c.fillText(cost.title, left + (width - left - right) / 2, hgt - 5);
    c.strokeStyle = k.accent; c.lineWidth = 1.5; c.beginPath();
    front.forEach((p, i) => { if (i === 0) c.moveTo(x(p.cost, width), y(p.value)); else { c.lineTo(x(p.cost, width), y(front[i - 1].value)); c.lineTo(x(p.cost, width), y(p.value)); } });
    c.stroke();
    const taken = points.map((p) => [x(p.cost, width) - 5, y(p.value) - 5, 10, 10]);
    for (const p of [...front, ...points.filter((q) => !inFront.has(q))]) {
      const at = x(p.cost, width), colour = inFront.has(p) ? k.accent : k.soft;
      c.strokeStyle = colour; c.fillStyle = p === focus ? k.ink : colour; c.lineWidth = 1;
      c.beginPath(); c.moveTo(at, y(p.low)); c.lineTo(at, y(p.high)); c.stroke();
      c.beginPath(); c.arc(at, y(p.value), p === focus ? 6 : 4, 0, 2 * Math.PI); c.fill();
      c.textAlign = "left"; c.fillStyle = k.ink;
      nameBeside(c, p, at, y(p.value), width, taken);
    }
  }, (px, py, width) => {
    const near = points.map((p) => [Math.hypot(x(p.cost, width) - px, y(p.value) - py), p]).sort((a, b) => a[0] - b[0])[0], hit = near[0] < 24 ? near[1] : null;
    if (hit !== focus) { focus = hit; hover.textContent = hit ? text(hit) : ""; plot.paint(); }
  });
  plot.canvas.setAttribute("aria-label", metric + " against " + cost.title + "; the table says the same. On the front: " + front.map((p) => p.name).join(", ") + ".");
  host.after(hover);
}

const endOf = (path) => path.split("/").pop();

// Two plots of a metric: against bytes, and against time. Nothing where there are fewer than two models to compare.
function fronts(host, metric, models) {
  const many = new Set(models.map((m) => m.device)).size > 1;
  const points = (of) => models.filter((m) => m.values[metric.name].value !== null && of(m) > 0).map((m) => {
    const v = m.values[metric.name], [low, high] = v.ci95[0] === null ? [v.value, v.value] : v.ci95;
    return {name: endOf(m.model) + (many ? " on " + m.device : ""), cost: of(m), value: v.value, low, high};
  });
  const bytes = {title: "size of the file", of: (m) => m.bytes, text: (n) => bytesText(Math.round(n)), marks: (most, parts) => { const step = niceStep(most, parts), marks = []; for (let b = 0; b <= most; b += step) marks.push(b); return marks; }};
  const time = {title: "time of a run", of: (m) => m.ms * 1000, text: usText, marks: (most, parts) => marksOf(0, most, parts)};
  for (const cost of [bytes, time]) {
    const list = points(cost.of);
    if (list.length < 2) continue;
    const box = h("div", {class: "plot"});
    host.append(h("div", {class: "half"}, box));
    frontPlot(box, list, metric.name, metric.higher_is_better, cost);
  }
}
