// Another report beside this one: what differs in time, size and placement, node by node. The file is read here, in the
// browser; nothing leaves it.

// The data in a report's text: a page, or JSON. Throws an Error that says what is wrong.
function dataOf(text) {
  const mark = '<script type="application/json" id="data">', at = text.indexOf(mark);
  if (/^\s*<!doctype html/i.test(text) && at < 0) throw new Error("this page is no report of Vireo");
  let found;
  try { found = JSON.parse(at < 0 ? text : text.slice(at + mark.length, text.indexOf("<\/script>", at))); } catch (_) { throw new Error("this is neither a report's page nor its JSON"); }
  if (!found || !found.vireo_report) throw new Error("this JSON is no report of Vireo");
  if (found.vireo_report !== data.vireo_report) throw new Error("it is of version " + found.vireo_report + ", this one of " + data.vireo_report + ": write both with one Vireo");
  if (!found.after) throw new Error("it holds no graph");
  prepareSide(found.after);
  return found;
}

// The steps of a report by what finds them again: the name, or where there is none the operator; equals are counted.
function stepTable(report) {
  const out = new Map(), seen = new Map(), side = report.after;
  for (const id of side.graphs[0].nodes) {
    const n = side.nodes[id], base = n.name || (n.kind || n.op) + " without a name", times = seen.get(base) || 0;
    seen.set(base, times + 1);
    const t = report.latency && report.latency.nodes[id], p = report.placement && report.placement.nodes && report.placement.nodes[id];
    out.set(base + (times ? " (" + (times + 1) + ")" : ""), {id, kind: n.kind || n.op, time: t, bytes: weightBytes(side, [id]), made: n.outputs.reduce((s, v) => s + (v >= 0 && side.values[v].bytes || 0), 0), where: p ? deviceName(p.device) + ", " + p.kernel : ""});
  }
  return out;
}

function headline(report) {
  const m = report.session || {}, l = report.latency || {};
  return [["File", report.file_bytes, bytesText], ["Weights", weightBytes(report.after, report.after.nodes.keys()), bytesText], ["Memory of a session", m.arena_bytes, bytesText],
    ["Steps", report.after.graphs[0].nodes.length, String], ["Time of a run, p10", l.p10_us, usText], ["Time of a run, median", l.median_us, usText], ["Time of a run, p90", l.p90_us, usText]];
}
const change = (here, there, text) => here === undefined || there === undefined ? "" : here === there ? "same" : signed(here - there, text) + (there ? " (" + (here >= 3 * there ? "×" + (here / there).toFixed(here < 10 * there ? 1 : 0) : (here > there ? "+" : "−") + percent(Math.abs(here / there - 1))) + ")" : "");

