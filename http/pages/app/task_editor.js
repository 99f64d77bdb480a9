// A task that is written, and what the service says of it, as Playground and
// Schedules show it.

import { get } from "./api.js";
import { fill, h, say } from "./dom.js";
import { editor } from "./editor.js";
import { coarse, plural } from "./format.js";
import { around, pretty, recipes } from "./recipes.js";
import { TaskSchema } from "./schema.js";

// taskEditor makes one that lives as long as signal. check(text, signal) asks the
// service about a text; onChange hears of each change.
export function taskEditor({ doc, signal, check, onChange, onRun }) {
  let schema, asking;
  const verdict = h("div", { class: "verdict", role: "status", id: "verdict" }, "Checking…");
  const faults = h("ul", { class: "faults", "aria-label": "Faults and warnings", hidden: true });
  const place = h("div");
  const examples = h("select", { id: "examples", "aria-label": "Begin with an example" }, h("option", { value: "" }, "Begin with…"),
    h("optgroup", { label: "Tasks" }, Object.keys(recipes).map((name) => h("option", { value: `r ${name}` }, name))));
  const write = editor(place, {
    doc, nonce: document.querySelector("meta[name=style-nonce]").content, schema: () => schema, onChange, onRun, onCheck: judge, check: look,
  });
  signal.addEventListener("abort", () => write.end(), { once: true });

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
      return await check(s, AbortSignal.any([asking.signal, signal]));
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
    fill(faults, all.map(([cls, f]) => h("li", {}, h("button", { type: "button", "data-path": f.path, onclick: () => write.go(f.path) },
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

  return {
    element: h("div", { class: "editor sheet" }, place, verdict, faults),
    examples,
    text: write.text,
    judge,
    async checkAgain() {
      judge(await look(write.text()));
    },
  };
}
