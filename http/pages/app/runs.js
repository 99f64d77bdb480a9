// Runs: tasks that have ended, how many of them failed, when and why. The filters are in the
// address of the page, so that a link shows the same.

import { get } from "./api.js";
import { failed, fill, h, loading, rows, say, text } from "./dom.js";
import { ago, duration, plural } from "./format.js";
import { runDetail } from "./run_detail.js";
import { chart, parts, span } from "./runs_chart.js";
import { stateInto } from "./steps.js";

const every = 10_000; // milliseconds between two looks
const most = 50; // runs of one part of the list
const narrow = matchMedia("(max-width: 980px)");
const filters = ["state", "code", "label", "origin", "of", "address", "token", "q", "from", "to"];
const periods = { day: ["the last 24 hours", 86_400_000], week: ["the last 7 days", 7 * 86_400_000], all: ["all that is kept", undefined] };
const origins = { request: "Request", mcp: "Agent", batch: "Batch", schedule: "Schedule" };

// wanted reads from the address of the page what is shown.
function wanted() {
  const given = new URLSearchParams(location.hash.split("?")[1] ?? "");
  const w = { period: Object.hasOwn(periods, given.get("period")) ? given.get("period") : "day" };
  for (const f of filters) if (given.get(f)) w[f] = given.get(f);
  return w;
}

// address is that of the view with a run and what is shown.
function address(id, w) {
  const q = new URLSearchParams(Object.entries(w).filter(([k, v]) => v && !(k === "period" && v === "day")));
  return `#/runs${id ? `/${id}` : ""}${q.size ? `?${q}` : ""}`;
}

// asked is the query of the service for what is shown, without some of its filters.
function asked(w, without = []) {
  const q = new URLSearchParams(filters.filter((f) => w[f] && !without.includes(f)).map((f) => [f, w[f]]));
  const [, length] = periods[w.period];
  if (length && !w.from && !w.to) q.set("from", new Date(Math.floor((Date.now() - length) / 60_000) * 60_000).toISOString());
  return q;
}

// counted is how many runs a query selects, by hour.
async function counted(q, signal) {
  const all = [];
  for (let cursor; ;) {
    if (cursor) q.set("cursor", cursor);
    const { counts, next } = await get(`/v1/runs/counts?${q}`, { signal });
    all.push(...counts);
    if (!next) return all;
    cursor = next;
  }
}

