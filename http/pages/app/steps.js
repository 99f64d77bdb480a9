// Steps of a task, its pictures and its errors, as Tasks and Playground show
// them.

import { fileHere } from "./api.js";
import { h, rows, text } from "./dom.js";
import { duration, oneLine } from "./format.js";

// stepList is a list that show keeps in step with a task's steps.
export function stepList(label) {
  const list = h("ol", { class: "steps", "aria-label": label });
  const show = (steps) => rows(list, steps.map((s, i) => [i, s]), ([i]) => i, ([, s]) => step(s), () => {});
  return { list, show };
}

function step(s) {
  return h("li", { class: s.success ? "" : "bad", "data-step": s.actionPath },
    h("span", { class: "mark" }, h("span", { "aria-hidden": "true" }, s.success ? "✓" : "✗"), h("span", { class: "unseen" }, s.success ? "worked" : "failed")),
    h("span", { class: "name" }, s.action, " ", h("span", { class: "path" }, s.actionPath, s.iteration != null ? `·${(s.iterations ?? [s.iteration]).join("·")}` : "")),
    h("span", { class: "what" }, s.success ? oneLine(s.result) : s.error ?? s.code),
    h("span", { class: "took" }, duration(s.durationMs)));
}

// picturesIn finds the addresses of pictures in a result.
export function picturesIn(v, found = []) {
  if (Array.isArray(v)) for (const e of v) picturesIn(e, found);
  else if (v && typeof v === "object") {
    for (const [name, e] of Object.entries(v)) {
      if (name === "url" && typeof e === "string" && /\/files\/[^/]+\.(png|jpe?g|webp)$/.test(e)) found.push(e);
      else picturesIn(e, found);
    }
  }
  return [...new Set(found)];
}

const names = { screenshot: "picture", html: "page source", console: "console", network: "network" };

// kept links to what was written down of a task: its trace, and what it left when
// it failed.
export function kept({ trace, evidence }) {
  const link = (url, text) => h("a", { href: fileHere(url), target: "_blank", rel: "noopener" }, text);
  const left = Object.keys(names).filter((k) => evidence?.[k]).map((k) => link(evidence[k], names[k]));
  return [
    trace && h("p", { class: "small" }, link(trace, "Trace of all steps")),
    left.length > 0 && h("p", { class: "small kept" }, evidence.actionPath != null ? `When action ${evidence.actionPath} failed: ` : "When it failed: ", left.map((a, i) => [i ? ", " : "", a])),
  ];
}

// shots shows pictures.
export function shots() {
  const list = h("div", { class: "shots" });
  const show = (urls) => rows(list, urls.map((u, i) => [u, i]), ([u]) => u,
    ([u, i]) => h("a", { href: fileHere(u), target: "_blank", rel: "noopener" }, h("img", { src: fileHere(u), alt: `Picture ${i + 1}`, loading: "lazy" })), () => {});
  return { list, show };
}

// state is how a task stands, in colour and words.
export const words = { running: "Running", complete: "Complete", partial: "Some failed", failed: "Failed", cancelled: "Cancelled" };

// stands is the state of a task of the feed. The service says whether it has failed, and
// cancelling a task is no failure.
export function stands(t) {
  return t.status === "failed" && t.code === "cancelled" ? "cancelled" : t.status;
}

// outcome is the state of a task by its answer.
export function outcome(answer) {
  if (answer.error) return answer.code === "cancelled" ? "cancelled" : "failed";
  return answer.errors?.some((e) => !e.tolerated) ? "failed" : "complete";
}

export function stateInto(e, status) {
  e.className = "state";
  e.dataset.is = status;
  return text(e, words[status] ?? status);
}