function compareWith(text, name) {
  const list = $("compare-list"), said = $("compare-text");
  list.replaceChildren();
  let other;
  try { other = dataOf(text); } catch (error) { said.textContent = name + ": " + error.message + "."; said.className = "bad"; return; }
  said.className = "quiet";
  const here = stepTable(data), there = stepTable(other), both = [...here.keys()].filter((k) => there.has(k));
  const rows = both.map((key) => ({key, a: here.get(key), b: there.get(key)}));
  const alone = (mine, others) => [...mine].filter(([key]) => !others.has(key));
  const onlyHere = alone(here, there), onlyThere = alone(there, here), timed2 = data.latency && other.latency;
  const differs = (r) => r.a.bytes !== r.b.bytes || r.a.made !== r.b.made || r.a.where !== r.b.where || r.a.kind !== r.b.kind;
  said.textContent = "\"There\" is " + name + " (" + other.model.split("/").pop() + "); a plus is more here. " + count(both.length, "step") + " are in both, " + rows.filter((r) => !differs(r)).length + " of them alike in operator, size and placement; " + onlyHere.length + " are only here, " + onlyThere.length + " only there." + (timed2 ? "" : " Times are missing in " + (data.latency ? "the other report" : other.latency ? "this report" : "both") + ": --bench or vireo bench --report measures them.");
  const heads = headline(other);
  list.append(table(["", {text: "here", n: true}, {text: "there", n: true}, {text: "difference", n: true}], headline(data).map(([what, value, show], i) => [what, value === undefined ? "" : show(value), heads[i][1] === undefined ? "" : show(heads[i][1]), change(value, heads[i][1], show)]).filter((r) => r[1] || r[2])));
  const delta = (r) => r.a.time && r.b.time ? r.a.time.p50_us - r.b.time.p50_us : 0;
  const apart = (r) => r.a.time.p10_us > r.b.time.p90_us || r.b.time.p10_us > r.a.time.p90_us;
  const shown = rows.filter((r) => differs(r) || delta(r)).sort((x, y) => Math.abs(delta(y)) - Math.abs(delta(x)) || Math.abs(y.a.bytes - y.b.bytes) - Math.abs(x.a.bytes - x.b.bytes));
  const two = (a, b) => a === b ? h("span", {class: "quiet"}, a) : [h("div", {}, a || "nothing"), h("div", {class: "quiet"}, "there: " + (b || "nothing"))];
  const time = (r) => !r.a.time || !r.b.time ? ["", "", ""] : [usText(r.a.time.p50_us), usText(r.b.time.p50_us), h("span", {class: apart(r) ? (delta(r) > 0 ? "bad" : "good") : "quiet"}, change(r.a.time.p50_us, r.b.time.p50_us, usText) + (apart(r) ? "" : ", within the spread"))];
  if (shown.length) list.append(h("h3", {}, "Step by step"), table(["step", ...(timed2 ? [{text: "median here", n: true}, {text: "there", n: true}, {text: "difference", class: "delta"}] : []), {text: "weights", n: true}, {text: "results", n: true}, "placement"],
    shown.map((r) => [[nodeLink("after", r.a.id, r.key), r.a.kind === r.b.kind ? "" : h("div", {class: "quiet"}, r.a.kind + ", there " + r.b.kind)], ...(timed2 ? time(r) : []), two(bytesText(r.a.bytes), bytesText(r.b.bytes)), two(bytesText(r.a.made), bytesText(r.b.made)), two(r.a.where, r.b.where)]), 25));
  const lone = (title, found, make) => { if (!found.length) return; const ul = h("ul", {class: "names"}); list.append(h("h3", {}, title), ul, cut(ul, found, 24, make) || ""); };
  const short = (s) => [s.time ? usText(s.time.p50_us) : "", s.bytes ? bytesText(s.bytes) : ""].filter(Boolean).map((x) => " · " + x).join("");
  lone("Only here", onlyHere, ([key, s]) => h("li", {}, nodeLink("after", s.id, s.kind + " " + key), short(s)));
  lone("Only there", onlyThere, ([key, s]) => h("li", {}, s.kind + " " + key, short(s)));
  if (timed2) colourByDifference(rows, delta, other.latency.median_us);
}

// A colouring more: what became slower and what faster, as shares of a run there.
function colourByDifference(rows, delta, run) {
  const by = new Map(rows.map((r) => [r.a.id, delta(r) / run]));
  const of = (key, ids) => { const list = stepsOf(key, ids).map((id) => by.get(id)).filter((x) => x !== undefined); if (!list.length) return NONE; const x = list.reduce((s, d) => s + d, 0); return x > 0.02 ? "d4" : x > 0.003 ? "d3" : x < -0.02 ? "d0" : x < -0.003 ? "d1" : "d2"; };
  addColouring("difference", {text: "time against the other report", of, legend: [["d4", "slower here by 2 % of a run or more"], ["d3", "by 0.3 %"], ["d2", "alike"], ["d1", "faster by 0.3 %"], ["d0", "by 2 %"], [NONE, "not in both"]]});
  if ($("colour").value === "difference") applyColours();
}

function compare() {
  if (!data.after) return $("compare").remove();
  const take = async (file) => { if (file) compareWith(await file.text(), file.name); };
  $("other").addEventListener("change", (e) => take(e.target.files[0]));
  const stop = (e) => { if ([...(e.dataTransfer.types || [])].includes("Files")) e.preventDefault(); };
  addEventListener("dragover", stop);
  addEventListener("drop", (e) => { stop(e); if (e.dataTransfer.files.length) { $("compare").scrollIntoView(); take(e.dataTransfer.files[0]); } });
}