export function draw(main, { signal, who, rest }) {
  let chosen = rest[0], w = wanted();
  const go = (change) => (location.hash = address(chosen, { ...w, ...change }));
  const said = h("div"), answer = h("p", { class: "answer", role: "status" }), wait = loading("runs");
  const find = h("input", { type: "search", id: "find", "aria-label": "Search by label, site, title, code or id", placeholder: "Search label, site, title, code, id", onchange: () => go({ q: find.value.trim() }) });
  const state = h("select", { id: "state", "aria-label": "State", onchange: () => go({ state: state.value, code: "" }) });
  const origin = h("select", { id: "origin", "aria-label": "Origin", onchange: () => go({ origin: origin.value }) },
    [["", "From everywhere"], ...Object.entries(origins)].map(([v, s]) => h("option", { value: v }, s)));
  const period = h("select", { id: "period", "aria-label": "Time", onchange: () => go({ period: period.value, from: "", to: "" }) },
    [["day", "24 hours"], ["week", "7 days"], ["all", "All kept"]].map(([v, s]) => h("option", { value: v }, s)));
  const drawn = chart((p) => go({ from: new Date(p.at).toISOString(), to: new Date(p.until).toISOString() }));
  const why = h("ul", { class: "why", "aria-label": "Why runs failed" }), only = h("div", { class: "tools", "aria-label": "Filters", role: "group" });
  const fresh = h("button", { id: "show-new", hidden: true, onclick: () => void load() });
  const list = h("ul", { class: "tasks sheet", "aria-label": "Runs, newest first", hidden: true }), none = h("div", { class: "empty", hidden: true });
  const more = h("button", { class: "plain", hidden: true, onclick: () => void load(next) }, "Show more runs");
  const detail = h("section", { "aria-label": "The run" });
  const pair = h("div", { class: "pair" }, h("div", { class: "stack" }, fresh, wait.element, none, list, more), detail);
  const picture = h("section", { class: "sheet pad past", "aria-label": "When, and why", hidden: true }, drawn.element, why);
  fill(main, h("div", { class: "head" }, h("h1", {}, "Runs"), answer), picture,
    h("div", { class: "filter many", role: "search" }, find, period, state, origin), only, said, pair);

  let shown, one, all = [], next, key;
  const choose = () => {
    if (shown === chosen && one) return;
    one?.end();
    shown = chosen;
    pair.toggleAttribute("data-chosen", Boolean(chosen));
    one = chosen ? runDetail(chosen, { signal, who, back: () => address("", w), removed }) : undefined;
    fill(detail, one ? one.element : h("p", { class: "empty" }, h("strong", {}, "No run selected"), "Select a run to see why it failed, what it left, and what was asked of it."));
    if (chosen && narrow.matches) detail.scrollIntoView();
  };
  const removed = () => {
    all = all.filter((r) => r.runId !== chosen);
    location.hash = address("", w);
    void count();
  };
  const drawList = () => {
    rows(list, all, (r) => r.runId, row, (e, r) => e.take(r, r.runId === chosen, w));
    list.hidden = all.length === 0;
    more.hidden = !next;
  };
  // load asks for the list anew, or for its next part. A search looks at a part of the history
  // for each answer, which may have nothing that matches.
  const load = async (cursor) => {
    const of = key;
    try {
      const got = cursor ? [...all] : [];
      do {
        const q = asked(w);
        q.set("limit", most);
        if (cursor) q.set("cursor", cursor);
        const part = await get(`/v1/runs?${q}`, { signal });
        if (of !== key) return; // something else was chosen
        got.push(...part.runs);
        cursor = part.next;
      } while (cursor && got.length < most);
      [all, next] = [got, cursor];
      fresh.hidden = true;
      wait.done();
      list.removeAttribute("aria-busy");
      failed(said);
      none.hidden = all.length > 0;
      if (!all.length) fill(none, filters.some((f) => w[f]) ? [h("strong", {}, "No run matches"), "Change the search, or ", h("a", { href: address(chosen, { period: w.period }) }, "clear the filters"), "."]
        : [h("strong", {}, "No runs yet"), "Every task that has ended is a run. Start one in the ", h("a", { href: "#/playground" }, "playground"), ". ", h("a", { href: "/docs/runs" }, "How runs are kept"), "."]);
      drawList();
    } catch (err) {
      trouble(err);
    }
  };
  const trouble = (err) => {
    if (err.name === "AbortError") return;
    wait.done();
    list.removeAttribute("aria-busy");
    failed(said, err);
  };
  // count draws the chart from the counts of all states, so that failures are seen against the rest.
  const count = async () => {
    const of = key;
    try {
      const counts = await counted(asked(w, ["state", "code"]), signal);
      if (of !== key) return;
      tell(counts);
    } catch (err) {
      trouble(err);
    }
  };
  const tell = (counts) => {
    const sum = (some) => some.reduce((n, c) => n + c.runs, 0);
    const bad = counts.filter((c) => c.state === "failed"), [words, length] = periods[w.period];
    const total = sum(counts), wrong = sum(bad);
    const now = Date.now(), hours = counts.map((c) => Date.parse(c.hour));
    const from = w.from ? Date.parse(w.from) : length ? now - length : Math.min(now - 86_400_000, ...hours), to = w.to ? Date.parse(w.to) : now;
    const bars = parts(counts, from, to), worst = bars.reduce((a, b) => (b.failed > a.failed ? b : a));
    const when = w.from || w.to ? "the chosen time" : words;
    text(answer, total === 0 ? `No run has ended in ${when}.` : wrong === 0 ? `None of ${plural(total, "run")} failed in ${when}.`
      : `${wrong} of ${plural(total, "run")} failed in ${when}${bars.length > 1 && wrong > 1 && worst.failed * 2 > wrong ? `, ${worst.failed === wrong ? "all" : worst.failed} of them ${span(worst)}` : ""}.`);
    picture.hidden = total === 0;
    drawn.show(bars);
    const codes = new Map();
    for (const c of bad) codes.set(c.code ?? "", (codes.get(c.code ?? "") ?? 0) + c.runs);
    rows(why, [...codes].sort((a, b) => b[1] - a[1]).slice(0, 6), ([code]) => code, ([code]) => {
      const b = h("button", { "data-code": code, onclick: () => go(w.code === code ? { code: "" } : { code }) });
      return h("li", {}, b);
    }, (e, [code, n]) => {
      const b = e.firstChild;
      b.setAttribute("aria-pressed", String(w.code === code));
      text(b, `${code || "failed"} · ${n}`);
    });
    const states = [["", `All states (${total})`], ["failed", `Failed (${wrong})`], ["complete", `Complete (${total - wrong})`]];
    rows(state, states, ([v]) => v, ([v]) => h("option", { value: v }), (e, [, s]) => text(e, s));
    state.value = w.state ?? "";
  };
  // look offers newer runs without moving what is on the screen.
  const look = async () => {
    const of = key;
    try {
      const q = asked(w);
      q.set("limit", most);
      const { runs } = await get(`/v1/runs?${q}`, { signal });
      const known = new Set(all.map((r) => r.runId)), n = runs.filter((r) => !known.has(r.runId)).length;
      if (of !== key) return;
      failed(said);
      if (n && fresh.hidden) say(`${plural(n, "new run")}`);
      fresh.hidden = n === 0;
      text(fresh, n >= most ? `Show ${most} or more new runs` : `Show ${plural(n, "new run")}`);
      drawList(); // how long ago they began
      await count();
    } catch (err) {
      trouble(err);
    }
  };
  const update = () => {
    w = wanted();
    choose();
    drawList();
    if (key === JSON.stringify(w)) return;
    key = JSON.stringify(w);
    find.value = w.q ?? "";
    origin.value = w.origin ?? "";
    period.value = w.period;
    const chips = ["code", "label", "of", "address", "token"].filter((f) => w[f]).map((f) => [{ of: w[f].startsWith("sched") ? "schedule" : "batch" }[f] ?? f, w[f], { [f]: "" }]);
    if (w.from || w.to) chips.push(["time", span({ at: Date.parse(w.from ?? 0), until: w.to ? Date.parse(w.to) : Date.now() }), { from: "", to: "" }]);
    fill(only, chips.map(([name, v, without]) => h("button", { class: "chip", "aria-label": `Remove the filter ${name} ${v}`, onclick: () => go(without) }, `${name}: ${v} `, h("span", { "aria-hidden": "true" }, "✕"))));
    only.hidden = chips.length === 0;
    list.setAttribute("aria-busy", "true");
    void load();
    void count();
  };
  main.addEventListener("address", ({ detail: [id] }) => ((chosen = id), update()), { signal });
  const timer = setInterval(() => document.hidden || look(), every);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  update();
}

