// One controller, or what a search for a key has found: from a stuck key to its cause.

// keyCell names a key and opens it; that of a controller's only key has no name.
const keyCell = x => ({ of: link(x.key || "its only key", { controller: x.controller, key: x.key }), class: "key" });

const num = of => ({ of, class: "num" }), wide = of => ({ of, class: "grow" });

// stuckTable shows keys that aren't done; one key alone isn't named again.
function stuckTable(keys, now, { withController, withKey = true } = {}) {
  const head = [...(withKey ? [wide("Key")] : []), ...(withController ? ["Controller"] : []), "State", num("Tries"), num("For"), withKey ? "Next try" : wide("Next try")];
  return table("Keys that aren't done", head, keys.map(k => {
    const why = (k.waitsFor || []).length ? `waits for ${k.waitsFor.join("; ")}` : k.error || "";
    const next = k.next ? (seconds(now, k.next) > 0 ? `in ${age(seconds(now, k.next))}` : "now") : k.state === "given up" ? "when it changes" : "–";
    return [
      ...(withKey ? [keyCell(k)] : []),
      ...(withController ? [{ of: k.controller, class: "key" }] : []),
      { of: k.state, class: k.state === "failing" || k.state === "set aside" || k.state === "given up" ? "bad" : k.state === "waiting" ? "" : "warn" },
      num(k.tries ? String(k.tries) : "–"), num(age(seconds(k.since, now))), next,
      { of: k.result && k.result !== "error" && k.error ? `${k.result}: ${why}` : why, class: "text", below: true },
    ];
  }));
}

// syncTable shows syncs, of which the one at a time is open; those of one key alone don't name it again.
function syncTable(syncs, { withController, withKey, open }) {
  const head = ["When", ...(withKey ? [wide("Key")] : []), ...(withController ? ["Controller"] : []), withKey ? "Result" : wide("Result"), num("Took")];
  return table("Recorded syncs, the newest first", head, syncs.map(s => [
    { of: link(clock(s.time), { controller: s.controller, key: s.key, sync: s.time }, { title: `${s.time}: what went in, and what came out` }), class: "mono", here: s.time === open },
    ...(withKey ? [keyCell(s)] : []),
    ...(withController ? [{ of: s.controller, class: "key" }] : []),
    { of: s.result, class: s.result === "ok" ? "good" : "bad" },
    num(took(s.seconds)),
    { of: [...(s.did || []), ...(s.again ? [`again after ${s.again}`] : [])].join("\n") || (s.error ? "" : "nothing"), class: "text some", below: true },
    { of: s.error, class: "text faint brief", below: true },
  ]));
}

function part(title, ...content) {
  return [el("h3", {}, title), ...content.filter(Boolean)];
}

const few = (shown, all) => all > shown ? ` (the first ${shown} of ${all})` : "";

// bringUp brings what was opened into sight, from its title on.
function bringUp(title) {
  byID("opened").scrollTop = 0;
  byID("opened").scrollIntoView({ block: "nearest" });
  title.scrollIntoView({ block: "nearest" });
}

// showDetail fills a panel; focus and scrolling inside stay where its content is the same.
function showDetail(c, plugin, selection, data, now) {
  const panel = byID("detail");
  panel.hidden = !c;
  if (!c) {
    panel.replaceChildren();
    delete panel.dataset.of;
    return;
  }
  const of = JSON.stringify([c.name, selection.key, selection.sync]);
  if (panel.dataset.of !== of) {
    panel.dataset.of = of;
    panel.replaceChildren(
      el("div", { class: "head" }, el("h2", { id: "detail-title", tabindex: "-1" }, c.name), el("button", { type: "button", onclick: () => go({}) }, "Close")),
      el("nav", { class: "trail", "aria-label": "What is open of it" }, ...trail(c.name, selection)), el("div", { id: "sync" }), el("div", { id: "detail-body" }));
    byID("detail-title").focus({ preventScroll: true });
    bringUp(byID("detail-title"));
  }
  if (selection.sync) replace(byID("sync"), syncParts(selection.sync, data.sync), JSON.stringify(data.sync || null));
  const body = selection.key ? [] : controllerParts(c, plugin, now);
  if (data.error) body.push(el("p", { class: "bad" }, data.error));
  if (data.keys) {
    body.push(...part(selection.key ? "Why it is stuck" : `Stuck keys${few(data.keys.keys.length, data.keys.all)}`,
      data.keys.keys.length ? stuckTable(data.keys.keys, now, { withKey: !selection.key }) : el("p", { class: "faint" }, selection.key ? "This key isn't stuck." : "None: no key fails, is parked or takes long.")));
    if (data.keys.waiting.length) body.push(...part(selection.key ? "Its timer" : `Keys with a timer${few(data.keys.waiting.length, data.keys.allWaiting)}`, stuckTable(data.keys.waiting, now, { withKey: !selection.key })));
  }
  if (!selection.key && c.last) {
    body.push(...part("Last error", el("p", { class: "text" }, `${age(seconds(c.last.time, now))} ago, ${c.last.key || "its only key"}, ${c.last.result}: ${c.last.error}`)));
  }
  if (data.syncs) {
    body.push(...part(`Last recorded syncs${few(data.syncs.syncs.length, data.syncs.all)}`,
      data.syncs.syncs.length ? syncTable(data.syncs.syncs, { withKey: !selection.key, open: selection.sync }) : el("p", { class: "faint" }, "None is remembered.")));
  }
  if (!selection.key && data.differences && data.differences.length) {
    body.push(...part("Its shadow answers differently"));
    for (const d of data.differences.slice(-10).reverse()) {
      body.push(el("p", {}, `${clock(d.time)} ${d.key}: `, el("span", { class: "mono" }, `${brief(d.live)} (−) and its shadow ${brief(d.shadow)} (+)`)), difference(d.text));
    }
  }
  const signature = JSON.stringify([data.keys, data.syncs, data.differences, data.error, c.state, c.message, c.last, c.syncs, c.writes, Math.floor(Date.parse(now) / 1000)]);
  replace(byID("detail-body"), body, signature);
}

