// Schedules: when each runs next, how its last runs went, and a form to write one.

import { get, post, remove } from "./api.js";
import { confirmed } from "./dialogs.js";
import { failed, fill, h, loading, rows, say, text } from "./dom.js";
import { clock, coarse, duration, plural, shortID } from "./format.js";
import { pretty } from "./recipes.js";
import { scheduleForm } from "./schedule_form.js";
import { stateInto } from "./steps.js";
import { day, times, timesLine } from "./times.js";

const every = 3000; // milliseconds between two looks
const narrow = matchMedia("(max-width: 980px)");

export function draw(main, { signal, rest }) {
  let [chosen, doing] = rest;
  const said = h("div"), count = h("p", { class: "soft small", role: "status" }), wait = loading("schedules");
  const none = h("div", { class: "empty", hidden: true }, h("strong", {}, "No schedules yet"), "A schedule runs a task, or a batch, at certain times. ", h("a", { href: "/docs/schedules" }, "How schedules work"), ".");
  const list = h("ul", { class: "tasks sheet", "aria-label": "Schedules", hidden: true });
  const add = h("a", { class: "button end", href: "#/schedules/new", id: "new-schedule" }, "New schedule");
  const detail = h("section", { "aria-label": "The schedule" });
  const pair = h("div", { class: "pair" }, h("div", {}, wait.element, none, list), detail);
  fill(main, h("div", { class: "head" }, h("h1", {}, "Schedules"), count, add), said, pair);

  let shown, one;
  const choose = () => {
    const now = [chosen, doing].join("/");
    if (shown === now && one) return;
    one?.end();
    shown = now;
    pair.toggleAttribute("data-chosen", Boolean(chosen));
    one = chosen === "new" || doing === "edit" ? scheduleForm(chosen === "new" ? undefined : chosen, signal)
      : chosen ? scheduleDetail(chosen, signal, () => void update()) : undefined;
    fill(detail, one ? one.element : h("p", { class: "empty" }, h("strong", {}, "No schedule selected"), "Select a schedule to see its next and its last runs."));
    if (chosen && narrow.matches) detail.scrollIntoView();
  };
  const update = async () => {
    try {
      const { schedules } = await get("/v1/schedules", { signal });
      wait.done();
      text(count, `${schedules.filter((s) => s.status === "active").length} active`);
      none.hidden = schedules.length > 0;
      list.hidden = schedules.length === 0;
      rows(list, schedules, (s) => s.scheduleId, row, (e, s) => e.take(s, s.scheduleId === chosen));
      await one?.update?.();
      failed(said);
    } catch (err) {
      if (err.name === "AbortError") return;
      wait.done();
      failed(said, err);
    }
  };
  main.addEventListener("address", ({ detail: [id, to] }) => (([chosen, doing] = [id, to]), choose(), void update()), { signal });
  const timer = setInterval(() => document.hidden || update(), every);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  choose();
  void update();
}

const name = (s) => s.name ?? `Schedule ${s.scheduleId.replace(/^sched_([0-9a-f]{8}).*$/, "$1")}`;

// rule says when a schedule is due.
const rule = (s) => (s.every ? `every ${coarse(s.every)}` : `${s.cron} · ${s.timeZone}`);

// lastEnd is the last run that has ended, or a time that had none.
const lastEnd = (s) => s.runs?.find((r) => r.status !== "queued");

// standing shows how a schedule stands, in colour and words. One that goes on, and whose
// last run has failed, is not well.
function standing(e, s) {
  const fails = s.status === "active" && lastEnd(s)?.status === "failed";
  stateInto(e, fails ? "failed" : s.status === "active" ? "online" : "reserved");
  text(e, fails ? "Failed last" : s.status === "active" ? "Active" : "Paused");
}

const runs = { queued: "Queued", complete: "Complete", failed: "Failed", skipped: "Skipped", missed: "Missed" };

function runState(e, run) {
  stateInto(e, { queued: "running", skipped: "cancelled", missed: "partial" }[run.status] ?? run.status);
  return text(e, runs[run.status] ?? run.status);
}

function row(first) {
  const state = h("span"), called = h("span"), when = h("span", { class: "soft" }), next = h("span", { class: "of" }), last = h("span", { class: "of" });
  const a = h("a", { href: `#/schedules/${first.scheduleId}` }, state, called, when, next, last);
  const li = h("li", { "data-schedule": first.scheduleId }, a);
  li.take = (s, chosen) => {
    standing(state, s);
    text(called, name(s));
    text(when, s.items ? `batch of ${s.items}` : "");
    text(next, s.next.length ? `${rule(s)} · next ${timesLine(s)}` : rule(s));
    const run = s.runs?.[0];
    last.dataset.is = run?.status ?? "";
    text(last, run ? `Last run ${day(run.plannedAt, s)}: ${runs[run.status].toLowerCase()}${run.code ? `, ${run.code}` : ""}` : "Has not run yet");
    if (chosen) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  };
  return li;
}

const missed = { once: "one run makes up for all", skip: "no run", all: "a run for each" };
const overlap = { skip: "no run", queue: "the next run waits", replace: "the earlier run is cancelled" };

