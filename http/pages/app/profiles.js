// Profiles: what browsers keep of sites, in versions. They are exported and imported as
// files with a storage state.

import { ask, call, get, Refused, remove } from "./api.js";
import { confirmed } from "./dialogs.js";
import { failed, fill, h, loading, rows, say, text } from "./dom.js";
import { ago, clock, plural, shortID } from "./format.js";
import { stateInto } from "./steps.js";

const every = 3000; // milliseconds between two looks

export function draw(main, { signal, rest }) {
  let [chosen] = rest.map(decodeURIComponent);
  const said = h("div"), count = h("p", { class: "soft small", role: "status" }), wait = loading("profiles");
  const none = h("div", { class: "empty", hidden: true }, h("strong", {}, "No profiles yet"), "A profile keeps cookies and storage of sites between tasks. Name one in a task with ", h("code", {}, '"profile"'), ", or import a file. ", h("a", { href: "/docs/profiles" }, "How profiles work"), ".");
  const list = h("ul", { class: "tasks sheet", "aria-label": "Profiles", hidden: true });
  const detail = h("section", { "aria-label": "The profile" });
  const pair = h("div", { class: "pair" }, h("div", { class: "stack" }, wait.element, none, list, importForm(signal, () => void update())), detail);
  fill(main, h("div", { class: "head" }, h("h1", {}, "Profiles"), count), said, pair);

  let shown, one, profiles;
  const choose = () => {
    if (shown !== chosen || !one) {
      shown = chosen;
      pair.toggleAttribute("data-chosen", Boolean(chosen));
      one = chosen ? profileDetail(chosen, signal, () => void update()) : undefined;
      fill(detail, one ? one.element : h("p", { class: "empty" }, h("strong", {}, "No profile selected"), "Select a profile to see its versions, and to export or delete it."));
    }
    if (profiles) one?.show(profiles.find((p) => p.name === chosen));
  };
  const update = async () => {
    try {
      ({ profiles } = await get("/v1/profiles", { signal }));
      wait.done();
      text(count, plural(profiles.length, "profile"));
      none.hidden = profiles.length > 0;
      list.hidden = profiles.length === 0;
      rows(list, profiles, (p) => p.name, row, (e, p) => e.take(p, p.name === chosen));
      choose();
      failed(said);
    } catch (err) {
      if (err.name === "AbortError") return;
      wait.done();
      failed(said, err);
    }
  };
  main.addEventListener("address", ({ detail: [name] }) => ((chosen = name && decodeURIComponent(name)), choose(), void update()), { signal });
  const timer = setInterval(() => document.hidden || update(), every);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  choose();
  void update();
}

const size = (bytes) => (bytes < 1024 ? `${bytes} bytes` : bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`);

// standing shows whether a task may save a profile now.
function standing(e, p) {
  stateInto(e, p.writer ? "busy" : "online");
  return text(e, p.writer ? "In use" : "Free");
}

const writer = (p) => ({ import: "an import", removal: "its removal" })[p.writer] ?? `task ${shortID(p.writer)}`;

function row(first) {
  const state = h("span"), name = h("code"), when = h("span", { class: "soft" }), of = h("span", { class: "of" });
  const a = h("a", { href: `#/profiles/${encodeURIComponent(first.name)}` }, state, name, when, of);
  const li = h("li", { "data-profile": first.name }, a);
  li.take = (p, chosen) => {
    const newest = p.versions.at(-1);
    standing(state, p);
    text(name, p.name);
    text(when, newest ? ago(newest.saved) : "");
    text(of, [`version ${p.version}`, newest && size(newest.bytes), p.writer && `${writer(p)} saves it`].filter(Boolean).join(" · "));
    if (chosen) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  };
  return li;
}

