// Batches and the queue: what waits, how each batch goes, and why items failed.

import { get, post } from "./api.js";
import { failed, fill, h, loading, rows, say, text } from "./dom.js";
import { ago, clock, duration, plural, shortID, until } from "./format.js";
import { kept, shots, stateInto } from "./steps.js";

const every = 2000; // milliseconds between two looks

export function draw(main, { signal, rest }) {
  let chosen = rest[0];
  const said = h("div"), count = h("p", { class: "soft small", role: "status" }), wait = loading("batches");
  const none = h("div", { class: "empty", hidden: true }, h("strong", {}, "No batches yet"), "A batch runs a task for each of many items. Start one with ", h("code", {}, "POST /v1/batches"), " or ", h("code", {}, "troupe batch run"), ". ", h("a", { href: "/docs/batches" }, "How batches work"), ".");
  const list = h("ul", { class: "tasks sheet", "aria-label": "Batches, newest first", hidden: true });
  const more = h("button", { class: "plain", hidden: true, onclick: () => ((most = 100), void update()) }, "Show more batches");
  const queue = queueList();
  const detail = h("section", { "aria-label": "The batch" });
  const pair = h("div", { class: "pair" }, h("div", { class: "stack" }, wait.element, none, list, more, queue.element), detail);
  fill(main, h("div", { class: "head" }, h("h1", {}, "Batches"), count), said, pair);

  let most = 20, shown, one;
  const choose = () => {
    if (shown === chosen && one) return;
    one?.end();
    shown = chosen;
    pair.toggleAttribute("data-chosen", Boolean(chosen));
    one = chosen ? batchDetail(chosen, signal, () => void update()) : undefined;
    fill(detail, one ? one.element : h("p", { class: "empty" }, h("strong", {}, "No batch selected"), "Select a batch to see its progress, and why items failed."));
  };
  const update = async () => {
    try {
      const { batches, next } = await get(`/v1/batches?limit=${most}`, { signal });
      wait.done();
      text(count, plural(batches.filter((b) => b.status === "running").length, "batch", "batches") + " running");
      none.hidden = batches.length > 0;
      list.hidden = batches.length === 0;
      more.hidden = !next || most === 100;
      rows(list, batches, (b) => b.batchId, row, (e, b) => e.take(b, b.batchId === chosen));
      await Promise.all([queue.update(signal), one?.update()]);
      failed(said);
    } catch (err) {
      if (err.name === "AbortError") return;
      wait.done();
      failed(said, err);
    }
  };
  main.addEventListener("address", ({ detail: [id] }) => ((chosen = id), choose(), void update()), { signal });
  const timer = setInterval(() => document.hidden || update(), every);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  choose();
  void update();
}

const states = { running: "Running", paused: "Paused", cancelled: "Cancelled", ended: "Ended" };

// standing shows how a batch stands, in colour and words.
function standing(e, b) {
  const failed = b.status === "ended" && b.failed > 0, all = failed && b.complete === 0;
  stateInto(e, b.status !== "ended" ? b.status : all ? "failed" : failed ? "partial" : "complete");
  text(e, all ? "All failed" : failed ? "Some failed" : states[b.status] ?? b.status);
}

const ended = (b) => b.complete + b.failed;

function row(first) {
  const state = h("span"), name = h("span"), when = h("span", { class: "soft" }), of = h("span", { class: "of" });
  const a = h("a", { href: `#/batches/${first.batchId}` }, state, name, when, of);
  const li = h("li", { "data-batch": first.batchId }, a);
  li.take = (b, chosen) => {
    standing(state, b);
    text(name, b.name ?? short(b.batchId));
    text(when, ago(b.createdAt));
    text(of, [`${ended(b)} of ${plural(b.items, "item")}`, b.failed ? `${b.failed} failed` : "", b.status === "running" && b.timeLeft ? `${duration(b.timeLeft)} left` : ""].filter(Boolean).join(" · "));
    if (chosen) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  };
  return li;
}

const short = (id) => id.replace(/^batch_([0-9a-f]{8}).*$/, "$1");

