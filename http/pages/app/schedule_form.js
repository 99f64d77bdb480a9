// The form of a schedule: a new one, or one that is there.

import { Refused, call, get, post } from "./api.js";
import { failed, fill, h, say } from "./dom.js";
import { pretty, recipes } from "./recipes.js";
import { check } from "./run.js";
import { taskEditor } from "./task_editor.js";

const units = [["days", 86_400_000], ["hours", 3_600_000], ["minutes", 60_000], ["seconds", 1000]];
const here = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const fresh = { cron: "0 9 * * 1-5", timeZone: here, missed: "once", overlap: "skip", task: recipes["Read products"] };

const options = (now, all) => all.map(([v, label]) => h("option", { value: v, selected: v === now }, label));

// scheduleForm writes a schedule; without an identifier a new one.
export function scheduleForm(id, signal) {
  const ended = new AbortController(), both = AbortSignal.any([signal, ended.signal]);
  const said = h("div");
  const element = h("div", { class: "sheet result" }, h("div", { class: "tools" }, h("h2", {}, id ? "Edit the schedule" : "New schedule")), said);
  const begin = (s) => element.append(form(id, s, both));
  if (id) get(`/v1/schedules/${id}`, { signal: both }).then(({ schedule }) => begin(schedule), (err) => err.name !== "AbortError" && failed(said, err));
  else begin(fresh);
  return { element, end: () => ended.abort() };
}

