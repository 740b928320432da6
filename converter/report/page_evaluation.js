// Metrics on labelled data, of this model and of those that were measured with it.

function evaluation() {
  const e = data.evaluation;
  if (!e) return $("evaluation").remove();
  const value = (v) => v === null || v === undefined ? "–" : v.toFixed(4), signed = (v) => v === null ? "–" : (v < 0 ? "−" : "+") + Math.abs(v).toFixed(4);
  const range = (pair, text) => text(pair[0]) + " to " + text(pair[1]);
  const verdict = (d) => d.told_apart ? "told apart at 95 %" : "not told apart at 95 %" + (d.samples_needed ? "; it takes about " + Math.round(d.samples_needed).toLocaleString("en") + " samples to tell such a difference" : "");
  $("evaluation-text").textContent = count(e.samples, "sample") + " of " + e.data + ". Values stand with the interval that holds 95 % of 1,000 resamplings of the data.";
  for (const m of e.metrics) {
    const rows = e.models.map((model) => [model, model.values[m.name]]);
    const known = rows.map(([, v]) => v.value).filter((v) => v !== null), top = Math.max(...known.map(Math.abs), 1e-300);
    const compared = rows.some(([, v]) => v.against_first);
    $("evaluation-list").append(h("h3", {}, m.name, h("span", {class: "quiet"}, m.higher_is_better ? " (higher is better)" : " (lower is better)")),
      table(["model", "device", {text: "size", n: true}, {text: "a run", n: true}, {text: m.name, n: true}, {text: "", class: "barcell"}, {text: "95 %", n: true}, ...(compared ? [{text: "to the first", n: true}, "which is"] : [])],
        rows.map(([model, v]) => [model.model, model.device, bytesText(model.bytes), usText(model.ms * 1000), value(v.value), v.value === null ? "" : bar(Math.abs(v.value) / top), range(v.ci95, value),
          ...(compared ? v.against_first ? [signed(v.against_first.difference), verdict(v.against_first) + " (" + v.against_first.test + ", p = " + number3(v.against_first.p) + ")"] : ["", ""] : [])]), 25));
    for (const [model, v] of rows) {
      if (!(v.worst || []).length) continue;
      $("evaluation-list").append(h("details", {}, h("summary", {}, "Worst samples of " + model.model), table(["sample", {text: m.name, n: true}], v.worst.map((w) => [w.sample, value(w.value)]), 25)));
    }
  }
}
