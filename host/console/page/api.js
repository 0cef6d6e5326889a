// Asking the host. The credentials are in memory only; those of windlass console hold for its own port alone and outlive a reload of the page.

let token = "";

class Denied extends Error {}

async function ask(path, query) {
  const asked = query ? `${path}?${new URLSearchParams(query)}` : path;
  const r = await fetch(asked, { headers: token ? { Authorization: `Bearer ${token}` } : {}, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(8000) });
  if (r.status === 401 || r.status === 403) throw new Denied((await r.text()).slice(0, 500) || r.statusText);
  if (!r.ok) throw new Error(`${r.status} ${(await r.text()).slice(0, 500)}`);
  return r.json();
}

// enter takes the one-time token of windlass console out of the address, and gives it for a session.
async function enter() {
  const once = new URLSearchParams(location.hash.slice(1)).get("once");
  token = sessionStorage.getItem("session") || "";
  if (!once) return;
  history.replaceState(null, "", location.pathname);
  const r = await fetch("/session", { method: "POST", headers: { Authorization: `Bearer ${once}` }, cache: "no-store", credentials: "omit" });
  if (!r.ok) throw new Denied("This address was used before: run windlass console again.");
  token = await r.text();
  sessionStorage.setItem("session", token);
}
