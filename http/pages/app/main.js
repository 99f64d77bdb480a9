// The frame: who is signed in, which view is shown.

import { forget, get, keep, token, Refused } from "./api.js";
import { failed, fill, h, loading, say, text } from "./dom.js";
import * as feed from "./feed.js";

const views = {
  workers: ["Workers", () => import("./workers.js")],
  tasks: ["Tasks", () => import("./tasks.js")],
  runs: ["Runs", () => import("./runs.js")],
  playground: ["Playground", () => import("./playground.js")],
  batches: ["Batches", () => import("./batches.js")],
  schedules: ["Schedules", () => import("./schedules.js")],
  flows: ["Flows", () => import("./flows.js")],
  profiles: ["Profiles", () => import("./profiles.js")],
  notices: ["Notices", () => import("./notices.js")],
  usage: ["Usage", () => import("./usage.js")],
  operator: ["Operator", () => import("./operator.js")],
};

const main = document.getElementById("main");
const bar = document.getElementById("bar");
let who; // the answer of /v1/usage
let leaveView;
let unloaded = false; // the view that the address names could not be loaded

// enter signs in with a token, or says why not.
async function enter(t) {
  who = await get("/v1/usage", { as: t });
  keep(t);
  void feed.start();
  drawBar();
  await show();
}

function signOut(why) {
  forget();
  feed.leave();
  who = undefined;
  bar.hidden = true;
  door(why);
}

function door(why) {
  leaveView?.abort();
  document.title = "Sign in · Troupe";
  const said = h("div");
  const input = h("input", { type: "password", id: "token", autocomplete: "off", spellcheck: "false", required: true, placeholder: "troupe_…", "aria-describedby": "door-help" });
  const button = h("button", { class: "main", id: "sign-in" }, "Sign in");
  const submit = async (e) => {
    e.preventDefault();
    button.disabled = true;
    failed(said);
    try {
      await enter(input.value.trim());
    } catch (err) {
      failed(said, err);
      button.disabled = false;
      input.select();
    }
  };
  fill(main, h("div", { class: "door sheet" },
    h("div", { class: "brand" }, h("img", { src: "/app/icon.svg", alt: "" }), "Troupe"),
    h("h1", { tabindex: "-1" }, "Sign in"),
    h("form", { onsubmit: submit }, h("label", { for: "token" }, "Token of your account", input), said, button),
    h("p", { class: "small soft", id: "door-help" }, "The service prints a token at its first start. ", h("code", {}, "troupe token create --account local"), " prints another one, for the account of the first start. The program is in bin after make run. This tab keeps the token until you sign out or close it."),
    h("p", { class: "small soft" }, "New here? ", h("a", { href: "/docs/start" }, "Read how it works"), ".")));
  failed(said, why);
  input.focus();
}

function drawBar() {
  fill(bar,
    h("a", { class: "brand", href: "#/workers", "aria-label": "Troupe" }, h("img", { src: "/app/icon.svg", alt: "" }), "Troupe"),
    h("nav", { "aria-label": "Views" }, Object.entries(views)
      .filter(([name]) => name !== "operator" || who.operator)
      .map(([name, [title]]) => h("a", { href: `#/${name}`, "data-view": name }, title)), h("a", { href: "/docs/start" }, "Docs")),
    h("div", { class: "who" }, themes(), h("span", { id: "account" }, who.account ?? "", " · ", who.plan),
      h("button", { class: "plain", id: "sign-out", onclick: () => signOut() }, "Sign out")));
  bar.hidden = false;
}

// themes chooses colours. What is chosen stays in this browser.
function themes() {
  const now = document.documentElement.dataset.theme ?? "";
  return h("select", {
    id: "theme", "aria-label": "Colours",
    onchange: ({ target: { value } }) => {
      if (value) document.documentElement.dataset.theme = value;
      else delete document.documentElement.dataset.theme;
      if (value) localStorage.setItem("troupe.theme", value);
      else localStorage.removeItem("troupe.theme");
    },
  }, [["", "Auto theme"], ["light", "Light theme"], ["dark", "Dark theme"]].map(([v, s]) => h("option", { value: v, selected: v === now }, s)));
}

