// A task that this page has started, and what comes of it.

import { token } from "./api.js";
import { fill, h, text, toast } from "./dom.js";
import { duration, plural } from "./format.js";
import { run } from "./run.js";
import { kept as evidence, outcome, picturesIn, shots, stateInto, stepList } from "./steps.js";

// startJob starts a task. The job goes on when the view is left: changed is called
// whenever something is new, and ended resolves with the end.
export function startJob(task, files, who) {
  const mine = { as: token(), steps: [], changed() {} };
  const running = run(task, files, {
    who,
    hear({ started, step }) {
      if (started) mine.started = started;
      if (step) mine.steps.push(step);
      mine.changed();
    },
  });
  Object.assign(mine, { follow: running.follow, cancel: running.cancel });
  mine.ended = running.answer.then((answer) => (mine.answer = answer), (err) => (mine.error = err)).then(() => mine.changed());
  return mine;
}

// runs says whether a job has not ended yet.
export const runs = (job) => Boolean(job && !job.answer && !job.error);

// cancelJob cancels a task, and says why it could not.
export async function cancelJob(job) {
  try {
    await job?.cancel?.();
  } catch (err) {
    toast(err.message);
  }
}

// follow draws a job as it is now, and again with each change until the view is left.
// Play starts the next one, cancel ends this one.
export function follow(job, panel, { play, cancel, signal }) {
  const draw = () => {
    panel.show(job);
    play.disabled = runs(job);
    if (!runs(job) && document.activeElement === cancel) play.focus();
    cancel.hidden = !runs(job);
  };
  job.changed = () => !signal.aborted && draw();
  draw();
}

// failures shows the actions that failed while the list went on. The list tolerates some.
function failures(errors = []) {
  const tell = (of, how, attributes) => of.length > 0 && h("p", attributes, `${plural(of.length, "action")} failed${how}: ${of.map((e) => e.error).join(" ")}`);
  return [
    tell(errors.filter((e) => !e.tolerated), "", { class: "error", role: "alert" }),
    tell(errors.filter((e) => e.tolerated), ", which the list allows", { class: "note" }),
  ];
}

// resultPanel shows what comes of a task.
export function resultPanel(what = "task") {
  const state = h("span", { id: "outcome", role: "status" });
  const about = h("span", { class: "soft small" });
  const said = h("div"), data = h("pre", { class: "out", id: "data", tabindex: "0", "aria-label": "Result" }), whole = h("pre", { class: "out", tabindex: "0", "aria-label": "Whole answer" });
  const steps = stepList("Steps"), pictures = shots();
  const empty = h("div", { class: "empty" }, h("strong", {}, "Nothing has run yet"), `Run the ${what} to see its steps, its result and its screenshots.`);
  const details = h("details", {}, h("summary", { class: "small" }, "The whole answer"), whole);
  const part = (title, ...children) => h("div", { hidden: true }, h("h3", {}, title), ...children);
  const stepsPart = part("Steps", steps.list), dataPart = part("Result", data), shotsPart = part("Pictures", pictures.list);
  const panel = h("div", { class: "sheet result", hidden: true }, h("div", { class: "tools" }, state, about), said, stepsPart, shotsPart, dataPart, details);
  const element = h("section", { "aria-label": "Result" }, empty, panel);
  // show draws a job as far as it is known.
  function show({ started, follow, steps: heard, answer, error }) {
    empty.hidden = true;
    panel.hidden = false;
    const end = answer ?? {};
    const link = (id) => h("a", { href: `#/tasks/${id}` }, "in Tasks");
    const all = heard.length ? heard : end.steps ?? [];
    steps.show(all);
    stepsPart.hidden = all.length === 0;
    dataPart.hidden = details.hidden = !answer;
    if (!answer && !error) {
      stateInto(state, "running");
      fill(said);
      if (started) fill(about, "on ", started.workerName, " · ", link(started.taskId));
      else fill(about, follow ? "waiting for a worker" : "its steps arrive with the answer");
    } else if (error) {
      stateInto(state, outcome({ error: error.message, code: error.code }));
      fill(about);
      fill(said, h("p", { class: "error", role: "alert" }, error.code && h("code", {}, error.code), " ", error.message));
    } else {
      stateInto(state, outcome(answer));
      fill(about, [answer.workerName && `on ${answer.workerName}`, duration(answer.duration)].filter(Boolean).join(" · "), " · ", answer.taskId && link(answer.taskId));
      fill(said,
        answer.error && h("p", { class: "error", role: "alert" }, answer.code && h("code", {}, answer.code), " ", answer.error),
        !answer.error && failures(answer.errors),
        answer.warnings?.map((w) => h("p", { class: "note" }, w.message)), evidence(answer));
      text(data, JSON.stringify(answer.data ?? null, null, 2));
      text(whole, JSON.stringify(answer, null, 2));
    }
    const urls = [...new Set([...(answer?.pictures ?? []), ...picturesIn(end.data), ...all.flatMap((s) => picturesIn(s.result))])];
    pictures.show(urls);
    shotsPart.hidden = urls.length === 0;
  }
  return { element, show };
}
