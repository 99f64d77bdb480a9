// What the page knows of workers and tasks: the service tells of every change,
// and begins with a whole picture. Where it has no feed, the workers are asked
// for again and again, and tasks are only those that this page has started.

import { Refused, events, get } from "./api.js";
import { picturesIn } from "./steps.js";

export const workers = new Map(); // by workerId
export const tasks = new Map(); // by taskId
export const link = { up: false, live: true, told: false }; // live: the service has a feed

const hub = new EventTarget();
let stop;

// onChange calls back after each change until signal ends.
export function onChange(f, signal) {
  hub.addEventListener("change", f, { signal });
}

let due = false;
function changed() {
  if (due) return;
  due = true;
  queueMicrotask(() => {
    due = false;
    hub.dispatchEvent(new Event("change"));
  });
}

export const newestFirst = () => [...tasks.values()].sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));

// learn takes what is known of a task. Steps that were told stay when what is
// said later leaves them out.
export function learn(task) {
  const old = tasks.get(task.taskId);
  const steps = task.steps && !(old?.steps?.length > task.steps.length) ? task.steps : old?.steps ?? [];
  tasks.set(task.taskId, { ...old, ...task, steps });
  changed();
}

function take(name, data) {
  switch (name) {
    case "snapshot":
      workers.clear();
      for (const w of data.workers) workers.set(w.workerId, w);
      for (const t of data.tasks) tasks.set(t.taskId, { steps: [], ...t });
      for (const t of tasks.values()) {
        // What ran when the connection broke and is not told of any more has ended.
        if (t.status === "running" && !data.tasks.some((other) => other.taskId === t.taskId)) void refresh(t.taskId);
      }
      if (link.told) void older(); // the feed begins with the last few: more may have ended meanwhile
      link.told = true;
      break;
    case "worker":
      workers.set(data.workerId, data);
      break;
    case "gone":
      workers.delete(data.workerId);
      break;
    case "step": {
      const t = tasks.get(data.taskId);
      if (!t) break;
      tasks.set(t.taskId, {
        ...t, steps: [...t.steps, data.step].slice(-200), stepsEnded: (t.stepsEnded ?? 0) + 1, failed: (t.failed ?? 0) + (data.step.success ? 0 : 1),
        pictures: data.step.action === "screenshot" ? [...(t.pictures ?? []), ...picturesIn(data.step.result)] : t.pictures,
      });
      break;
    }
    case "task":
    case "end":
      learn(data);
      break;
  }
  changed();
}

// refresh asks for one task.
export async function refresh(id) {
  try {
    learn((await get(`/v1/tasks/${id}`)).task);
  } catch (err) {
    if (err instanceof Refused && err.status === 404 && tasks.get(id)?.status === "running") tasks.delete(id);
    changed();
  }
}

// older asks for the tasks that ended before those that the feed begins with.
// What is known already is newer than the answer.
export async function older(signal) {
  try {
    const { tasks: all } = await get("/v1/tasks?limit=100", { signal });
    for (const t of all) if (!tasks.has(t.taskId)) learn(t);
  } catch (err) {
    // the feed says whether the service can be reached
  }
}

async function poll(signal) {
  while (!signal.aborted) {
    try {
      const { workers: all } = await get("/v1/workers", { signal });
      workers.clear();
      for (const w of all) workers.set(w.workerId, w);
      link.up = link.told = true;
    } catch (err) {
      link.up = false;
    }
    changed();
    await pause(2000, signal);
  }
}

const pause = (ms, signal) =>
  new Promise((done) => {
    const t = setTimeout(done, ms);
    signal.addEventListener("abort", () => (clearTimeout(t), done()), { once: true });
  });

// start follows the feed until rest or leave.
export async function start() {
  rest();
  const ended = new AbortController();
  stop = () => ended.abort();
  for (let wait = 500; !ended.signal.aborted; wait = Math.min(wait * 2, 10_000)) {
    try {
      await events("/v1/events", {
        signal: ended.signal,
        onOpen: () => {
          wait = 500;
          link.up = link.live = true;
          changed();
        },
        onEvent: take,
      });
    } catch (err) {
      if (ended.signal.aborted) return;
      if (err instanceof Refused && (err.status === 404 || err.status === 405)) {
        link.live = false;
        return poll(ended.signal);
      }
    }
    link.up = false;
    changed();
    await pause(wait, ended.signal);
  }
}

// rest stops following, and keeps what is known.
export function rest() {
  stop?.();
  stop = undefined;
  link.up = false;
}

// leave forgets everything: another account may sign in next.
export function leave() {
  rest();
  workers.clear();
  tasks.clear();
  Object.assign(link, { up: false, live: true, told: false });
}
