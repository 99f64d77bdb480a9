// One run: why it failed, what it left, what was asked of it, and once more.

import { Refused, get, post, remove } from "./api.js";
import { confirmed } from "./dialogs.js";
import { copy, failed, fill, h, say, text } from "./dom.js";
import { clock, duration, plural } from "./format.js";
import { keepDraft } from "./draft.js";
import { pretty } from "./recipes.js";
import { kept, shots, stateInto } from "./steps.js";

const origins = { request: "a request", mcp: "an agent", batch: "a batch", schedule: "a schedule" };

export function runDetail(id, { signal, who, back, removed }) {
  const ended = new AbortController(), both = AbortSignal.any([signal, ended.signal]);
  const state = h("span"), name = h("h2"), said = h("div"), wrong = h("div", { class: "stack" }), facts = h("dl", { class: "facts" });
  const pictures = shots(), request = h("pre", { class: "out", tabindex: "0", id: "request", "aria-label": "Request" }), lost = h("p", { class: "soft small" });
  const data = h("pre", { class: "out", tabindex: "0", id: "data", "aria-label": "Result" }), noData = h("p", { class: "soft small" });
  const again = h("button", { class: "main", id: "run-again", onclick: () => void repeat() }, "Run again");
  const open = h("button", { id: "open-in-playground", onclick: () => edit() }, "Open in playground");
  const link = h("button", { class: "plain", onclick: () => copy(location.href, "Link") }, "Copy link");
  const drop = h("button", { class: "danger", id: "remove-run", onclick: () => void take() }, "Remove");
  const shotsPart = h("div", {}, h("h3", {}, "Pictures"), pictures.list), close = h("a", { class: "button plain", href: back() }, "Close");
  const parts = h("div", { class: "stack", hidden: true }, wrong, facts, shotsPart, h("div", {}, h("h3", {}, "Result"), noData, data), h("div", {}, h("h3", {}, "Request"), lost, request));
  const buttons = [again, open, link, drop];
  const element = h("div", { class: "sheet result" }, h("div", { class: "tools" }, name, state, buttons, close), said, parts);
  for (const b of buttons) b.hidden = true;
  let run;

  async function load() {
    try {
      ({ run } = await get(`/v1/runs/${id}`, { signal: both }));
      show();
      await result();
    } catch (err) {
      if (err.name === "AbortError") return;
      text(name, "Run");
      failed(said, err.status === 404 ? new Error("This run does not exist, or is no longer kept.") : err);
    }
  }
  function show() {
    parts.hidden = false;
    for (const b of buttons) b.hidden = false;
    text(name, run.label ?? run.page?.title ?? "Run");
    stateInto(state, run.code === "cancelled" ? "cancelled" : run.state);
    fill(wrong, run.error && h("p", { class: "error" }, run.code && h("code", {}, run.code), " ", run.error,
      run.actionPath && h("span", { class: "path" }, ` (action ${run.actionPath})`)), kept(run));
    const of = run.batchId ? h("a", { href: `#/batches/${run.batchId}` }, `a batch, item ${run.item}`) : run.schedule ? h("a", { href: `#/schedules/${run.schedule.scheduleId}` }, "a schedule") : origins[run.origin] ?? run.origin;
    const page = run.page && [run.page.title && `${run.page.title} · `, run.page.url, run.page.status && ` · ${run.page.status}`];
    const is = [["Run", h("code", {}, run.runId)], ["Asked for by", [of, run.async ? ", to be played later" : ""]], ["Repeats", run.again && h("a", { href: `#/runs/${run.again}` }, run.again)],
      ["Metadata", run.metadata && Object.entries(run.metadata).map(([k, v]) => `${k}: ${v}`).join(", ")], ["First page", run.firstAddress], ["Last page", page],
      ["Asked for", clock(run.askedAt)], ["Waited", run.waited > 0 && duration(run.waited)], ["Took", duration(run.duration)],
      ["Steps", `${run.stepsEnded} of ${plural(run.actions, "action")} in the list ended, ${run.failed} failed`], ["Attempts", run.attempts > 1 && run.attempts], ["Worker", run.workerName], ["Session", run.sessionId]];
    fill(facts, is.filter(([, v]) => v).map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
    pictures.show(run.pictures ?? []);
    shotsPart.hidden = !run.pictures?.length;
    open.hidden = again.hidden = !run.request;
    request.hidden = !run.request;
    if (run.request) text(request, pretty(run.request));
    const left = [run.masked?.length && `${plural(run.masked.length, "masked field")} and ${run.masked.length > 1 ? "their values are" : "its value is"} not kept`, run.files && `${plural(run.files, "file")} came with it and ${run.files > 1 ? "are" : "is"} not kept`].filter(Boolean);
    text(lost, run.request ? left.join("; ") : `The request has ${run.requestBytes ?? "too many"} bytes: more than are kept.`);
  }
  async function result() {
    const kept = run.result !== undefined, there = kept || (run.resultUntil && Date.parse(run.resultUntil) > Date.now());
    data.hidden = !there;
    text(noData, there ? "" : run.resultBytes ? (run.resultUntil ? "The result is no longer kept." : "The answer of the request had the result. It is not kept.") : "It gave no result.");
    if (kept) text(data, JSON.stringify(run.result, null, 2));
    if (kept || !there) return;
    try {
      const answer = await get(`/v1/get-result?taskId=${id}`, { signal: both });
      text(data, JSON.stringify(answer.data ?? null, null, 2));
    } catch (err) {
      if (err.name === "AbortError") return;
      data.hidden = true;
      text(noData, err.status === 404 ? "The result is no longer kept." : err.message);
    }
  }
  // repeat plays the run once more. Where the plan allows it, the answer does not wait for the end.
  async function repeat() {
    again.disabled = true;
    say("The run begins again");
    try {
      const later = who.limits.asyncTimeout > 0 && !run.async;
      const got = await post(`/v1/runs/${id}/again`, later ? { async: true } : {}, { signal: both });
      location.hash = `#/tasks/${got.taskId}`;
    } catch (err) {
      if (err.name === "AbortError") return;
      failed(said, err instanceof Refused && err.details.length ? new Error(`${err.message}: ${err.details.map((d) => `${d.path ?? ""} ${d.message}`).join("; ")}. Open it in the playground to fill in what is missing.`) : err);
      if (err.body?.taskId) location.hash = `#/tasks/${err.body.taskId}`;
    }
    again.disabled = false;
  }
  function edit() {
    keepDraft(pretty(run.request));
    location.hash = "#/playground";
  }
  async function take() {
    if (!(await confirmed("Remove this run?", "Its record is removed. The result and the files go when their time is over. You cannot undo this.", "Remove the run"))) return;
    try {
      await remove(`/v1/runs/${id}`, { signal: both });
      say("The run was removed");
      removed();
    } catch (err) {
      if (err.name !== "AbortError") failed(said, err);
    }
  }
  void load();
  return { element, end: () => ended.abort() };
}
