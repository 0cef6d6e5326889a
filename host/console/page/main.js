// What is looked at, and how often. One status a second while the page is seen, and what belongs to the open controller and to the search beside it.

const every = 1000;
let selection = {}; // controller, key, sync, find: as in the address
let paused = false, started = "", last = null, known = new Map(), details = {}, found = {};

// go opens a controller, a key of it, or a search, so that the browser's back button leads back.
function go(to) {
  const hash = new URLSearchParams(Object.entries(to).filter(([, v]) => v)).toString();
  if (location.hash.slice(1) === hash) return;
  location.hash = hash;
}

function goneTo() {
  const h = new URLSearchParams(location.hash.slice(1));
  selection = { controller: h.get("controller") || "", key: h.get("key") || "", sync: h.get("sync") || "", find: h.get("find") || "" };
  if (document.activeElement !== byID("key")) byID("key").value = selection.find;
  details = {};
  found = {};
  show();
  look(true);
}

// measure adds to a status what is made of it and the one before: rates, versions, leaders.
function measure(status) {
  if (status.process.started !== started) {
    started = status.process.started;
    known = new Map();
  }
  const versions = new Map(status.plugins.map(p => [p.name, p]));
  for (const c of status.controllers) {
    const plugin = versions.get(c.plugin), before = known.get(c.name);
    c.version = plugin ? plugin.version : "";
    c.written = Object.values(c.writes.verbs || {}).reduce((a, b) => a + b, 0);
    c.leader = leaderOf(status, c);
    c.history = before ? before.history : [];
    c.parkedLooks = c.parked ? (before ? before.parkedLooks : 0) + 1 : 0;
    const passed = before ? seconds(before.now, status.process.now) : 0;
    if (passed > 0) {
      c.rate = Math.max(0, c.syncs.total - before.syncs) / passed;
      c.writeRate = Math.max(0, c.written - before.written) / passed;
      c.history = [...c.history, c.rate].slice(-60);
    }
    known.set(c.name, { now: status.process.now, syncs: c.syncs.total, written: c.written, history: c.history, parkedLooks: c.parkedLooks });
  }
  return status;
}

// leaderOf tells who holds the Lease that a controller runs under; empty where there is none.
function leaderOf(status, c) {
  const l = (status.leaders || []).find(x => (x.controllers || []).includes(c.name));
  return !l ? "" : l.here ? "here" : l.holder || "nobody";
}

function totals(status) {
  const sum = f => status.controllers.reduce((a, c) => a + (f(c) || 0), 0);
  const all = [
    ["controllers", count(status.controllers.length)], ["in queues", count(sum(c => c.queue))], ["syncs/s", rate(sum(c => c.rate))], ["writes/s", rate(sum(c => c.writeRate))],
    ["errors", count(sum(c => c.syncs.failed))], ["stuck keys", count(sum(c => c.failing + c.parked))], ["shadow differences", count(sum(c => c.differences))],
  ];
  const box = byID("totals");
  if (box.children.length !== all.length) box.replaceChildren(...all.map(([name, value]) => fact(name, value)));
  all.forEach(([, value], i) => setText(box.children[i].lastChild, value));
}

function showProcess(p) {
  const all = [["host", p.host], ["process", String(p.pid)], ["up", age(seconds(p.started, p.now))], ["API server", p.server]];
  const box = byID("process");
  if (box.children.length !== all.length) box.replaceChildren(...all.map(([name, value]) => fact(name, value)));
  all.forEach(([, value], i) => setText(box.children[i].lastChild, value));
}

// about names what a trouble is about; a controller that runs here opens.
function about(names) {
  return names.split(", ").flatMap((name, i) => [i ? ", " : "", last.controllers.some(c => c.name === name) ? link(name, { controller: name }) : name]);
}

// what says a trouble; the key that it names opens.
function what(t) {
  const at = t.key ? t.what.indexOf(` ${t.key}`, t.what.indexOf("the longest")) + 1 : 0;
  return at ? [t.what.slice(0, at), link(t.key, { controller: t.controller, key: t.key }), t.what.slice(at + t.key.length)] : [t.what];
}

function showTroubles(all) {
  const section = byID("troubles");
  section.hidden = !all.length;
  replace(section.querySelector("ul"), all.map(t => el("li", { class: t.level },
    el("strong", {}, { bad: "Broken: ", warning: "Warning: ", note: "Note: " }[t.level] || ""), ...about(t.about), ": ", ...what(t), t.do ? el("div", { class: "do mono" }, t.do) : null)), JSON.stringify(all));
}

// showAbsent lists the controllers that don't run here.
function showAbsent(all) {
  const section = byID("absent");
  section.hidden = !all.length;
  const why = c => c.objects ? `${c.message}: ${count(c.objects)} ${c.resource}` : c.message;
  replace(section.querySelector("div"), [table("Controllers that don't run here", ["Name", "State", "Why"], all.map(c => [c.name, c.state, { of: why(c), class: c.objects ? "warn text" : "text" }]))],
    JSON.stringify(all));
}

