// The table of controllers, those in trouble first: rows stay as they are and only their texts change, so that focus and selection stay.

const columns = [
  { id: "name", label: "Name", of: c => c.name },
  { id: "state", label: "State", of: c => c.state, class: c => c.state === "Running" ? "good" : c.state === "Starting" || c.state === "Standby" ? "faint" : "bad" },
  { id: "stuck", label: "Stuck", num: c => c.failing + c.parked, text: c => count(c.failing + c.parked), class: c => c.failing ? "bad" : c.parked ? "warn" : "" },
  { id: "errors", label: "Errors", num: c => c.syncs.failed, text: c => count(c.syncs.failed), class: c => c.syncs.failed ? "warn" : "" },
  { id: "version", label: "Version", of: c => c.version, title: c => c.digest, spare: true },
  { id: "leader", label: "Leader", of: c => c.leader || "", optional: true, spare: true },
  { id: "queue", label: "Queue", num: c => c.queue, text: c => count(c.queue), spare: true },
  { id: "syncing", label: "Syncing", num: c => c.syncing, text: c => `${c.syncing}/${c.workers}`, spare: true },
  { id: "rate", label: "Syncs/s", num: c => c.rate || 0, text: c => rate(c.rate), spark: true, spare: true },
  { id: "syncs", label: "Syncs", num: c => c.syncs.total, text: c => count(c.syncs.total), spare: true },
  { id: "p50", label: "p50", num: c => c.syncs.p50, text: c => took(c.syncs.p50), spare: true },
  { id: "p99", label: "p99", num: c => c.syncs.p99, text: c => took(c.syncs.p99), spare: true },
  { id: "writes", label: "Writes", num: c => c.written, text: c => count(c.written), title: c => verbs(c), spare: true },
  { id: "differences", label: "Shadow", num: c => c.differences || 0, text: c => count(c.differences || 0), title: () => "differences of its shadow", class: c => c.differences ? "warn" : "", optional: true, spare: true },
];

const verbs = c => Object.entries(c.writes.verbs || {}).sort((a, b) => b[1] - a[1]).map(([verb, n]) => `${verb} ${n}`).join(", ");

let sorted = { id: "", down: false }; // by a column; none: those in trouble first

// trouble says how badly off a controller is. Keys are parked for a moment all the time, so that counts after a while, lest rows jump.
const trouble = c => ["Idle", "Degraded", "Quarantined"].includes(c.state) ? 3 : c.failing || c.aside ? 2
  : c.parkedLooks > 2 || c.restless || c.slow || c.unsettled || (c.unlisted || []).length || c.state === "Running" && c.message ? 1 : 0;
const rows = new Map(); // by controller

function headers(again) {
  const tr = document.querySelector("#controllers thead tr");
  tr.replaceChildren(...columns.map(k => el("th", { scope: "col", class: [k.num && "num", k.spare && "spare"].filter(Boolean).join(" "), "data-column": k.id }, el("button", {
    type: "button",
    onclick: () => { // once, the other way round, and as at first
      sorted = sorted.id !== k.id ? { id: k.id, down: !!k.num } : sorted.down === !!k.num ? { id: k.id, down: !k.num } : { id: "", down: false };
      again();
    },
  }, k.label))));
}

function row(c) {
  const tr = el("tr", {}), open = link(c.name, { controller: c.name }, { "aria-expanded": "false" });
  const cells = columns.map((k, i) => {
    if (i === 0) {
      tr.append(el("th", { scope: "row" }, open));
      return null;
    }
    const text = el("span", {}), svg = k.spark && spark(), td = svg ? el("td", {}, svg, " ", text) : el("td", {}, text);
    tr.append(td);
    return { td, text, svg };
  });
  return { tr, open, cells };
}

// showControllers brings the table up to date.
function showControllers(all, selected, filter) {
  const body = document.querySelector("#controllers tbody"), by = columns.find(k => k.id === sorted.id), shows = k => !k.optional || all.some(c => k.num ? k.num(c) : k.of(c)); // a column that is empty everywhere may be left out
  for (const th of document.querySelectorAll("#controllers thead th")) {
    const k = columns.find(x => x.id === th.dataset.column);
    th.hidden = !shows(k);
    if (k.id === sorted.id) th.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
    else th.removeAttribute("aria-sort");
  }
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = all.filter(c => words.every(w => `${c.name} ${c.plugin} ${c.state} ${c.version} ${c.digest}`.toLowerCase().includes(w)));
  shown.sort((a, b) => {
    const d = !by ? trouble(b) - trouble(a) : by.num ? by.num(a) - by.num(b) : by.of(a).localeCompare(by.of(b));
    return (sorted.down ? -d : d) || a.name.localeCompare(b.name);
  });
  const names = new Set(shown.map(c => c.name));
  for (const [name, r] of rows) {
    if (!names.has(name)) {
      r.tr.remove();
      rows.delete(name);
    }
  }
  const hidden = columns.map(k => !shows(k));
  shown.forEach((c, i) => {
    let r = rows.get(c.name);
    if (!r) rows.set(c.name, r = row(c));
    r.open.setAttribute("aria-expanded", String(c.name === selected));
    r.tr.classList.toggle("selected", c.name === selected);
    columns.forEach((k, j) => {
      const cell = r.cells[j];
      if (!cell) return;
      setText(cell.text, k.num ? k.text(c) : k.of(c));
      cell.td.className = [k.num ? "num" : "", k.spare ? "spare" : "", k.class ? k.class(c) : "", k.num && !k.num(c) ? "zero" : ""].filter(Boolean).join(" ");
      cell.td.hidden = hidden[j];
      if (k.title) cell.td.title = k.title(c);
      if (cell.svg) drawSpark(cell.svg, c.history);
    });
    if (body.children[i] !== r.tr) body.insertBefore(r.tr, body.children[i] || null);
  });
}
