"use strict";
// What all parts of the page use: elements, colours, numbers as text.

// Elements without innerHTML: texts of models never become markup.
function h(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (key === "class") e.className = value;
    else e.setAttribute(key, value === true ? "" : value);
  }
  for (const c of children.flat(Infinity)) if (c !== null && c !== undefined && c !== "") e.append(c);
  return e;
}
const $ = (id) => document.getElementById(id);

const PALETTE = ["paper", "card", "ink", "soft", "line", "faint", "accent", "accent-soft", "bad", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7",
                 "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "t0", "t1", "t2", "t3", "t4", "d0", "d1", "d2", "d3", "d4"];
function colours() {
  const style = getComputedStyle(document.documentElement), out = {};
  for (const name of PALETTE) out[name] = style.getPropertyValue("--" + name).trim();
  return out;
}

// What is drawn again when colours change: the theme of the system, or paper, which is light.
const repaints = [];
const repaint = () => repaints.forEach((paint) => paint());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
addEventListener("beforeprint", () => { document.documentElement.classList.add("printing"); repaint(); });
addEventListener("afterprint", () => { document.documentElement.classList.remove("printing"); repaint(); });

const FONT = "system-ui, sans-serif";

// A canvas as wide as `host`. `draw(context, width, height, colours)`; `hover(x, y, width, clicked)`.
function canvasIn(host, height, draw, hover) {
  const c = h("canvas", {role: "img"});
  host.append(c);
  let width = 0;
  const paint = () => {
    const ratio = window.devicePixelRatio || 1;
    width = host.getBoundingClientRect().width;
    if (!width) return;
    c.style.height = height + "px";
    c.width = Math.round(width * ratio); c.height = Math.round(height * ratio);
    const ctx = c.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(ctx, width, height, colours());
  };
  new ResizeObserver(paint).observe(host);
  repaints.push(paint);
  if (hover) {
    c.addEventListener("pointermove", (e) => { const r = c.getBoundingClientRect(); hover(e.clientX - r.left, e.clientY - r.top, width, false); });
    c.addEventListener("click", (e) => { const r = c.getBoundingClientRect(); hover(e.clientX - r.left, e.clientY - r.top, width, true); });
  }
  return {canvas: c, paint};
}
// The longest end of a name, in whole segments, that has room; "": none has. A part of a word says nothing, so there is none.
function fitting(ctx, name, room) {
  const segments = name.split("/");
  for (let i = 0; i < segments.length; i++) {
    const text = segments.slice(i).join("/");
    if (text && ctx.measureText(text).width <= room) return text;
  }
  return "";
}
// The same where something has to be shown: the end of the text behind "…".
function clipped(ctx, text, room) {
  if (ctx.measureText(text).width <= room) return text;
  const whole = fitting(ctx, text, room - ctx.measureText("…/").width);
  if (whole) return "…/" + whole;
  let rest = text;
  while (rest.length > 1 && ctx.measureText("…" + rest).width > room) rest = rest.slice(Math.max(1, rest.length >> 4));
  return "…" + rest;
}

function bytesText(n) {
  if (n === undefined || n === null) return "open";
  if (Math.abs(n) < 1024) return n + " B";
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let u = -1;
  do { n /= 1024; u++; } while (Math.abs(n) >= 1023.95 && u < units.length - 1);
  return n.toFixed(Math.abs(n) < 10 ? 2 : Math.abs(n) < 100 ? 1 : 0) + " " + units[u];
}
const count = (n, one, many) => n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s");
const percent = (x) => (100 * x).toFixed(Math.abs(x) < 0.1 ? 1 : 0) + " %";
const usText = (us) => Math.abs(us) >= 10000 ? (us / 1000).toFixed(1) + " ms" : Math.abs(us) >= 1000 ? (us / 1000).toFixed(2) + " ms" : us.toFixed(Math.abs(us) < 10 ? 2 : 1) + " µs";
const signed = (x, text) => x === 0 ? "same" : (x > 0 ? "+" : "−") + text(Math.abs(x));
const number3 = (x) => x === null || x === undefined ? "no number" : x === 0 ? "0" : Math.abs(x) < 1e-3 || Math.abs(x) >= 1e5 ? x.toExponential(1) : x.toPrecision(3);

// Long lists show their beginning; a button brings the rest.
function cut(host, items, most, make) {
  host.append(...items.slice(0, most).map(make));
  if (items.length <= most) return null;
  const more = h("button", {type: "button", class: "link more", onclick: () => { host.append(...items.slice(most).map(make)); more.remove(); }}, "show all " + items.length.toLocaleString("en"));
  return more;
}
function table(head, rows, most = 40) {
  const body = h("tbody"), t = h("table", {class: head.length > 4 ? "wide" : null}, h("thead", {}, h("tr", {}, head.map((c) => h("th", {scope: "col", class: c.n ? "n" : null}, c.text ?? c)))), body);
  const more = cut(body, rows, most, (cells) => h("tr", {}, cells.map((c, i) => h("td", {class: (head[i].n ? "n " : "") + (head[i].class || "")}, c))));
  return h("div", {class: "scroll"}, t, more);
}
function bar(share, colour) {
  const fill = h("i");
  fill.style.width = Math.max(share > 0 ? 0.5 : 0, Math.min(100, 100 * share)) + "%";
  if (colour) fill.style.background = "var(--" + colour + ")";
  return h("div", {class: "track", "aria-hidden": "true"}, fill);
}
function facts(pairs) {
  return h("dl", {class: "facts"}, pairs.filter((p) => p[1] !== undefined && p[1] !== "" && p[1] !== null).map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v))));
}
