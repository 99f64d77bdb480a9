// Flows: those of the account, and a form to run one.

import { get, token } from "./api.js";
import { failed, fill, h, loading, say } from "./dom.js";
import { clock, plural } from "./format.js";
import { pretty } from "./recipes.js";
import { cancelJob, follow, resultPanel, runs, startJob } from "./result.js";

// job is the flow that was started last. It goes on when the view is left.
let job;

export function draw(main, { signal, who, rest }) {
  if (job?.as !== token()) job = undefined;
  const said = h("div"), list = h("ul", { class: "tasks sheet", "aria-label": "Flows", hidden: true }), wait = loading("flows");
  const none = h("div", { class: "empty", hidden: true }, h("strong", {}, "No flows yet"), "A flow is a list of actions with parameters that tasks run by name. Store one with ", h("code", {}, "PUT /v1/flows/{name}"), ". ", h("a", { href: "/docs/flows" }, "How flows work"), ".");
  const detail = h("section", { class: "stack", "aria-label": "The flow" });
  const count = h("p", { class: "soft small", role: "status" });
  const pair = h("div", { class: "pair" }, h("div", {}, wait.element, none, list), detail);
  fill(main, h("div", { class: "head" }, h("h1", {}, "Flows"), count), said, pair);

  let flows = [], chosen = decoded(rest[0]);
  const show = () => {
    for (const a of list.querySelectorAll("a")) a.toggleAttribute("aria-current", a.dataset.flow === chosen);
    const flow = flows.find((f) => f.name === chosen);
    pair.toggleAttribute("data-chosen", Boolean(flow));
    fill(detail, flow ? form(flow, { signal, who }) : h("p", { class: "empty" }, h("strong", {}, chosen && flows.length ? `There is no flow ${chosen}` : "No flow selected"), "Select a flow to see its parameters and to run it."));
  };
  main.addEventListener("address", ({ detail: [name] }) => ((chosen = decoded(name)), show()), { signal });
  get("/v1/flows", { signal }).then((answer) => {
    wait.done();
    flows = answer.flows;
    none.hidden = flows.length > 0;
    list.hidden = flows.length === 0;
    fill(count, plural(flows.length, "flow"));
    fill(list, flows.map((f) => h("li", {}, h("a", { href: `#/flows/${encodeURIComponent(f.name)}`, "data-flow": f.name },
      h("code", {}, f.name), h("span", { class: "soft" }, f.description ?? ""), h("span", { class: "soft" }, `version ${f.version}`)))));
    show();
  }, (err) => err.name !== "AbortError" && (wait.done(), failed(said, err)));
}

const decoded = (s) => {
  try {
    return s && decodeURIComponent(s);
  } catch {
    return s;
  }
};

// form shows a flow with a field for each of its parameters, and runs it.
function form(flow, { signal, who }) {
  const result = resultPanel("flow");
  const said = h("div");
  const version = h("select", { id: "flow-version" }, flow.versions.toReversed().map((v) => h("option", { value: v === flow.version ? "" : String(v) }, v === flow.version ? `${v}, the newest` : String(v))));
  const fields = h("div", { class: "stack" }), about = h("div");
  const play = h("button", { class: "main", id: "run-flow" }, "Run"), cancel = h("button", { class: "danger", type: "button", id: "cancel-flow", hidden: true, onclick: () => void cancelJob(job) }, "Cancel");
  const controls = { play, cancel, signal };
  const source = h("pre", { class: "out", tabindex: "0", "aria-label": "Actions of the flow" });
  let inputs = [];
  const reference = () => (version.value ? `${flow.name}@${version.value}` : flow.name);

  async function load() {
    failed(said);
    try {
      const { flow: f } = await get(`/v1/flows/${encodeURIComponent(reference())}`, { signal });
      inputs = Object.entries(f.parameters).map(([name, p]) => field(name, p));
      fill(fields, inputs.length ? inputs.map((i) => i.element) : h("p", { class: "soft small" }, "This flow has no parameters."));
      fill(about, f.description && h("p", {}, f.description), h("p", { class: "soft small" }, `Stored ${clock(f.createdAt)}`, f.result?.description && ` · gives: ${f.result.description}`));
      source.textContent = pretty({ actions: f.actions });
    } catch (err) {
      if (err.name !== "AbortError") failed(said, err);
    }
  }
  async function start(e) {
    e.preventDefault();
    if (runs(job)) return;
    failed(said);
    const given = {};
    for (const i of inputs) {
      const v = i.read();
      if (v instanceof Error) {
        failed(said, v);
        i.input.focus();
        return;
      }
      if (v !== undefined) given[i.name] = v;
    }
    say("The flow is running");
    job = startJob(JSON.stringify({ actions: [{ run: reference(), with: given }] }), [], who);
    job.flow = flow.name;
    follow(job, result, controls);
    await job.ended;
  }
  version.addEventListener("change", () => void load());
  void load();
  if (job?.flow === flow.name) follow(job, result, controls);
  return [
    h("form", { class: "sheet pad stack", onsubmit: (e) => void start(e) }, h("h2", {}, flow.name), about,
      h("label", {}, "Version", version), fields, said, h("div", { class: "tools" }, play, cancel)),
    result.element,
    h("details", { class: "small" }, h("summary", {}, "Its actions"), source),
  ];
}

// field is the input of one parameter. An empty one is not given, unless the parameter
// must be: then an empty text is one.
function field(name, p) {
  const type = p.type ?? "string", id = `with-${name}`, help = `${id}-help`;
  const common = { id, name, required: p.required === true && type !== "boolean" && type !== "string", "aria-describedby": help, autocomplete: "off", spellcheck: "false" };
  const shown = p.default === undefined ? "" : type === "string" ? p.default : JSON.stringify(p.default);
  let input;
  if (type === "boolean") {
    input = h("select", common, p.required ? null : h("option", { value: "" }, p.default === undefined ? "not given" : `default: ${p.default}`), h("option", { value: "true" }, "true"), h("option", { value: "false" }, "false"));
  } else if (["array", "object", "any"].includes(type)) {
    input = h("textarea", { ...common, rows: "3", placeholder: shown || "JSON" });
  } else {
    input = h("input", { ...common, type: type === "number" ? "number" : "text", step: "any", placeholder: p.secret ? "Name of a secret" : shown });
  }
  const words = [p.secret ? "name of a secret" : type, p.required && "required", p.description].filter(Boolean).join(" · ");
  const read = () => {
    const v = input.value;
    if (v === "" && !(p.required && type === "string")) return undefined;
    if (p.secret) return `\${secret:${v.trim()}}`;
    if (type === "string") return v.replaceAll("$", "$$$$"); // what is typed here is meant as it is
    try {
      return JSON.parse(v);
    } catch {
      return new Error(`${name}: this is not valid JSON`);
    }
  };
  return { name, input, read, element: h("label", { for: id }, h("span", {}, h("code", {}, name), " ", h("span", { class: "soft small", id: help }, words)), input) };
}