// profileDetail is all that is known of one profile.
function profileDetail(name, signal, changed) {
  const state = h("span"), said = h("div"), facts = h("dl", { class: "facts" });
  const drop = h("button", { class: "danger", id: "delete-profile", onclick: () => void removed() }, "Delete");
  const versions = h("ul", { class: "runs", "aria-label": "Versions, newest first" });
  const there = h("div", { class: "stack", hidden: true }, facts, h("div", {}, h("h3", {}, "Versions"), versions,
    h("p", { class: "soft small" }, "Anyone with the exported file is signed in as you are: protect it.")));
  const element = h("div", { class: "sheet result" }, h("div", { class: "tools" }, h("h2", {}, name), state, drop, h("a", { class: "button plain", href: "#/profiles" }, "Close")), said, there);
  const address = (version) => `/v1/profiles/${encodeURIComponent(name)}${version ? `@${version}` : ""}`;

  async function removed() {
    if (!(await confirmed(`Delete the profile ${name}?`, "All its versions are deleted. You cannot undo this.", "Delete the profile"))) return;
    drop.disabled = true;
    try {
      await remove(address(), { signal });
      say("The profile was deleted");
      location.hash = "#/profiles";
      changed();
    } catch (err) {
      if (err.name !== "AbortError") failed(said, err);
    }
    drop.disabled = false;
  }
  // save hands a version to the browser as a file. The address alone would not do: the
  // token is sent in a header.
  async function save(version) {
    failed(said);
    try {
      const r = await ask("GET", address(version), { signal });
      if (!r.ok) throw new Refused(r.status, await r.json().catch(() => null));
      const url = URL.createObjectURL(await r.blob());
      const link = h("a", { href: url, download: `${name}-${version}.json` });
      document.body.append(link);
      link.click();
      link.remove();
      URL.revokeObjectURL(url);
      say(`Version ${version} was exported`);
    } catch (err) {
      if (err.name !== "AbortError") failed(said, err);
    }
  }
  function version(v) {
    const by = v.taskId ? ["by ", h("a", { href: `#/tasks/${v.taskId}` }, `task ${shortID(v.taskId)}`)] : v.sessionId ? `by session ${shortID(v.sessionId)}` : "imported";
    return h("li", { "data-version": v.version }, h("span", {}, `Version ${v.version}`), h("span", {}, clock(v.saved)),
      h("span", { class: "tools" }, h("button", { class: "export", onclick: () => void save(v.version) }, "Export", h("span", { class: "unseen" }, ` version ${v.version}`))),
      h("span", { class: "of" }, [size(v.bytes), plural(v.cookies, "cookie"), v.origins.length ? `storage of ${plural(v.origins.length, "site")}` : ""].filter(Boolean).join(" · "), " · ", by));
  }
  function show(p) {
    there.hidden = drop.hidden = state.hidden = !p;
    if (!p) return failed(said, "There is no such profile.");
    standing(state, p);
    const is = [["Created", clock(p.created)], ["Version", String(p.version)], ["Saved next by", p.writer ? (p.writer.startsWith("task_") ? h("a", { href: `#/tasks/${p.writer}` }, writer(p)) : writer(p)) : "nobody"], ["Sites", [...new Set(p.versions.at(-1)?.origins ?? [])].join(", ")]].filter(([, v]) => v);
    const key = JSON.stringify([p.version, p.writer]);
    if (facts.dataset.key !== key) fill(facts, is.map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)])).dataset.key = key;
    rows(versions, p.versions.toReversed(), (v) => v.version, version, () => {});
  }
  return { element, show };
}

// importForm stores a file as the next version of a profile.
function importForm(signal, changed) {
  const said = h("div"), name = h("input", { id: "import-name", required: true, maxlength: "64", pattern: "[A-Za-z0-9][A-Za-z0-9_.\\-]*", autocomplete: "off", spellcheck: "false", "aria-describedby": "import-help" });
  const file = h("input", { type: "file", id: "import-file", accept: ".json,application/json", required: true });
  const button = h("button", { id: "import-profile" }, "Import");
  async function submit(e) {
    e.preventDefault();
    button.disabled = true;
    failed(said);
    try {
      const { profile } = await call("PUT", `/v1/profiles/${encodeURIComponent(name.value.trim())}`, { body: await file.files[0].text(), signal });
      say(`Imported as version ${profile.version} of ${profile.name}`);
      location.hash = `#/profiles/${encodeURIComponent(profile.name)}`;
      e.target.reset();
      changed();
    } catch (err) {
      if (err.name !== "AbortError") failed(said, err);
    }
    button.disabled = false;
  }
  return h("form", { class: "sheet pad stack", id: "import-form", onsubmit: (e) => void submit(e) }, h("h2", {}, "Import"),
    h("label", { for: "import-name" }, "Name of the profile", name, h("span", { class: "soft small", id: "import-help" }, "Letters, digits and _ . - A name that exists gets another version.")),
    h("label", { for: "import-file" }, "Storage state of Playwright, a JSON file", file), said, h("div", { class: "tools" }, button));
}
