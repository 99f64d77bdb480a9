// Playground: a task is written, checked while it is written, played, and taken
// away as a program.

import { get } from "./api.js";
import { copy, failed, fill, h, say, text } from "./dom.js";
import { editor } from "./editor.js";
import { coarse, duration, plural } from "./format.js";
import { around, pretty, recipes } from "./recipes.js";
import { check, run } from "./run.js";
import { TaskSchema } from "./schema.js";
import { languages } from "./snippets.js";
import { kept as evidence, picturesIn, shots, stateInto, stepList } from "./steps.js";

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

export function draw(main, { signal, who }) {
  let schema, write, running, asking;
  const verdict = h("div", { class: "verdict", role: "status", id: "verdict" }, "Checking…");
  const faults = h("ul", { class: "faults", "aria-label": "Faults and warnings", hidden: true });
  const place = h("div", { class: "editor sheet" });
  const examples = h("select", { id: "examples", "aria-label": "Begin with an example" }, h("option", { value: "" }, "Begin with…"),
    h("optgroup", { label: "Tasks" }, Object.keys(recipes).map((name) => h("option", { value: `r ${name}` }, name))));
  const play = h("button", { class: "main", id: "run", onclick: () => void start() }, "Run ", h("kbd", { "aria-hidden": "true" }, "Ctrl ↵"));
  const cancel = h("button", { class: "danger", id: "cancel", hidden: true, onclick: () => void stop() }, "Cancel");
  const files = h("input", { type: "file", multiple: true, id: "files" });
  const result = resultPanel();
  const code = codePanel(() => write.text(), () => files.files.length);
  fill(main, h("div", { class: "head" }, h("h1", {}, "Playground"), h("p", { class: "soft small" }, "What each action does: ", h("a", { href: "/docs/actions" }, "reference"))),
    h("div", { class: "play" },
      h("section", { "aria-label": "Task" }, h("div", { class: "tools" }, examples, play, cancel),
        h("div", { class: "editor sheet" }, place, verdict, faults),
        h("details", { class: "small files" }, h("summary", {}, "Files for uploadFile"), h("label", {}, "An action names them as $file:0, $file:1 …", files))),
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
      said.plan?.lowest ? `plan ${said.plan.lowest} or higher` : "no plan has what it asks for",
      said.plan?.allowed === false ? `yours is ${said.plan.account}` : "",
      `at most ${coarse(said.time.worstCase)}`,
      said.warnings.length ? plural(said.warnings.length, "warning") : "",
    ].filter(Boolean) : [plural(said.faults.length, "fault")];
    fill(verdict, h("span", { class: "state", "data-is": said.valid ? "complete" : "failed" }, said.valid ? "Valid" : "Not valid"), h("span", {}, facts.join(" · ")));
  }

  async function start() {
    if (running) return;
    result.begin();
    try {
      JSON.parse(write.text());
    } catch {
      return result.refuse(new Error("This is no JSON yet: the editor shows where it breaks."));
    }
    play.disabled = true;
    cancel.hidden = false;
    say("The task runs");
    try {
      running = run(write.text(), [...files.files], { who, hear: result.hear });
      result.end(await running.answer);
    } catch (err) {
      result.refuse(err);
    } finally {
      running = undefined;
      play.disabled = false;
      if (document.activeElement === cancel) play.focus();
      cancel.hidden = true;
    }
  }
  async function stop() {
    try {
      await running?.cancel();
    } catch (err) {
      result.refuse(err);
    }
  }
}

// resultPanel shows what comes of a task.
function resultPanel() {
  const state = h("span", { id: "outcome", role: "status" });
  const about = h("span", { class: "soft small" });
  const said = h("div"), data = h("pre", { class: "out", id: "data", tabindex: "0", "aria-label": "Result" }), whole = h("pre", { class: "out", tabindex: "0", "aria-label": "Whole answer" });
  const steps = stepList("Steps"), pictures = shots();
  const empty = h("div", { class: "empty" }, h("strong", {}, "Nothing has run yet"), "Run the task to see its steps as they end, its result and its pictures.");
  const details = h("details", {}, h("summary", { class: "small" }, "The whole answer"), whole);
  const part = (title, ...children) => h("div", { hidden: true }, h("h3", {}, title), ...children);
  const stepsPart = part("Steps", steps.list), dataPart = part("Result", data), shotsPart = part("Pictures", pictures.list);
  const panel = h("div", { class: "sheet result", hidden: true }, h("div", { class: "tools" }, state, about), said, stepsPart, shotsPart, dataPart, details);
  let all = [];
  return {
    element: h("section", { "aria-label": "Result" }, empty, panel),
    begin() {
      empty.hidden = true;
      panel.hidden = false;
      all = [];
      steps.show(all);
      pictures.show([]);
      for (const p of [stepsPart, dataPart, shotsPart, details]) p.hidden = true;
      fill(said);
      fill(about, "waits for a worker");
      stateInto(state, "running");
    },
    hear({ started, step }) {
      if (started) fill(about, "on ", started.workerName, " · ", h("a", { href: `#/tasks/${started.taskId}` }, "in Tasks"));
      if (!step) return;
      all.push(step);
      steps.show(all);
      stepsPart.hidden = false;
    },
    end(answer) {
      stateInto(state, answer.error ? "failed" : answer.errors?.length ? "partial" : "complete");
      const link = answer.taskId && h("a", { href: `#/tasks/${answer.taskId}` }, "in Tasks");
      fill(about, [answer.workerName && `on ${answer.workerName}`, duration(answer.duration)].filter(Boolean).join(" · "), " · ", link);
      fill(said,
        answer.error && h("p", { class: "error", role: "alert" }, answer.code && h("code", {}, answer.code), " ", answer.error),
        !answer.error && answer.errors?.length > 0 && h("p", { class: "error", role: "alert" }, `${plural(answer.errors.length, "action")} failed: ${answer.errors.map((e) => e.error).join(" ")}`),
        answer.warnings?.map((w) => h("p", { class: "note" }, w.message)), evidence(answer));
      if (answer.steps && !all.length) {
        steps.show(answer.steps);
        stepsPart.hidden = false;
      }
      text(data, JSON.stringify(answer.data ?? null, null, 2));
      text(whole, JSON.stringify(answer, null, 2));
      const urls = picturesIn(answer.data);
      for (const s of all) urls.push(...picturesIn(s.result).filter((u) => !urls.includes(u)));
      pictures.show(urls);
      shotsPart.hidden = urls.length === 0;
      dataPart.hidden = details.hidden = false;
    },
    refuse(err) {
      stateInto(state, "failed");
      fill(about);
      fill(said, h("p", { class: "error", role: "alert" }, err.code && h("code", {}, err.code), " ", err.message));
    },
  };
}

// codePanel shows the task as a program.
function codePanel(task, files) {
  let chosen = "curl";
  const shown = h("pre", { id: "snippet", tabindex: "0", "aria-label": "The task as a program" });
  const note = h("p", { class: "soft small" });
  const buttons = Object.entries(languages).map(([name, [title]]) => h("button", { "data-language": name, "aria-pressed": String(name === chosen), onclick: () => choose(name) }, title));
  const update = () => {
    text(shown, languages[chosen][1](location.origin, task()));
    text(note, files() ? "The files that you have chosen are not in it: they go into a form, as the API's description shows." :
      chosen === "n8n" ? "Paste it into a workflow. Its credential is one for header authentication, with the header Authorization and the value Bearer, a space and your token." : "The token comes from the environment: TROUPE_TOKEN.");
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
