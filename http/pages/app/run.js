// Running a task from the page: at once where the plan has nothing else, else
// asynchronously, so that its steps can be followed and it can be cancelled.

import { Refused, call, events, get, post, remove } from "./api.js";
import * as feed from "./feed.js";
import { outcome } from "./steps.js";

const body = (text, files) => {
  if (!files.length) return text;
  const form = new FormData();
  form.append("payload", text);
  for (const f of files) form.append("files", f);
  return form;
};

// check asks what the service says of a task, and with items of the task of a batch.
export const check = (text, files, signal, items = false) => post(`/v1/validate${items ? "?items=true" : ""}`, body(text, files), { signal });

// patience is how long a run waits for a worker, in milliseconds, where its task does
// not say: a reader sees that it waits, and can cancel it.
const patience = 60_000;

const cancelled = () => Object.assign(new Error("The task was cancelled"), { code: "cancelled" });

// run plays a task. It returns what cancels it, the answer to come, and whether
// its steps come while it runs. hear is
// told the task's id as soon as it is known, and each step as it ends.
export function run(text, files, { who, hear }) {
  const hangUp = new AbortController();
  let id;
  const task = JSON.parse(text);
  const follow = who.limits.asyncTimeout > 0 && task.async === undefined && task.actions?.length > 0;
  const waits = task.queueTimeout === undefined && task.queue === undefined && task.actions?.length > 0;
  const sent = text.replace("{", `{${follow ? '"async":true,' : ""}${waits ? `"queueTimeout":${patience},` : ""}`);
  const cancel = async () => {
    if (follow && !id) return hangUp.abort(); // it waits for a worker yet
    if (id && follow) await remove(`/v1/tasks/${id}`);
    else hangUp.abort();
  };
  const answer = follow ? followed() : atOnce();
  return { cancel, answer, follow };

  async function followed() {
    let started;
    try {
      started = await post("/v1/", body(sent, files), { signal: hangUp.signal });
    } catch (err) {
      throw err.name === "AbortError" ? cancelled() : err;
    }
    id = started.taskId;
    hear({ started });
    const known = { taskId: id, workerId: started.workerId, workerName: started.workerName, actions: task.actions.length, startedAt: new Date().toISOString() };
    if (!feed.link.live) feed.learn({ ...known, status: "running", steps: [] });
    const steps = [];
    let end, last = 0;
    for (let tries = 0; !end && tries < 5; tries++) {
      try {
        await events(`/v1/tasks/${id}/events`, {
          signal: hangUp.signal, headers: last ? { "Last-Event-ID": String(last) } : {},
          onEvent(name, data) {
            tries = 0;
            if (name === "end") end = data;
            if (name !== "step") return;
            last++;
            steps.push(data);
            hear({ step: data });
            if (!feed.link.live) feed.learn({ taskId: id, steps: [...steps], stepsEnded: steps.length, failed: steps.filter((s) => !s.success).length });
          },
        });
      } catch (err) {
        if (err instanceof Refused) throw err;
      }
    }
    while (!end || end.status === "pending") end = await get(`/v1/get-result?taskId=${id}&wait=20000`, { signal: hangUp.signal });
    if (!feed.link.live) feed.learn({ taskId: id, status: outcome(end) === "complete" ? "complete" : "failed", duration: end.duration, code: end.code, error: end.error });
    return end;
  }

  // atOnce waits for the answer itself; hanging up cancels the task.
  async function atOnce() {
    try {
      return await call("POST", "/v1/", { body: body(sent, files), signal: hangUp.signal });
    } catch (err) {
      throw err.name === "AbortError" ? cancelled() : err;
    }
  }
}