function form(id, s, signal) {
  const said = h("div");
  const input = (name, attributes) => h("input", { id: `schedule-${name}`, autocomplete: "off", spellcheck: "false", ...attributes });
  const field = (label, e, help) => h("label", { for: e.id }, h("span", {}, label), e, help && h("span", { class: "soft small" }, help));
  const name = input("name", { maxlength: "100", value: s.name ?? "" });
  const [unit] = units.find(([, ms]) => s.every % ms === 0) ?? units.at(-1);
  const kind = h("select", { id: "schedule-kind", onchange: () => shows() }, options(s.every ? "every" : "cron", [["cron", "at the times of a cron line"], ["every", "at an interval"]]));
  const cron = input("cron", { class: "mono", value: s.cron ?? "", placeholder: "0 9 * * 1-5" });
  const zone = input("timeZone", { value: s.timeZone, list: "zones", required: true });
  const number = input("every", { type: "number", min: "0", step: "any", value: s.every ? String(s.every / units.find(([u]) => u === unit)[1]) : "" });
  const unitOf = h("select", { id: "schedule-unit", "aria-label": "Unit of the interval" }, options(s.every ? unit : "minutes", units.map(([u]) => [u, u])));
  const missed = h("select", { id: "schedule-missed" }, options(s.missed, [["once", "one run makes up for all"], ["skip", "no run"], ["all", "a run for each of them"]]));
  const overlap = h("select", { id: "schedule-overlap" }, options(s.overlap, [["skip", "no run"], ["queue", "wait for it"], ["replace", "cancel it"]]));
  const jitter = input("jitter", { type: "number", min: "0", max: "3600", step: "any", value: s.jitter ? String(s.jitter / 1000) : "" });
  const items = h("textarea", { id: "schedule-items", rows: "3", class: "mono", spellcheck: "false", placeholder: '{"id": 1}', value: s.batch ? s.batch.items.map((i) => JSON.stringify(i)).join("\n") : "" });
  const paused = h("input", { type: "checkbox", id: "schedule-paused" });
  const write = taskEditor({ doc: pretty(s.batch?.task ?? s.task), signal, check: look, onChange() {}, onRun: () => element.requestSubmit() });
  items.addEventListener("input", () => void write.checkAgain());

  // look asks about the task as a schedule runs it: it waits in the queue, and the task of
  // a batch has the fields of its items.
  function look(t, signal) {
    return check(queued(t), [], signal, Boolean(items.value.trim()));
  }
  const cronField = field("Cron line", cron, ["Minute, hour, day of the month, month, day of the week. ", h("a", { href: "/docs/schedules#cron-lines" }, "Examples")]);
  const everyField = h("div", { class: "field" }, h("label", { for: "schedule-every" }, "Every"), h("div", { class: "line" }, number, unitOf));
  const save = h("button", { class: "main", id: "save-schedule" }, id ? "Save" : "Create");
  const shows = () => {
    cronField.hidden = kind.value !== "cron";
    everyField.hidden = kind.value === "cron";
    cron.required = kind.value === "cron";
    number.required = kind.value !== "cron";
  };
  shows();
  const fields = { name, cron, every: number, timeZone: zone, missed, overlap, jitter, "batch/items": items };

  // read makes the schedule of what is written, or says what is wrong.
  function read() {
    const written = { timeZone: zone.value.trim(), missed: missed.value, overlap: overlap.value };
    if (name.value.trim()) written.name = name.value.trim();
    if (kind.value === "cron") written.cron = cron.value.trim();
    else written.every = Math.round(Number(number.value) * units.find(([u]) => u === unitOf.value)[1]);
    if (jitter.value) written.jitter = Math.round(Number(jitter.value) * 1000);
    if (!id && paused.checked) written.paused = true;
    const task = parsed(write.text(), "The task is not valid JSON. The editor marks the fault.");
    const lines = items.value.split("\n").map((l, i) => [l.trim(), i + 1]).filter(([l]) => l);
    if (!lines.length) return { ...written, task };
    const { name: called, notify } = s.batch ?? {};
    return { ...written, batch: { task, name: called, notify, items: lines.map(([l, n]) => parsed(l, `Items: line ${n} is not valid JSON.`)) } };
  }
  async function submit(e) {
    e.preventDefault();
    save.disabled = true;
    failed(said);
    for (const f of Object.values(fields)) f.removeAttribute("aria-invalid");
    try {
      const body = read();
      const { schedule } = await (id ? call("PUT", `/v1/schedules/${id}`, { body, signal }) : post("/v1/schedules", body, { signal }));
      say(id ? "The schedule is saved" : "The schedule is created");
      location.hash = `#/schedules/${schedule.scheduleId}`;
    } catch (err) {
      if (err.name !== "AbortError") wrong(err);
    }
    save.disabled = false;
  }
  // wrong shows what the service refuses, at the fields and in words.
  function wrong(err) {
    const details = err instanceof Refused ? err.details : [];
    const label = (path) => labels[path.slice(1)] ?? (path.replace(/^\/(batch\/)?task/, "Task ").trim() || "The schedule");
    if (!details.length) failed(said, err);
    else fill(said, h("div", { class: "error", role: "alert" }, details.map((d) => h("p", {}, h("strong", {}, label(d.path)), `: ${d.message}`))));
    const bad = details.map((d) => fields[Object.keys(fields).find((k) => d.path === `/${k}` || d.path.startsWith(`/${k}/`))]).filter(Boolean);
    for (const f of bad) f.setAttribute("aria-invalid", "true");
    if (bad.length) bad[0].focus();
    else said.scrollIntoView({ block: "nearest" });
  }

  const element = h("form", { class: "stack", id: "schedule-form", onsubmit: (e) => void submit(e) },
    h("datalist", { id: "zones" }, zones().map((z) => h("option", { value: z }))),
    field("Name", name),
    h("div", { class: "fields" }, field("Runs", kind), cronField, everyField, field("Time zone", zone, "A name such as Europe/Berlin")),
    h("div", { class: "fields" }, field("Times that the service missed", missed), field("If a run still goes on", overlap), field("Begin later by up to, in seconds", jitter)),
    h("div", {}, h("div", { class: "tools" }, h("h3", {}, "Task of each run"), write.examples), write.element),
    field("Items", items, ["Empty: each run is one task. Else each run is a ", h("a", { href: "/docs/batches" }, "batch"), ": one JSON object in each line."]),
    id ? null : h("label", { class: "check" }, paused, "Create it paused"),
    said,
    h("div", { class: "tools" }, save, h("a", { class: "button plain", href: id ? `#/schedules/${id}` : "#/schedules" }, "Cancel")));
  return element;
}

const labels = { name: "Name", cron: "Cron line", every: "Interval", timeZone: "Time zone", missed: "Missed times", overlap: "If a run still goes on", jitter: "Begin later by", "batch/items": "Items" };

function parsed(text, otherwise) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(otherwise);
  }
}

// queued is a task as a schedule runs it: it waits in the queue.
function queued(text) {
  try {
    const task = JSON.parse(text);
    if (task.queue === undefined && task.actions) return text.replace("{", '{"queue":true,');
  } catch {
    // the service says where the fault is
  }
  return text;
}

function zones() {
  try {
    return ["UTC", ...Intl.supportedValuesOf("timeZone").filter((z) => z !== "UTC")];
  } catch {
    return ["UTC", here];
  }
}
