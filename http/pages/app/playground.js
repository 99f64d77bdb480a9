// Playground: a task is written, checked while it is written, played, and taken
// away as a program.

import { get, token } from "./api.js";
import { copy, fill, h, say, text } from "./dom.js";
import { editor } from "./editor.js";
import { coarse, plural } from "./format.js";
import { around, pretty, recipes } from "./recipes.js";
import { cancelJob, follow, resultPanel, runs, startJob } from "./result.js";
import { check } from "./run.js";
import { TaskSchema } from "./schema.js";
import { languages } from "./snippets.js";

// What is written stays with the tab, as the token does: whoever reads the
// documents in between finds it again.
const kept = "troupe.draft";
const draft = () => sessionStorage.getItem(kept) ?? pretty(recipes["Read products"]);
function keepDraft(s) {
  try {
    sessionStorage.setItem(kept, s);
  } catch {
    sessionStorage.removeItem(kept); // larger than a tab may keep, and than any task may be
  }
}

// job is the task that was started last. It goes on when the view is left, and
// its result is there when the reader comes back.
let job;

export function draw(main, { signal, who }) {
  if (job?.as !== token()) job = undefined;
  let schema, write, asking;
  const verdict = h("div", { class: "verdict", role: "status", id: "verdict" }, "Checking…");
  const faults = h("ul", { class: "faults", "aria-label": "Faults and warnings", hidden: true });
  const place = h("div", { class: "editor sheet" });
  const examples = h("select", { id: "examples", "aria-label": "Begin with an example" }, h("option", { value: "" }, "Begin with…"),
    h("optgroup", { label: "Tasks" }, Object.keys(recipes).map((name) => h("option", { value: `r ${name}` }, name))));
  const play = h("button", { class: "main", id: "run", onclick: () => void start() }, "Run ", h("kbd", { "aria-hidden": "true" }, "Ctrl ↵"));
  const cancel = h("button", { class: "danger", id: "cancel", hidden: true, onclick: () => void cancelJob(job) }, "Cancel");
  const files = h("input", { type: "file", multiple: true, id: "files" });
  const result = resultPanel(), controls = { play, cancel, signal };
  const code = codePanel(() => write.text(), () => files.files.length);
  fill(main, h("div", { class: "head" }, h("h1", {}, "Playground"), h("p", { class: "soft small" }, "All actions: ", h("a", { href: "/docs/actions" }, "reference"))),
    h("div", { class: "play" },
      h("section", { "aria-label": "Task" }, h("div", { class: "tools" }, examples, play, cancel),
        h("div", { class: "editor sheet" }, place, verdict, faults),
        h("details", { class: "small files" }, h("summary", {}, "Files for uploadFile"), h("label", {}, "Actions refer to them as $file:0, $file:1 …", files))),
      result.element),
    code.element);
  place.className = "";

  write = editor(place, {
    doc: draft(), nonce: document.querySelector("meta[name=style-nonce]").content, schema: () => schema,
    onChange: (s) => (keepDraft(s), code.update()), onRun: () => void start(), onCheck: judge,
    check: look,
  });
  files.addEventListener("change", async () => (code.update(), judge(await look(write.text()))));
  signal.addEventListener("abort", () => write.end(), { once: true });
  code.update();

  examples.addEventListener("change", () => {
    const [kind, name] = [examples.value[0], examples.value.slice(2)];
    if (kind) write.set(pretty(kind === "r" ? recipes[name] : around(schema.actions.find((a) => a.name === name))));
    examples.value = "";
  });

  // The schema is what makes completion; without it the editor still edits.
  get("/openapi.json", { signal }).then((api) => {
    schema = new TaskSchema(api);
    examples.append(h("optgroup", { label: "Actions" }, schema.actions.map((a) => h("option", { value: `a ${a.name}` }, a.name))));
  }, (err) => err.name !== "AbortError" && say(err.message));

  // look asks the service about a text; only what was asked last is answered.
  async function look(s) {
    asking?.abort();
    asking = new AbortController();
    try {
      return await check(s, files.files, AbortSignal.any([asking.signal, signal]));
    } catch (err) {
      if (err.name !== "AbortError") fill(verdict, h("span", { class: "state", "data-is": "failed" }, "Not checked"), h("span", {}, err.message));
      return null;
    }
  }

  // judge shows what the service says of the task.
  function judge(said) {
    if (!said) return;
    const all = [...said.faults.map((f) => ["bad", f]), ...said.warnings.map((f) => ["meh", f])];
    faults.hidden = all.length === 0;
    fill(faults, all.map(([cls, f]) => h("li", {}, h("button", { "data-path": f.path, onclick: () => write.go(f.path) },
      h("code", {}, `line ${write.line(f.path)}`), h("span", { class: cls }, cls === "meh" ? "Warning: " : "", f.message), h("code", {}, f.path)))));
    const facts = said.valid ? [
      plural(said.actions, "action"),
      said.plan?.lowest ? `plan ${said.plan.lowest} or higher` : "no plan allows it",
      said.plan?.allowed === false ? `your plan is ${said.plan.account}` : "",
      `at most ${coarse(said.time.worstCase)}`,
      said.warnings.length ? plural(said.warnings.length, "warning") : "",
    ].filter(Boolean) : [plural(said.faults.length, "fault")];
    fill(verdict, h("span", { class: "state", "data-is": said.valid ? "complete" : "failed" }, said.valid ? "Valid" : "Not valid"), h("span", {}, facts.join(" · ")));
  }

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
