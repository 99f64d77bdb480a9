// Requests to the service. The token stands in a header and nowhere else: it is
// kept in sessionStorage, which ends with the tab and which no other origin, no
// other tab and no request sees by itself.

const kept = "troupe.token";

export const token = () => sessionStorage.getItem(kept);
export const keep = (t) => sessionStorage.setItem(kept, t);
export const forget = () => sessionStorage.clear(); // with all that was written

// Refused is an answer that says no, in the service's own words.
export class Refused extends Error {
  constructor(status, body) {
    super(body?.error || `The service answered with status ${status}`);
    Object.assign(this, { status, code: body?.code, details: body?.details ?? [], body });
  }
}

// ask sends a request and returns the response, whatever its status.
export async function ask(method, path, { body, signal, headers = {}, as = token() } = {}) {
  // An identifier in the page's address may come from a link of anybody's: it must not lead elsewhere.
  if (new URL(path, location.origin).pathname !== path.split("?")[0]) throw new Error("There is nothing with this name. The address of the page is not one of ours.");
  const form = body instanceof FormData;
  const init = { method, signal, cache: "no-store", credentials: "omit", redirect: "error", headers: { ...headers } };
  if (as) init.headers.Authorization = `Bearer ${as}`;
  if (body !== undefined) {
    init.body = form || typeof body === "string" ? body : JSON.stringify(body);
    if (!form) init.headers["Content-Type"] = "application/json";
  }
  let r;
  try {
    r = await fetch(path, init);
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Error("The service does not answer. Is it running?");
  }
  if (r.status === 401 && as === token()) window.dispatchEvent(new CustomEvent("unauthorized"));
  return r;
}

// call returns what a request was answered with, and throws Refused.
export async function call(method, path, options) {
  const r = await ask(method, path, options);
  let answer;
  try {
    answer = await r.json();
  } catch {
    throw new Refused(r.status);
  }
  if (!r.ok && !(r.status === 408 && answer.taskId)) throw new Refused(r.status, answer);
  return answer;
}

export const get = (path, options) => call("GET", path, options);
export const post = (path, body, options) => call("POST", path, { ...options, body });
export const remove = (path, options) => call("DELETE", path, options);

// command sends an operator command.
export const command = async (name, body = {}) => (await post(`/v1/operator/${name}`, body)).result;

// events calls back for each server-sent event of an answer, until it ends. An
// EventSource could not send the token.
export async function events(path, { signal, headers, onOpen, onEvent }) {
  const r = await ask("GET", path, { signal, headers });
  if (!r.ok) throw new Refused(r.status, await r.json().catch(() => null));
  onOpen?.();
  const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      let name = "message", data = "";
      for (const line of block.split("\n")) {
        if (line.startsWith("event: ")) name = line.slice(7);
        else if (line.startsWith("data: ")) data += line.slice(6);
      }
      if (data) onEvent(name, JSON.parse(data));
    }
  }
}

// fileHere is where this service shows a file, whatever address clients get.
export const fileHere = (url) => "/files/" + url.split("/").pop();
