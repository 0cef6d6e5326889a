// One sync: what went in, what it did in the middle, what came out of it.

const objectsMost = 100; // of a view, that are shown

const nameOf = o => o.metadata ? [o.metadata.namespace, o.metadata.name].filter(Boolean).join("/") : "";

// sent is what an effect sends: an object, or what an update changes.
const sent = n => n.object !== undefined ? n.object : n.set || n.unset ? { set: n.set, unset: n.unset } : undefined;

// noted shows an effect, with what it sends beneath it and the members of a group.
function noted(n, ...more) {
  const said = (n.with || []).length ? [el("span", { class: "faint" }, ` ${n.with.join(", ")}`)] : [];
  const body = sent(n), head = body === undefined ? el("div", {}, el("span", { class: "mono" }, n.do), ...said, ...more) : folded(n.do, body, ...said, ...more);
  return el("li", {}, head, (n.members || []).length ? el("ul", { class: "things" }, ...n.members.map(m => noted(m))) : null);
}

function performed(p) {
  const end = el("span", { class: p.outcome === "ok" ? "good" : p.outcome === "skipped" ? "faint" : "bad" }, ` ${p.outcome}`), n = noted(p, end);
  if (p.got !== undefined) n.append(folded("what it got", p.got));
  return n;
}

// seen shows a view: each object opens.
function seen(v) {
  const all = v.objects || [];
  const says = v.guarded ? "not looked at" : all.length || !v.count ? String(all.length || "none") : String(v.count);
  return el("li", {},
    el("div", {}, el("strong", {}, v.view), " ", el("span", { class: "faint" }, `${v.resource}: ${says}${(v.unlisted || []).length ? `, without ${v.unlisted.join(", ")}` : ""}`)),
    el("ul", { class: "things" }, ...all.slice(0, objectsMost).map(o => el("li", {}, typeof o === "string" ? o : folded(nameOf(o) || "an object", o))),
      all.length > objectsMost ? el("li", { class: "faint" }, `and ${all.length - objectsMost} more: windlass get sync has them`) : null));
}

const things = (all, none) => all.length ? el("ul", { class: "things" }, ...all) : el("p", { class: "faint" }, none);

// syncParts are the parts of one sync as windlass get sync has it.
function syncParts(time, got) {
  if (!got) return [el("p", { class: "faint" }, "Loading …")];
  if (got.error) return [el("p", { class: "bad text" }, `What went in and came out can't be shown: ${got.error}`)];
  const s = got.whole, a = s.answer || {}, says = [
    ...(a.effects || []).map(e => noted(e)), ...(a.metrics || []).map(m => el("li", { class: "mono" }, m)),
    a.state && el("li", {}, `state: ${a.state}`), a.requeueAfter && el("li", {}, `again after ${a.requeueAfter}`),
  ].filter(Boolean);
  const all = [el("dl", { class: "facts" }, el("div", {}, el("dt", {}, "result"), el("dd", { class: s.result === "ok" ? "good" : "bad" }, s.result)), fact("took", s.took),
    s.attempt ? fact("failures before it", String(s.attempt)) : null, fact("plugin", s.plugin), fact("digest", brief(s.digest)),
    s.redacted ? fact("redacted", "values of Secrets are wiped") : null)];
  if (s.error) all.push(el("p", { class: "bad text" }, s.error));
  if (s.missing) return [...all, el("p", { class: "faint" }, `There is nothing of its call: ${s.missing}.`)];
  all.push(...part("Objects in", things([...(s.snapshot || []).map(seen), ...(s.state ? [el("li", {}, `state: ${s.state}`)] : [])], "None.")));
  if ((s.performed || []).length) all.push(...part("Done in the middle", things(s.performed.map(performed))));
  all.push(...part("Effects out", a.error && a.error !== s.error ? el("p", { class: "bad text" }, a.error) : null, things(says, s.answer ? "None: it wants nothing done." : "It didn't answer.")));
  all.push(...part("Written and recorded", things((s.wrote || []).map(w => el("li", { class: "mono" }, w)), "Nothing.")));
  return all;
}