// scheduleDetail is all that is known of one schedule.
function scheduleDetail(id, signal, changed) {
  const ended = new AbortController(), both = AbortSignal.any([signal, ended.signal]);
  const state = h("span"), said = h("div"), facts = h("dl", { class: "facts" }), called = h("h2");
  const next = h("ol", { class: "plainlist", id: "next-times" }), noNext = h("p", { class: "soft small" });
  const history = h("ul", { class: "runs", "aria-label": "Last runs, newest first" }), noRuns = h("p", { class: "soft small" });
  const more = h("button", { class: "plain", hidden: true, onclick: () => ((most = 100), void update()) }, "Show more runs");
  const task = h("pre", { class: "out", tabindex: "0", "aria-label": "What each run plays" });
  const button = (to, label, cls) => h("button", { id: `${to}-schedule`, class: cls, hidden: true, onclick: () => void change(to) }, label);
  const buttons = { pause: button("pause", "Pause"), resume: button("resume", "Resume"), run: button("run", "Run now") };
  const edit = h("a", { class: "button", id: "edit-schedule", href: `#/schedules/${id}/edit`, hidden: true }, "Edit"), drop = button("delete", "Delete", "danger");
  const parts = h("div", { class: "stack", hidden: true }, facts, h("div", {}, h("h3", {}, "Next runs"), next, noNext),
    h("div", {}, h("h3", {}, "Last runs"), noRuns, history, more), h("details", {}, h("summary", { class: "small" }, "What each run plays"), task));
  const element = h("div", { class: "sheet result" },
    h("div", { class: "tools" }, called, state, Object.values(buttons), edit, drop, h("a", { class: "button plain", href: "#/schedules" }, "Close")), said, parts);
  let most = 20, known;

  async function change(to) {
    if (to === "delete" && !(await confirmed(`Delete ${known.name ? `the schedule ${known.name}` : "this schedule"}?`, "Its history is deleted, too. A run that has begun goes on. You cannot undo this.", "Delete the schedule"))) return;
    const all = [...Object.values(buttons), drop];
    for (const b of all) b.disabled = true;
    try {
      if (to === "delete") await remove(`/v1/schedules/${id}`, { signal: both });
      else await post(`/v1/schedules/${id}/${to}`, {}, { signal: both });
      say({ pause: "The schedule is paused", resume: "The schedule goes on", run: "A run begins", delete: "The schedule was deleted" }[to]);
      failed(said);
      if (to === "delete") location.hash = "#/schedules";
      changed();
    } catch (err) {
      if (err.name !== "AbortError") failed(said, err);
    }
    for (const b of all) b.disabled = false;
  }
  function show(s) {
    known = s;
    parts.hidden = edit.hidden = drop.hidden = buttons.run.hidden = false;
    text(called, name(s));
    standing(state, s);
    buttons.pause.hidden = s.status !== "active";
    buttons.resume.hidden = s.status !== "paused";
    const is = [["Schedule", s.scheduleId], [s.cron ? "Cron line" : "Interval", s.cron ?? `every ${coarse(s.every)}`], ["Time zone", s.timeZone], ["Missed times", missed[s.missed]], ["While a run goes on", overlap[s.overlap]],
      ["Later by up to", s.jitter && duration(s.jitter)], ["Each run", s.batch && `a batch of ${plural(s.batch.items.length, "item")}`], ["Runs that wait", s.waiting], ["Changed", clock(s.changedAt)]].filter(([, v]) => v);
    const key = JSON.stringify(is);
    if (facts.dataset.key !== key) fill(facts, is.map(([k, v]) => [h("dt", {}, k), h("dd", {}, k === "Cron line" ? h("code", {}, v) : v)])).dataset.key = key;
    rows(next, times(s).map((t, i) => [i, t]), ([i]) => i, () => h("li"), (e, [, t]) => text(e, t));
    noNext.hidden = s.next.length > 0;
    text(noNext, s.status === "paused" ? "None: the schedule is paused." : "None.");
    const all = s.runs ?? [];
    text(noRuns, all.length ? `Times in ${s.timeZone}.` : "It has not run yet.");
    rows(history, all, (r) => r.plannedAt, past, (e, r) => e.take(r, s));
    more.hidden = most === 100 || all.length < most;
    text(task, s.batch ? JSON.stringify(s.batch, null, 2) : pretty(s.task));
  }
  async function update() {
    try {
      const { schedule } = await get(`/v1/schedules/${id}?runs=${most}`, { signal: both });
      show(schedule);
    } catch (err) {
      if (err.name !== "AbortError") failed(said, err);
    }
  }
  return { element, update, end: () => ended.abort() };
}

// past is a time of the history, and what became of it.
function past() {
  const state = h("span"), when = h("span"), to = h("span"), of = h("span", { class: "of" });
  const li = h("li", {}, state, when, to, of);
  li.take = (r, s) => {
    li.dataset.status = r.status;
    runState(state, r);
    text(when, day(r.plannedAt, s));
    const link = r.taskId ? [`#/tasks/${r.taskId}`, `task ${shortID(r.taskId)}`] : r.batchId ? [`#/batches/${r.batchId}`, "batch"] : undefined;
    if (link && to.dataset.to !== link[0]) fill(to, h("a", { href: link[0] }, link[1])).dataset.to = link[0];
    const took = r.begunAt && r.endedAt ? duration(Date.parse(r.endedAt) - Date.parse(r.begunAt)) : "";
    text(of, [r.manual ? "begun by hand" : "", r.code, took, r.times ? `stands for ${r.times} times` : ""].filter(Boolean).join(" · "));
  };
  return li;
}
