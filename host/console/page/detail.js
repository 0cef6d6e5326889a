// One controller, or what a search for a key has found: from a stuck key to its cause.

// stuckTable shows keys that aren't done.
function stuckTable(keys, now, withController) {
  const head = ["Key", "State", "Tries", "For", "Next try", "Why"];
  return table("Keys that aren't done", withController ? [...head, "Controller"] : head, keys.map(k => {
    const why = (k.waitsFor || []).length ? `waits for ${k.waitsFor.join("; ")}` : k.error || "";
    const next = k.next ? (seconds(now, k.next) > 0 ? `in ${age(seconds(now, k.next))}` : "now") : k.state === "given up" ? "when it changes" : "–";
    const r = [
      { of: el("button", { type: "button", class: "link", onclick: () => go({ controller: k.controller, key: k.key }) }, k.key) },
      { of: k.state, class: k.state === "failing" || k.state === "set aside" || k.state === "given up" ? "bad" : k.state === "waiting" ? "" : "warn" },
      { of: k.tries ? String(k.tries) : "–", class: "num" },
      { of: age(seconds(k.since, now)), class: "num" },
      next,
      { of: k.result && k.result !== "error" && k.error ? `${k.result}: ${why}` : why, class: "text" },
    ];
    return withController ? [...r, k.controller] : r;
  }));
}

function syncTable(syncs, withController) {
  const head = ["When", "Key", "Result", "Took", "Did", "Error"];
  return table("Recorded syncs, the newest first", withController ? [...head, "Controller"] : head, syncs.map(s => {
    const r = [
      { of: clock(s.time), class: "mono" },
      { of: el("button", { type: "button", class: "link", onclick: () => go({ controller: s.controller, key: s.key }) }, s.key || "–") },
      { of: s.result, class: s.result === "ok" ? "good" : "bad" },
      { of: took(s.seconds), class: "num" },
      { of: [...(s.did || []), ...(s.again ? [`again after ${s.again}`] : [])].join("\n") || "nothing", class: "text" },
      { of: s.error || "", class: "text" },
    ];
    return withController ? [...r, s.controller] : r;
  }));
}

function part(title, ...content) {
  return [el("h3", {}, title), ...content];
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
  if (panel.dataset.of !== c.name) {
    panel.dataset.of = c.name;
    panel.replaceChildren(
      el("div", { class: "head" }, el("h2", { id: "detail-title", tabindex: "-1" }, c.name), el("button", { type: "button", onclick: () => go({}) }, "Close")),
      el("div", { id: "detail-body" }));
    byID("detail-title").focus({ preventScroll: true });
    bringUp(byID("detail-title"));
  }
  const facts = el("dl", { class: "facts" },
    fact("state", c.state), fact("plugin", `${c.plugin} ${c.version}`), fact("digest", brief(c.digest)),
    plugin && fact("from", plugin.origin), plugin && fact("age", `${age(seconds(plugin.since, now))}`),
    fact("instances", plugin ? `${plugin.instances}, ${plugin.busy} busy` : "–"), fact("memory of the last sync", bytes(c.syncs.memory)),
    fact("syncs", `${c.syncs.total}, ${c.syncs.failed} failed, ${c.syncs.stale} put off`), fact("time in the sandbox", took(c.syncs.guestSeconds)), fact("fuel", count(c.syncs.fuel)),
    fact("writes", verbs(c) || "none"), fact("failed writes", String(c.writes.failed)),
    plugin && plugin.trial ? fact("on trial", `${brief(plugin.before)} stays loaded until it is over`) : null,
    plugin && plugin.shadow ? fact("shadow", brief(plugin.shadow)) : null);
  const body = [facts];
  if (c.message) body.push(el("p", { class: "bad text" }, c.message));
  if (selection.key) {
    body.push(el("p", {}, "Key ", el("strong", { class: "mono" }, selection.key), " ", el("button", { type: "button", onclick: () => go({ controller: c.name }) }, "All keys")));
  }
  if (data.error) body.push(el("p", { class: "bad" }, data.error));
  if (data.keys) {
    body.push(...part(`Stuck keys${few(data.keys.keys.length, data.keys.all)}`,
      data.keys.keys.length ? stuckTable(data.keys.keys, now) : el("p", { class: "faint" }, selection.key ? "This key isn't stuck." : "None: no key fails, is parked or takes long.")));
    if (data.keys.waiting.length) body.push(...part(`Keys with a timer${few(data.keys.waiting.length, data.keys.allWaiting)}`, stuckTable(data.keys.waiting, now)));
  }
  if (!selection.key && c.last) {
    body.push(...part("Last error", el("p", { class: "text" }, `${age(seconds(c.last.time, now))} ago, ${c.last.key || "its only key"}, ${c.last.result}: ${c.last.error}`)));
  }
  if (data.syncs) {
    body.push(...part(`Last recorded syncs${few(data.syncs.syncs.length, data.syncs.all)}`,
      data.syncs.syncs.length ? syncTable(data.syncs.syncs) : el("p", { class: "faint" }, "None is remembered.")));
  }
  if (data.differences && data.differences.length) {
    body.push(...part("Its shadow answers differently"));
    for (const d of data.differences.slice(-10).reverse()) {
      body.push(el("p", {}, `${clock(d.time)} ${d.key}: `, el("span", { class: "mono" }, `${brief(d.live)} (−) and its shadow ${brief(d.shadow)} (+)`)), difference(d.text));
    }
  }
  const signature = JSON.stringify([c.name, selection, data, c.state, c.message, c.last, c.syncs, c.writes, Math.floor(Date.parse(now) / 1000)]);
  replace(byID("detail-body"), body, signature);
}

// replace changes an element's content if it is another one, and keeps the focus on the element with the same text.
function replace(e, content, signature) {
  const marked = getSelection();
  if (e.dataset.signature === signature || !marked.isCollapsed && e.contains(marked.anchorNode)) return; // somebody is copying from it
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
  const body = [el("div", { class: "head" }, el("h2", { id: "found-title" }, `Keys with “${match}”`), el("button", { type: "button", onclick: () => go({ controller: selection.controller }) }, "Close"))];
  if (data.error) body.push(el("p", { class: "bad" }, data.error));
  if (data.keys) body.push(...part(`Stuck${few(data.keys.keys.length, data.keys.all)}`, data.keys.keys.length ? stuckTable(data.keys.keys, now, true) : el("p", { class: "faint" }, "No such key is stuck.")));
  if (data.syncs) {
    body.push(...part(`Last recorded syncs${few(data.syncs.syncs.length, data.syncs.all)}`,
      data.syncs.syncs.length ? syncTable(data.syncs.syncs, true) : el("p", { class: "faint" }, "No sync of such a key is remembered.")));
  }
  replace(panel, body, JSON.stringify([match, data, Math.floor(Date.parse(now) / 1000)]));
  if (panel.dataset.of !== match) {
    panel.dataset.of = match;
    bringUp(byID("found-title"));
  }
}
