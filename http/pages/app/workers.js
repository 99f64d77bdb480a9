// Workers: what each one does, and a live picture of those that do something of
// yours.

import { get } from "./api.js";
import { fill, h, loading, rows, text } from "./dom.js";
import * as feed from "./feed.js";
import { clock, lasting, shortID } from "./format.js";
import { livePicture } from "./live.js";
import { links, share } from "./share.js";

export const words = { online: "Online", reserved: "Reserved", busy: "Busy", offline: "Offline" };

// stateOf is a worker's state in one word, as the command line says it.
export function stateOf(w) {
  if (!w.draining) return [w.state, words[w.state] ?? w.state];
  return w.state === "offline" ? ["offline", "Drained"] : ["draining", `${words[w.state] ?? w.state}, draining`];
}

export function draw(main, { signal, who }) {
  const count = h("p", { class: "soft small", id: "count", role: "status" });
  const none = h("p", { class: "empty", hidden: true }), wait = loading("workers");
  const drained = h("p", { class: "note", id: "drained", role: "status", hidden: true }, "The service is drained: it takes no new tasks until the operator resumes it.");
  const list = h("div", { class: "workers" });
  const shared = links({ signal });
  fill(main, h("div", { class: "head" }, h("h1", {}, "Workers"), count), drained, wait.element, none, list, shared.section);

  // Nothing in the feed says that the whole service is drained.
  const look = async () => {
    try {
      drained.hidden = !(await get("/v1/capacity", { signal })).draining;
    } catch {
      return; // the bar says that the service does not answer
    }
    update();
  };
  const update = () => {
    const all = [...feed.workers.values()];
    const by = {};
    for (const w of all) by[stateOf(w)[1]] = (by[stateOf(w)[1]] ?? 0) + 1;
    text(count, Object.entries(by).map(([s, n]) => `${n} ${s.toLowerCase()}`).join(" · "));
    const told = feed.link.told || all.length > 0;
    wait.element.hidden = told;
    none.hidden = all.length > 0 || !told;
    if (!none.hidden) {
      fill(none, h("strong", {}, "Your account has no workers"), "The operator can start the service with workers (", h("code", {}, "--workers"), ") or add one with ", h("code", {}, "troupe worker add"), ".");
    }
    rows(list, all, (w) => w.workerId, (w) => card(w, { who, signal, onShare: shared.update }), (e, w) => e.take(w, !drained.hidden));
  };
  feed.onChange(update, signal);
  const tick = setInterval(look, 5000); // "12 s ago" goes on
  signal.addEventListener("abort", () => clearInterval(tick), { once: true });
  update();
  void look();
}

// card is one worker. What it shows follows what take is told.
function card(first, { who, signal, onShare }) {
  const name = h("h2", {}, first.workerName);
  const state = h("span", { class: "state" });
  const since = h("time", {});
  const what = h("span");
  const tools = h("span", { class: "tools" });
  const place = h("div", { class: "place" });
  const element = h("article", { class: "worker sheet", "data-worker": first.workerName, "aria-label": first.workerName },
    h("div", { class: "top" }, name, state), place, h("div", { class: "under" }, what, since, tools));
  const ended = new AbortController();
  let picture, shown;

  // watch shows the picture of what runs now. The last one of a task that has ended
  // stays until the next begins.
  const watch = (w) => {
    const object = feed.link.live && w.state !== "offline" ? w.taskId ?? w.sessionId : undefined;
    if (object === shown) return;
    const was = shown;
    shown = object;
    if (object && picture) picture.again();
    else if (object) fill(place, (picture = livePicture(w.workerId, { signal: AbortSignal.any([ended.signal, signal]), label: `Live picture of ${w.workerName}`, runs: () => shown !== undefined })));
    else picture.rest(was.startsWith("sess_") ? "The session has ended." : "The task has ended.");
    fill(tools, object && h("button", { class: "plain", onclick: () => share(w.workerId, w.workerName, onShare) }, "Share", h("span", { class: "unseen" }, ` the live picture of ${w.workerName}`)));
  };
  element.addEventListener("gone", () => ended.abort());
  element.take = (w, drained) => {
    const [is, said] = stateOf(w);
    state.dataset.is = is;
    text(state, said);
    since.dateTime = w.since;
    since.title = clock(w.since);
    text(since, lasting(w.since));
    const key = [w.taskId, w.sessionId, w.account, w.state, w.draining, drained].join();
    if (what.dataset.key !== key) {
      what.dataset.key = key;
      const theirs = who.operator && w.account && w.account !== who.account ? ` of ${w.account}` : "";
      if (w.taskId) fill(what, "Task ", h("a", { href: `#/tasks/${w.taskId}` }, h("code", {}, shortID(w.taskId))), theirs);
      else if (w.sessionId) fill(what, "Held by ", h("code", {}, shortID(w.sessionId)), theirs);
      else if (w.state === "busy" || w.state === "reserved") fill(what, "Runs a task of another account");
      else if (w.state === "offline") fill(what, w.draining ? "Takes no tasks" : "Its browser is not running");
      else if (drained) fill(what, "Takes no tasks");
      else fill(what, w.shared ? "Ready" : "Ready, only for your account");
    }
    watch(w);
  };
  return element;
}