// batchDetail is all that is known of one batch.
function batchDetail(id, signal, changed) {
  let over = false;
  const state = h("span"), said = h("div"), facts = h("dl", { class: "facts" }), name = h("h2");
  const bar = h("meter", { id: "batch-progress", min: 0, "aria-label": "Items that have ended" }), of = h("p", { id: "batch-counts" });
  const failures = h("ul", { class: "stack plainlist", "aria-label": "Failures by code" }), why = h("div", { hidden: true }, h("h3", {}, "Failures"), failures);
  const buttons = Object.fromEntries([["pause", "Pause"], ["resume", "Resume"], ["retry", "Retry the failed"], ["cancel", "Cancel"]].map(([to, label]) =>
    [to, h("button", { id: `${to}-batch`, class: to === "cancel" ? "danger" : "", hidden: true, onclick: () => void change(to) }, label)]));
  const element = h("div", { class: "sheet result" },
    h("div", { class: "tools" }, name, state, Object.values(buttons), h("a", { class: "button plain", href: "#/batches" }, "Close")), said, h("div", {}, bar, of), facts, why);

  async function change(to) {
    for (const b of Object.values(buttons)) b.disabled = true;
    try {
      show((await post(`/v1/batches/${id}/${to}`, {}, { signal })).batch);
      say({ pause: "The batch is paused", resume: "The batch goes on", retry: "The failed items run again", cancel: "The batch is cancelled" }[to]);
      changed();
    } catch (err) {
      if (err.name !== "AbortError") failed(said, err);
    }
    for (const b of Object.values(buttons)) b.disabled = false;
  }
  function show(b) {
    element.dataset.retries = b.retries ?? 0;
    text(name, b.name ?? `Batch ${short(b.batchId)}`);
    standing(state, b);
    bar.dataset.is = !b.failed ? "complete" : b.complete ? "partial" : "failed";
    bar.max = b.items;
    bar.value = ended(b);
    text(of, `${ended(b)} of ${plural(b.items, "item")}: ${b.complete} complete, ${b.failed} failed, ${b.running} running, ${b.waiting} waiting${b.dropped ? `, ${b.dropped} did not begin` : ""}`);
    const is = [["Batch", b.batchId], ["Started", clock(b.createdAt)], ["Ended", b.endedAt && clock(b.endedAt)], ["Kept", b.expiresAt && until(b.expiresAt).replace("in ", "for ")],
      ["Rate", b.endedAt ? "" : `${b.rate} items a minute`], ["Time left", b.timeLeft && `about ${duration(b.timeLeft)}`], ["Waits because of", b.held], ["Retries", b.retries]].filter(([, v]) => v);
    const key = JSON.stringify(is);
    if (facts.dataset.key !== key) fill(facts, is.map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)])).dataset.key = key;
    buttons.pause.hidden = b.status !== "running";
    buttons.resume.hidden = b.status !== "paused";
    buttons.cancel.hidden = b.status !== "running" && b.status !== "paused";
    buttons.retry.hidden = b.status === "cancelled" || b.failed === 0;
    why.hidden = !b.failures?.length;
    rows(failures, b.failures ?? [], (f) => f.code, failure, (e, f) => e.take(f));
  }
  async function update() {
    try {
      const { batch } = await get(`/v1/batches/${id}`, { signal });
      if (!over) show(batch);
    } catch (err) {
      if (err.name !== "AbortError") failed(said, err);
    }
  }
  return { element, update, end: () => (over = true) };
}

// failure is a code that items failed with, and one of them.
function failure() {
  const head = h("p"), example = h("p", { class: "error" }), left = h("div"), pictures = shots(), task = h("p", { class: "small" });
  const li = h("li", {}, head, example, left, pictures.list, task);
  li.take = (f) => {
    li.dataset.code = f.code;
    const key = JSON.stringify(f);
    if (li.dataset.key === key) return;
    li.dataset.key = key;
    fill(head, h("code", {}, f.code), ` ${plural(f.count, "item")}`);
    const e = f.example;
    example.hidden = !e?.error;
    text(example, e?.error ?? "");
    fill(left, e && kept(e));
    pictures.show([...new Set([e?.evidence?.screenshot, ...(e?.pictures ?? [])].filter(Boolean))]);
    fill(task, e && ["For example item ", String(e.index), ", task ", h("a", { href: `#/tasks/${e.taskId}` }, h("code", {}, shortID(e.taskId)))]);
  };
  return li;
}

// queueList shows the tasks that wait, and those that failed for good.
function queueList() {
  const waiting = h("ul", { class: "tasks", "aria-label": "Tasks that wait" }), none = h("p", { class: "soft small" }), wait = loading("the queue");
  const element = h("section", { class: "sheet pad", "aria-label": "The queue" }, h("h2", {}, "Queue"), wait.element, none, waiting);
  async function update(signal) {
    const { tasks, next } = await get("/v1/tasks?status=queued&limit=10", { signal });
    wait.done();
    text(none, tasks.length === 0 ? "No tasks wait." : next ? "More than ten tasks wait. The first:" : `${plural(tasks.length, "task")} waiting:`);
    rows(waiting, tasks, (t) => t.taskId, waits, () => {});
  }
  return { element, update };
}

function waits(t) {
  return h("li", { "data-task": t.taskId }, h("a", { href: `#/tasks/${t.taskId}` }, h("code", {}, shortID(t.taskId)),
    h("span", { class: "soft" }, `priority ${t.priority}`), h("span", { class: "soft" }, t.startAfter ? until(t.startAfter) : ago(t.queuedAt))));
}
