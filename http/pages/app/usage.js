// Usage: what the plan allows, and what of it is used.

import { get } from "./api.js";
import { failed, fill, h, loading } from "./dom.js";
import { clock, coarse, until } from "./format.js";

export function draw(main, { signal }) {
  const said = h("div");
  const place = h("div", { class: "usage" }, loading("usage").element);
  fill(main, h("div", { class: "head" }, h("h1", {}, "Usage")), said, place);
  const update = async () => {
    try {
      fill(place, usage(await get("/v1/usage", { signal })));
      failed(said);
    } catch (err) {
      if (err.name === "AbortError") return;
      place.querySelector(".loading")?.remove();
      failed(said, err);
    }
  };
  const timer = setInterval(update, 10_000);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  void update();
}

function usage(u) {
  const l = u.limits;
  const some = (ms) => (ms > 0 ? `up to ${coarse(ms)}` : "not in this plan");
  return [
    h("div", { class: "sheet pad gauge" }, gauge("tasks", "Tasks today", u.usedToday, l.tasksPerDay),
      h("p", { class: "soft small" }, l.tasksPerDay == null ? "This plan has no daily limit. " : `${u.remainingToday} left. `, `The day ends at ${clock(u.resetAt)} (${until(u.resetAt)}). Days are in UTC.`)),
    h("div", { class: "sheet pad gauge" }, gauge("held", "Workers held by sessions", u.reservedWorkers, l.sessions ? l.reservedWorkersHere : 0),
      h("p", { class: "soft small" }, l.sessions ? "A session keeps a browser for your next request, until you close it or do not use it for some time." : "The plans Standard and Pro include sessions.")),
    h("section", { class: "sheet pad" }, h("h2", {}, `Plan ${u.plan}`), h("dl", { class: "facts" },
      h("dt", {}, "Tasks a day"), h("dd", {}, l.tasksPerDay ?? "no limit"),
      h("dt", {}, "Synchronous tasks"), h("dd", {}, some(l.syncTimeout)),
      h("dt", {}, "Asynchronous tasks"), h("dd", {}, some(l.asyncTimeout)),
      h("dt", {}, "Sessions"), h("dd", {}, l.sessions ? `yes, ${l.reservedWorkers} at once${l.reservedWorkersHere < l.reservedWorkers ? ` by the plan, ${l.reservedWorkersHere} with the workers of this service` : ""}` : "not in this plan"),
      h("dt", {}, "Stored files"), h("dd", {}, `${u.storage.files}${l.storageFiles == null ? "" : ` of ${l.storageFiles}`}, ${mebi(u.storage.bytes)}${l.storageBytes == null ? "" : ` of ${mebi(l.storageBytes)}`}`))),
  ];
}

const mebi = (bytes) => `${Math.ceil(bytes / 2 ** 20)} MiB`;

function gauge(id, what, used, limit) {
  const meter = limit > 0 && h("meter", { id: `meter-${id}`, min: 0, max: limit, low: limit * 0.8, high: limit * 0.95, optimum: 0, "aria-label": what });
  if (meter) meter.value = used;
  return [h("div", { class: "top" }, h("h2", {}, what), h("span", {}, h("strong", { id: `used-${id}` }, used), limit == null ? " · no limit" : ` of ${limit}`)), meter];
}