// show draws the view that the address names.
async function show() {
  if (!who) return;
  const [path] = location.hash.split("?"); // what follows is the view's own
  const [, name = "", ...rest] = path.split("/");
  const here = views[name] && (name !== "operator" || who.operator) ? name : "workers";
  const [title, load] = views[here];
  for (const a of bar.querySelectorAll("nav a")) {
    if (a.dataset.view === here) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  document.title = `${title} · Troupe`;
  if (main.dataset.view === here && !leaveView.signal.aborted) {
    main.dispatchEvent(new CustomEvent("address", { detail: rest }));
    return;
  }
  leaveView?.abort();
  delete main.dataset.view; // nothing is drawn until the next one is loaded
  const mine = (leaveView = new AbortController());
  const head = () => h("div", { class: "head" }, h("h1", { tabindex: "-1" }, title));
  // The last view does not stay under the name of this one.
  const slow = setTimeout(() => fill(main, head(), loading(title.toLowerCase()).element), 150);
  let view;
  try {
    view = await within(patience, load());
  } catch {
    if (mine.signal.aborted) return;
    unloaded = true;
    const again = h("button", { id: "try-again", onclick: () => void retry() }, "Try again");
    fill(main, head(), h("div", { class: "sheet pad stack" }, h("p", { class: "error", role: "alert" }, "This view could not be loaded. Is the service running?"), h("div", { class: "tools" }, again)));
    const timer = setInterval(() => document.hidden || retry(), every);
    mine.signal.addEventListener("abort", () => clearInterval(timer), { once: true });
    return;
  } finally {
    clearTimeout(slow);
  }
  if (mine.signal.aborted) return;
  unloaded = false;
  main.dataset.view = here;
  fill(main);
  view.draw(main, { signal: mine.signal, who, rest });
  // Whoever came by keyboard goes on from the top of the view.
  const h1 = main.querySelector("h1");
  h1?.setAttribute("tabindex", "-1");
  h1?.focus({ preventScroll: true });
  bar.querySelector("nav a[aria-current]").scrollIntoView({ block: "nearest", inline: "center" }); // a phone does not show all of them
  window.scrollTo(0, 0);
}

const patience = 20_000; // milliseconds for the module of a view
const every = 3000; // milliseconds between two tries to load one that failed

const within = (ms, promise) => new Promise((done, fail) => {
  const timer = setTimeout(() => fail(new Error("it takes too long")), ms);
  promise.then(done, fail).finally(() => clearTimeout(timer));
});

// retry loads the view that could not be loaded, once the service answers. A browser may
// keep the failure of a module until the page is loaded anew.
async function retry() {
  try {
    await get("/v1/usage");
  } catch (err) {
    return void say(err.message);
  }
  if (unloaded) await show();
  if (unloaded) location.reload();
}

window.addEventListener("hashchange", show);
window.addEventListener("unauthorized", () => {
  if (who) signOut(new Error("This token is no longer valid. Sign in with another one."));
});

// Browsers open few connections to one place, for all tabs together: a tab that
// nobody sees needs none. What it has missed comes first when it is seen again.
document.addEventListener("visibilitychange", () => {
  if (!who) return;
  if (document.hidden) feed.rest();
  else void feed.start();
});

let wasUp = true;
feed.onChange(() => {
  if (!who || feed.link.up === wasUp) return;
  wasUp = feed.link.up;
  text(document.getElementById("account"), wasUp ? `${who.account ?? ""} · ${who.plan}` : "Not connected. Reconnecting…");
  if (!wasUp) say("Lost the connection to the service");
});

if (token()) {
  enter(token()).catch((err) => (err instanceof Refused && err.status === 401 ? signOut() : door(err)));
} else {
  door();
}