function showSwaps(swaps, now) {
  const colour = { ok: "good", "on trial": "warn", "rolled back": "bad", failed: "bad", stays: "bad" };
  const version = (v, d) => d ? `${v} ${brief(d)}` : "–";
  const body = swaps.map(s => el("tr", {}, el("td", { title: s.time }, `${age(seconds(s.time, now))} ago`), el("th", { scope: "row" }, s.plugin),
    el("td", { class: "mono" }, version(s.fromVersion, s.from)), el("td", { class: "mono" }, version(s.toVersion, s.to)),
    el("td", { class: colour[s.result] || "" }, s.result), el("td", { class: "text" }, s.why || "")));
  replace(document.querySelector("#swaps tbody"), body.length ? body : [el("tr", {}, el("td", { colspan: "6", class: "faint" }, "None since the process began."))],
    JSON.stringify([swaps, swaps.map(s => age(seconds(s.time, now)))]));
}

function show() {
  if (!last) return;
  const c = last.controllers.find(x => x.name === selection.controller);
  byID("work").classList.toggle("open", !!c || !!selection.find);
  showProcess(last.process);
  showTroubles(last.troubles);
  totals(last);
  showControllers(last.controllers, selection.controller, byID("filter").value);
  showAbsent(last.absent || []);
  showDetail(c, c && last.plugins.find(p => p.name === c.plugin), selection, details, last.process.now);
  showFound(selection.find, found, last.process.now);
  showSwaps(last.swaps, last.process.now);
}

// beside gets what belongs to keys, and opens the only one that a search finds; an answer to what isn't asked any more is dropped.
async function beside() {
  const s = selection, of = { controller: s.controller, ...(s.key && { key: s.key }) };
  const get = async (query, differences) => {
    try {
      const [keys, syncs, other] = await Promise.all([
        ask("/windlass/v1/keys", query), ask("/windlass/v1/syncs", { ...query, limit: 20 }), differences ? ask("/windlass/v1/differences", { controller: s.controller }) : [],
      ]);
      return { keys, syncs, differences: other };
    } catch (e) {
      if (e instanceof Denied) throw e;
      return { error: e.message };
    }
  };
  const c = last && last.controllers.find(x => x.name === s.controller);
  const [d, f, sync] = await Promise.all([c ? get(of, c.differences) : {}, s.find ? get({ match: s.find }) : {}, s.sync && c ? details.sync || whole(s) : undefined]);
  if (s !== selection) return;
  const one = s.find && onlyFound(f);
  if (one) {
    location.replace(`#${new URLSearchParams(one)}`);
    return;
  }
  details = { ...d, sync };
  found = f;
}

// whole gets all of one sync, which doesn't change any more. Not everybody who may look may see what is in objects.
async function whole(s) {
  try {
    return { whole: await ask(`/debug/recordings/${encodeURIComponent(s.controller)}/sync`, { key: s.key, time: s.sync }) };
  } catch (e) {
    return { error: e.message };
  }
}

let looking = false;

// look brings the page up to date; now: because something was opened, which is shown at once and while paused, too.
async function look(now) {
  if (looking || !now && (paused || document.hidden) && last) return;
  looking = true;
  const live = byID("live"), s = selection;
  try {
    if (!paused || !last) last = measure(await ask("/windlass/v1/status"));
    await beside();
    byID("login").hidden = true;
    setText(live, paused ? "paused" : "live");
    live.className = paused ? "" : "on";
    show();
  } catch (e) {
    live.className = "off";
    if (e instanceof Denied) {
      setText(live, "not allowed");
      setText(byID("denied"), token ? `Refused: ${e.message.trim()}` : "");
      if (byID("login").hidden) {
        byID("login").hidden = false;
        byID("token").focus();
      }
    } else {
      setText(live, `no answer: ${e.message}`);
    }
  } finally {
    looking = false;
    if (s !== selection) look(true); // something else was opened meanwhile
  }
}

byID("login").addEventListener("submit", e => {
  e.preventDefault();
  token = byID("token").value.trim();
  byID("token").value = "";
  look(true);
});
byID("pause").addEventListener("click", () => {
  paused = !paused;
  byID("pause").setAttribute("aria-pressed", String(paused));
  setText(byID("pause"), paused ? "Resume" : "Pause");
  setText(byID("live"), paused ? "paused" : "live");
  byID("live").className = paused ? "" : "on";
  look();
});
byID("filter").addEventListener("input", show);
byID("find").addEventListener("submit", e => {
  e.preventDefault();
  const find = byID("key").value.trim();
  if (find || selection.find) go({ controller: selection.controller, find });
});
byID("key").addEventListener("search", () => byID("find").requestSubmit());
document.addEventListener("keydown", e => {
  if (e.key === "Escape" && document.activeElement.tagName !== "INPUT") go({});
});
document.addEventListener("keyup", e => {
  if (e.key === "/" && document.activeElement.tagName !== "INPUT") byID("key").focus();
});
addEventListener("hashchange", goneTo);
document.addEventListener("visibilitychange", () => look());

headers(show);
enter().catch(e => setText(byID("denied"), e.message)).finally(() => {
  goneTo();
  setInterval(() => look(), every);
});
