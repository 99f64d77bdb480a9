// Playground: a task is written, checked while it is written, played, and taken
// away as a program.

import { token } from "./api.js";
import { copy, fill, h, say, text } from "./dom.js";
import { draft, keepDraft } from "./draft.js";
import { pretty, recipes } from "./recipes.js";
import { cancelJob, follow, resultPanel, runs, startJob } from "./result.js";
import { check } from "./run.js";
import { languages } from "./snippets.js";
import { taskEditor } from "./task_editor.js";

const begun = () => draft() ?? pretty(recipes["Read products"]);

// job is the task that was started last. It goes on when the view is left, and
// its result is there when the reader comes back.
let job;

export function draw(main, { signal, who }) {
  if (job?.as !== token()) job = undefined;
  const play = h("button", { class: "main", id: "run", onclick: () => void start() }, "Run ", h("kbd", { "aria-hidden": "true" }, "Ctrl ↵"));
  const cancel = h("button", { class: "danger", id: "cancel", hidden: true, onclick: () => void cancelJob(job) }, "Cancel");
  const files = h("input", { type: "file", multiple: true, id: "files", onchange: () => (code.update(), void write.checkAgain()) });
  const result = resultPanel(), controls = { play, cancel, signal };
  const write = taskEditor({
    doc: begun(), signal, check: (s, signal) => check(s, files.files, signal),
    onChange: (s) => (keepDraft(s), code.update()), onRun: () => void start(),
  });
  const code = codePanel(write.text, () => files.files.length);
  fill(main, h("div", { class: "head" }, h("h1", {}, "Playground"), h("p", { class: "soft small" }, "All actions: ", h("a", { href: "/docs/actions" }, "reference"))),
    h("div", { class: "play" },
      h("section", { "aria-label": "Task" }, h("div", { class: "tools" }, write.examples, play, cancel), write.element,
        h("details", { class: "small files" }, h("summary", {}, "Files for uploadFile"), h("label", {}, "Actions refer to them as $file:0, $file:1 …", files))),
      result.element),
    code.element);
  code.update();

  async function start() {
    if (runs(job)) return;
    try {
      JSON.parse(write.text());
    } catch {
      job = { as: token(), steps: [], error: new Error("This is not valid JSON. The editor marks the fault.") };
      return follow(job, result, controls);
    }
    say("The task is running");
    job = startJob(write.text(), [...files.files], who);
    follow(job, result, controls);
    await job.ended;
  }
  if (job) follow(job, result, controls);

  document.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey) || e.defaultPrevented || document.querySelector("dialog[open]")) return;
    e.preventDefault();
    void start();
  }, { signal });
}

// codePanel shows the task as a program.
function codePanel(task, files) {
  let chosen = "curl";
  const shown = h("pre", { id: "snippet", tabindex: "0", "aria-label": "The task as a program" });
  const note = h("p", { class: "soft small" });
  const buttons = Object.entries(languages).map(([name, [title]]) => h("button", { "data-language": name, "aria-pressed": String(name === chosen), onclick: () => choose(name) }, title));
  const update = () => {
    text(shown, languages[chosen][1](location.origin, task()));
    text(note, files() ? "Your files are not included. Send them in a form, as the API documentation shows." :
      chosen === "n8n" ? "Paste this node into a workflow. Give it a Header Auth credential: the name Authorization, and the value Bearer, a space and your token." : "The program reads your token from the environment variable TROUPE_TOKEN.");
  };
  function choose(name) {
    chosen = name;
    for (const b of buttons) b.setAttribute("aria-pressed", String(b.dataset.language === name));
    update();
  }
  return {
    update,
    element: h("section", { class: "code", "aria-label": "Take it with you" }, h("h2", {}, "Take it with you"),
      h("div", { class: "tools" }, buttons, h("button", { class: "plain", id: "copy", onclick: () => copy(shown.textContent, languages[chosen][0]) }, "Copy")), note, shown),
  };
}