// trail names the key and the sync that are open, with ways back.
function trail(controller, { key, sync }) {
  const all = [];
  if (key) all.push(el("div", {}, el("span", { class: "faint" }, "Key"), el("strong", { class: "mono" }, key), el("button", { type: "button", onclick: () => go({ controller }) }, "All keys")));
  if (sync) all.push(el("div", {}, el("span", { class: "faint" }, "Sync"), el("strong", { class: "mono" }, clock(sync)), el("button", { type: "button", onclick: () => go({ controller, key }) }, "All syncs")));
  return all;
}

function controllerParts(c, plugin, now) {
  const facts = el("dl", { class: "facts" },
    fact("state", c.state), fact("plugin", `${c.plugin} ${c.version}`), fact("digest", brief(c.digest)),
    plugin && fact("from", plugin.origin), plugin && fact("age", `${age(seconds(plugin.since, now))}`),
    fact("instances", plugin ? `${plugin.instances}, ${plugin.busy} busy` : "–"), fact("memory of the last sync", bytes(c.syncs.memory)),
    fact("syncs", `${c.syncs.total}, ${c.syncs.failed} failed, ${c.syncs.stale} put off`), fact("time in the sandbox", took(c.syncs.guestSeconds)), fact("fuel", count(c.syncs.fuel)),
    fact("writes", verbs(c) || "none"), fact("failed writes", String(c.writes.failed)),
    plugin && plugin.trial ? fact("on trial", `${brief(plugin.before)} stays loaded until it is over`) : null,
    plugin && plugin.shadow ? fact("shadow", brief(plugin.shadow)) : null);
  return c.message ? [facts, el("p", { class: "bad text" }, c.message)] : [facts];
}

// replace changes an element's content if it is another one, and keeps the focus on the element with the same text.
function replace(e, content, signature) {
  const marked = getSelection();
  if (e.dataset.signature === signature || e.dataset.signature && !marked.isCollapsed && e.contains(marked.anchorNode)) return; // somebody is copying from it
  e.dataset.signature = signature;
  const focused = e.contains(document.activeElement) && document.activeElement, scroll = [...e.querySelectorAll(".wide, pre")].map(x => [x.scrollTop, x.scrollLeft]);
  const same = focused && [...e.querySelectorAll("button, [tabindex]")].filter(x => x.textContent === focused.textContent).indexOf(focused), text = focused && focused.textContent;
  e.replaceChildren(...content);
  [...e.querySelectorAll(".wide, pre")].forEach((x, i) => scroll[i] && ([x.scrollTop, x.scrollLeft] = scroll[i]));
  if (focused) {
    const again = [...e.querySelectorAll("button, [tabindex]")].filter(x => x.textContent === text)[same];
    if (again) again.focus({ preventScroll: true });
  }
}

function showFound(match, data, now) {
  const panel = byID("found");
  panel.hidden = !match;
  if (!match) {
    delete panel.dataset.of;
    return;
  }
  if (panel.dataset.of !== match) {
    panel.dataset.of = match;
    panel.replaceChildren(
      el("div", { class: "head" }, el("h2", { id: "found-title" }, `Keys with “${match}”`), el("button", { type: "button", onclick: () => go({ controller: selection.controller }) }, "Close")),
      el("div", { id: "found-body" }));
    bringUp(byID("found-title"));
  }
  const body = [];
  if (data.error) body.push(el("p", { class: "bad" }, data.error));
  if (data.keys) {
    body.push(...part(`Stuck${few(data.keys.keys.length, data.keys.all)}`, data.keys.keys.length ? stuckTable(data.keys.keys, now, { withController: true }) : el("p", { class: "faint" }, "No such key is stuck.")));
    if (data.keys.waiting.length) body.push(...part(`With a timer${few(data.keys.waiting.length, data.keys.allWaiting)}`, stuckTable(data.keys.waiting, now, { withController: true })));
  }
  if (data.syncs) {
    body.push(...part(`Last recorded syncs${few(data.syncs.syncs.length, data.syncs.all)}`,
      data.syncs.syncs.length ? syncTable(data.syncs.syncs, { withController: true, withKey: true }) : el("p", { class: "faint" }, "No sync of such a key is remembered.")));
  }
  replace(byID("found-body"), body, JSON.stringify([data, Math.floor(Date.parse(now) / 1000)]));
}

// onlyFound returns the key that a search has found where there is no other one.
function onlyFound({ keys, syncs }) {
  if (!keys || !syncs || syncs.all > syncs.syncs.length) return null;
  const all = new Map([...keys.keys, ...keys.waiting, ...syncs.syncs].map(x => [`${x.controller} ${x.key}`, { controller: x.controller, key: x.key }]));
  return all.size === 1 ? [...all.values()][0] : null;
}
