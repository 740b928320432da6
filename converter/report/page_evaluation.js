// Metrics on labelled data, of this model and of those that were measured with it.

function evaluation() {
  const e = data.evaluation;
  if (!e) return $("evaluation").remove();
  const value = (v) => v === null || v === undefined ? "–" : v.toFixed(4), signed = (v) => v === null ? "–" : (v < 0 ? "−" : "+") + Math.abs(v).toFixed(4);
  const range = (pair, text) => text(pair[0]) + " to " + text(pair[1]);
  const verdict = (d) => d.told_apart ? "a significant difference at 95 %" : "no significant difference at 95 %" + (d.samples_needed ? "; about " + Math.round(d.samples_needed).toLocaleString("en") + " samples would show it" : "");
  $("evaluation-text").textContent = count(e.samples, "sample") + " of " + e.data + ". Values stand with the interval that holds 95 % of 1,000 resamplings of the data.";
  for (const m of e.metrics) {
    const rows = e.models.map((model) => [model, model.values[m.name]]);
    const compared = rows.some(([, v]) => v.against_first);
    $("evaluation-list").append(h("h3", {}, m.name, h("span", {class: "quiet"}, m.higher_is_better ? " (higher is better)" : " (lower is better)")),
      table(["model", "device", {text: "size", n: true}, {text: "a run", n: true}, {text: m.name, n: true}, {text: "95 %", n: true}, ...(compared ? [{text: "to the first", n: true}, {text: "which is", class: "prose"}] : [])],
        rows.map(([model, v]) => [h("span", {class: "whole", title: model.model}, endOf(model.model)), model.device, bytesText(model.bytes), usText(model.ms * 1000), value(v.value), range(v.ci95, value),
          ...(compared ? v.against_first ? [signed(v.against_first.difference), verdict(v.against_first) + " (" + v.against_first.test + ", p = " + number3(v.against_first.p) + ")"] : ["", ""] : [])]), 25));
    const plots = h("div", {class: "halves"});
    $("evaluation-list").append(plots);
    fronts(plots, m, e.models);
    for (const [model, v] of rows) {
      if (!(v.worst || []).length) continue;
      $("evaluation-list").append(h("details", {}, h("summary", {}, "Worst samples of " + endOf(model.model)), table(["sample", {text: m.name, n: true}], v.worst.map((w) => [w.sample, value(w.value)]), 25)));
    }
  }
}
