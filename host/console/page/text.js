// How numbers, times and elements are made. What comes from a cluster is text: it only ever becomes a text node.

function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.filter(c => c !== undefined && c !== null));
  return e;
}

const byID = id => document.getElementById(id);

// setText leaves alone what is the same, so that a selection in it stays.
function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// An age as kubectl tells it.
function age(seconds) {
  const s = Math.max(0, Math.floor(seconds)), two = (a, x, b, y) => b ? `${a}${x}${b}${y}` : `${a}${x}`;
  if (s < 120) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 10) return two(m, "m", s % 60, "s");
  if (m < 180) return `${m}m`;
  const h = Math.floor(m / 60);
  if (h < 8) return two(h, "h", m % 60, "m");
  if (h < 48) return `${h}h`;
  const d = Math.floor(h / 24);
  return d < 8 ? two(d, "d", h % 24, "h") : `${d}d`;
}

function took(seconds) {
  if (!seconds) return "–";
  if (seconds < 0.01) return `${(seconds * 1000).toFixed(2)} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return `${seconds.toFixed(seconds < 10 ? 2 : 0)} s`;
}

function count(n) {
  if (n < 10000) return String(n);
  if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e5 ? 1 : 0)}k`;
  if (n < 1e9) return `${(n / 1e6).toFixed(1)}M`;
  return `${(n / 1e9).toFixed(1)}G`;
}

const rate = n => n === undefined ? "–" : n === 0 ? "0" : n < 10 ? n.toFixed(1) : String(Math.round(n));
const brief = digest => (digest || "").replace(/^sha256:/, "").slice(0, 12);
const seconds = (from, to) => (Date.parse(to) - Date.parse(from)) / 1000;
const clock = t => new Date(t).toLocaleTimeString("en-GB");

function bytes(n) {
  if (!n) return "–";
  return n < 1 << 20 ? `${Math.round(n / 1024)} KiB` : `${(n / (1 << 20)).toFixed(1)} MiB`;
}

// fact is a name with its value in a list of such.
function fact(name, value) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

function spark(values) {
  const ns = "http://www.w3.org/2000/svg", svg = document.createElementNS(ns, "svg"), path = document.createElementNS(ns, "path");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", "0 0 60 16");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  svg.append(path);
  return svg;
}

function drawSpark(svg, values) {
  if (values.length < 3) values = [];
  const most = Math.max(1, ...values), left = 60 - values.length;
  svg.firstChild.setAttribute("d", values.map((v, i) => `${i ? "L" : "M"}${left + i} ${(15 - 14 * v / most).toFixed(1)}`).join(""));
}

// difference colours the lines of a difference.
function difference(text) {
  const pre = el("pre", { tabindex: "0" });
  for (const line of text.split("\n")) {
    pre.append(el("span", { class: line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : undefined }, line), "\n");
  }
  return pre;
}

// link is a button that goes somewhere on this page.
function link(text, to, more) {
  return el("button", { type: "button", class: "link", ...more, onclick: () => go(to) }, text);
}

const nested = v => v !== null && typeof v === "object" && Object.keys(v).length > 0;

// A text is quoted where YAML would take it for something else.
const plain = s => /^[a-z/][\w./:@%+-]*( [\w./(),@%+-]+)*$/i.test(s) && !/: |:$|^(true|false|null|yes|no|on|off|y|n)$/i.test(s) ? s : JSON.stringify(s);

// yaml writes a value as kubectl does.
function yaml(v, indent = "") {
  if (!nested(v)) return typeof v === "string" ? plain(v) : JSON.stringify(v);
  if (Array.isArray(v)) return v.map(x => `${indent}- ${yaml(x, `${indent}  `).trimStart()}`).join("\n");
  return Object.entries(v).map(([k, x]) => `${indent}${plain(k)}:${nested(x) ? `\n${yaml(x, Array.isArray(x) ? indent : `${indent}  `)}` : ` ${yaml(x)}`}`).join("\n");
}

// folded shows a text with a value that opens beneath it.
function folded(text, value, ...more) {
  return el("details", {}, el("summary", {}, el("span", { class: "mono" }, text), ...more), el("pre", { tabindex: "0" }, typeof value === "string" ? value : yaml(value)));
}

// table makes a table of texts. A cell may be { of: text or element, class }; one with below stands in a line of its own beneath the others, and one with here marks its row.
function table(caption, headers, rows) {
  const of = c => c && c.of !== undefined ? c.of : c;
  const cell = (c, i) => el(i ? "td" : "th", { scope: i ? undefined : "row", class: c && c.class }, of(c));
  const lines = r => {
    const beside = r.filter(c => !(c && c.below)), below = r.filter(c => c && c.below && c.of), here = beside.some(c => c && c.here) ? "true" : undefined;
    const first = el("tr", { "aria-current": here, class: below.length && "over" }, ...beside.map(cell));
    return below.length ? [first, el("tr", { "aria-current": here }, el("td", { colspan: beside.length, class: "below" }, ...below.map(c => el("div", { class: c.class }, c.of))))] : [first];
  };
  return el("div", { class: "wide", role: "region", "aria-label": caption, tabindex: "0" },
    el("table", {}, el("caption", { class: "away" }, caption),
      el("thead", {}, el("tr", {}, ...headers.map(h => el("th", { scope: "col", class: h.class }, of(h))))),
      el("tbody", {}, ...rows.flatMap(lines))));
}
