// Tasks: those that run and the last ones that ended, with their steps.

import { get, remove } from "./api.js";
import { failed, fill, h, loading, rows, say, text } from "./dom.js";
import * as feed from "./feed.js";
import { ago, clock, duration, plural, shortID } from "./format.js";
import { livePicture } from "./live.js";
import { resultPanel } from "./result.js";
import { kept, shots, stands, stateInto, stepList } from "./steps.js";

const narrow = matchMedia("(max-width: 980px)");

export function draw(main, { signal, rest }) {
  let chosen = rest[0];
  const find = h("input", { type: "search", id: "find", "aria-label": "Search by id, worker, action or error", placeholder: "Search id, worker, action, error" });
  const status = h("select", { id: "status", "aria-label": "Show" },
    [["", "All"], ["running", "Running"], ["complete", "Complete"], ["failed", "Failed"]].map(([v, s]) => h("option", { value: v }, s)));
  const none = h("div", { class: "empty", hidden: true }), wait = loading("tasks");
  const list = h("ul", { class: "tasks sheet", "aria-label": "Tasks, newest first" });
  const detail = h("section", { "aria-label": "The task" });
  const pair = h("div", { class: "pair" }, h("div", {}, h("div", { class: "filter", role: "search" }, find, status), wait.element, none, list), detail);
  const count = h("p", { class: "soft small", role: "status" });
  fill(main, h("div", { class: "head" }, h("h1", {}, "Tasks"), count),
    pair);

  let shown, one, known = false; // known: also the tasks that ended before the feed began
  const choose = () => {
    const t = feed.tasks.get(chosen);
    if (shown !== chosen || !one) {
      one?.end();
      shown = chosen;
      pair.toggleAttribute("data-chosen", Boolean(chosen));
      one = chosen ? taskDetail(chosen, signal) : undefined;
      fill(detail, one ? one.element : h("p", { class: "empty" }, h("strong", {}, "No task selected"), "Select a task to see its steps, screenshots and errors."));
      if (chosen && !t) void feed.refresh(chosen).then(() => one?.show(feed.tasks.get(chosen), true));
    }
    one?.show(t);
  };
  const update = () => {
    const words = find.value.trim().toLowerCase();
    const all = feed.newestFirst();
    const some = all.filter((t) => (!status.value || t.status === status.value) && (!words || haystack(t).includes(words)));
    const told = known && feed.link.told;
    wait.element.hidden = told || all.length > 0;
    if (told || all.length > 0) text(count, all.length === some.length ? `${all.filter((t) => t.status === "running").length} running` : `${some.length} of ${plural(all.length, "task")}`);
    none.hidden = some.length > 0 || !wait.element.hidden;
    list.hidden = some.length === 0;
    if (!none.hidden) {
      if (all.length) fill(none, h("strong", {}, "No task matches"), "Change the search or the filter.");
      else fill(none, h("strong", {}, "No tasks yet"), "Run one in the ", h("a", { href: "#/playground" }, "playground"), ", or send one to ", h("code", {}, "POST /v1/"), ". ",
        feed.link.live ? "What runs shows here at once." : "This service tells of no tasks but those that this page has started.");
    }
    rows(list, some, (t) => t.taskId, row, (e, t) => e.take(t, t.taskId === chosen));
    choose();
  };
  main.addEventListener("address", ({ detail: [id] }) => ((chosen = id), update(), id && narrow.matches && main.scrollIntoView()), { signal });
  find.addEventListener("input", update);
  status.addEventListener("change", update);
  feed.onChange(update, signal);
  void feed.older(signal).then(() => ((known = true), update()));
  const tick = setInterval(update, 5000);
  signal.addEventListener("abort", () => clearInterval(tick), { once: true });
  update();
}

const haystack = (t) => [t.taskId, t.workerName, t.account, t.code, t.error, ...t.steps.map((s) => `${s.action} ${s.error ?? ""}`)].join(" ").toLowerCase();

function row(first) {
  const state = h("span"), when = h("span", { class: "soft" }), of = h("span", { class: "of" });
  const a = h("a", { href: `#/tasks/${first.taskId}` }, state, h("code", {}, shortID(first.taskId)), when, of);
  const li = h("li", { "data-task": first.taskId }, a);
  li.take = (t, chosen) => {
    stateInto(state, stands(t));
    text(when, ago(t.startedAt));
    text(of, [t.account, t.workerName, plural(t.stepsEnded ?? t.steps.length, "step"), t.failed ? `${t.failed} failed` : "", t.status === "running" ? "" : duration(t.duration), t.code].filter(Boolean).join(" · "));
    if (chosen) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  };
  return li;
}

