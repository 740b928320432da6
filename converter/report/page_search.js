// Finds nodes and tensors by name, operator or type.

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