// siteOf is the host of an address.
function siteOf(url) {
  try {
    return new URL(url).host;
  } catch {
    return "";
  }
}

// called is what a run is named by: its label, or else where it was.
const called = (r) => r.label || [siteOf(r.page?.url ?? r.firstAddress), r.page?.title].filter(Boolean).join(" · ") || r.runId;

function row(first) {
  const state = h("span"), name = h("span", { class: "cut" }), when = h("span", { class: "soft" }), of = h("span", { class: "of" });
  const a = h("a", {}, state, name, when, of), li = h("li", { "data-run": first.runId }, a);
  li.take = (r, chosen, w) => {
    a.href = address(r.runId, w);
    stateInto(state, r.code === "cancelled" ? "cancelled" : r.state);
    text(name, called(r));
    name.title = called(r);
    text(when, ago(r.askedAt));
    when.title = new Date(r.askedAt).toLocaleString();
    text(of, [r.code && `${r.code}${r.actionPath ? ` in action ${r.actionPath}` : ""}`, r.label && siteOf(r.page?.url ?? r.firstAddress), origins[r.origin]?.toLowerCase(), plural(r.stepsEnded, "step"), duration(r.duration)].filter(Boolean).join(" · "));
    of.dataset.is = r.state;
    if (chosen) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  };
  return li;
}