// taskDetail is all that is known of one task.
function taskDetail(id, signal) {
  const ended = new AbortController();
  const both = AbortSignal.any([signal, ended.signal]);
  const state = h("span"), facts = h("dl", { class: "facts" }), said = h("div"), wrong = h("div");
  const steps = stepList("Steps"), pictures = shots(), place = h("div");
  const cancel = h("button", { class: "danger", id: "cancel-task", hidden: true, onclick: () => void stop() }, "Cancel the task");
  const left = h("p", { class: "soft small" });
  const head = h("h2", {}, "Task ", h("code", {}, shortID(id))), close = h("a", { class: "button plain", href: "#/tasks" }, "Close");
  const live = h("div", { class: "sheet result" },
    h("div", { class: "tools" }, head, state, cancel, close), said, wrong, facts, place,
    h("div", {}, h("h3", {}, "Steps"), left, steps.list), h("div", {}, h("h3", {}, "Pictures"), pictures.list));
  const loading = h("p", { class: "sheet pad soft" }, "Loading the task…"), element = h("div", {}, loading);
  async function stop() {
    cancel.disabled = true;
    try {
      const { cancelled } = await remove(`/v1/tasks/${id}`);
      say(cancelled ? "The task was cancelled" : "The task had already ended");
    } catch (err) {
      failed(said, err);
    }
    cancel.disabled = false;
  }
  // stored shows the result of a task that ended before the service started, or long ago; when
  // that is gone, the run that is left of it.
  async function stored() {
    try {
      const answer = await get(`/v1/get-result?taskId=${id}`, { signal: both });
      if (answer.status === "pending") return void text(loading, answer.queued ? "This task waits in the queue." : "This task runs.");
      const panel = resultPanel();
      panel.show({ steps: [], answer });
      if (loading.isConnected) fill(element, panel.element);
    } catch (err) {
      if (err.name === "AbortError") return;
      if (err.status !== 404) return void text(loading, err.message);
      const found = await get(`/v1/runs/${id}`, { signal: both }).catch(() => undefined);
      if (both.aborted) return;
      if (found) location.replace(`#/runs/${id}`);
      else text(loading, "This task does not exist, or is too old to be listed.");
    }
  }
  let picture, rested;
  const show = (t, asked) => {
    if (!t) return void (asked && stored());
    if (!live.isConnected) fill(element, live);
    stateInto(state, stands(t));
    cancel.hidden = t.status !== "running";
    const is = [["Task", t.taskId], ["Account", t.account], ["Worker", t.workerName], ["Session", t.sessionId], ["Started", clock(t.startedAt)],
      ["Took", t.status === "running" ? "" : duration(t.duration)], ["Actions", t.actions == null ? "" : `${t.actions} in the list, ${plural(t.stepsEnded ?? t.steps.length, "step")} ended, ${t.failed ?? 0} failed`]].filter(([, v]) => v);
    const key = JSON.stringify(is);
    if (facts.dataset.key !== key) fill(facts, is.map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)])).dataset.key = key;
    const why = t.error ?? (t.code ? `The task ended with ${t.code}` : "");
    const told = JSON.stringify([why, t.trace, t.evidence]);
    if (wrong.dataset.told !== told) {
      wrong.dataset.told = told;
      fill(wrong, why && h("p", { class: "error" }, t.code && h("code", {}, t.code), " ", why), kept(t));
    }
    text(left, t.stepsLeftOut ? `${plural(t.stepsLeftOut, "step")} at the beginning are not listed.` : t.steps.length === 0 && t.status === "running" ? "No step has ended yet." : "");
    steps.show(t.steps);
    pictures.show(t.pictures ?? []);
    pictures.list.parentElement.hidden = !t.pictures?.length;
    const moves = t.status === "running" && feed.link.live;
    if (moves && !picture) fill(place, (picture = livePicture(id, { signal: both, label: "Live picture of the task", runs: () => feed.tasks.get(id)?.status === "running" })));
    if (picture && !moves && !rested) picture.rest("The task has ended.");
    rested = !moves;
  };
  return { element, show, end: () => ended.abort() };
}
