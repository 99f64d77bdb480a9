// A live picture of a browser: a socket that brings frames, and a canvas.

import { Refused, post } from "./api.js";
import { h, text } from "./dom.js";

const reasons = {
  task_ended: "The task has ended.",
  session_ended: "The session has ended.",
  browser_gone: "The browser has stopped.",
  worker_gone: "The worker was removed.",
  revoked: "The link was revoked.",
  expired: "The link has expired.",
  draining: "The service is stopping.",
  slow: "Your connection is too slow for the live picture.",
};

const patience = 5; // how often a connection is tried again

// livePicture shows what happens at an object as long as signal lasts and the
// element is on the screen. secret gives the ticket or link for it. runs reports
// whether anything of the account still runs there, where that is known: a refused
// connection then has its reason. Its methods are again, for the next task or session
// at the same object, and rest, for the end of one: the last picture stays.
export function livePicture(object, { signal, label, secret = () => ticket(object), onEnd, runs }) {
  const canvas = h("canvas", { role: "img", "aria-label": label, width: 800, height: 600 });
  const why = h("p", { class: "why" }, "Waiting for the picture…");
  const mark = h("span", { class: "live", hidden: true }, "Live");
  const element = h("div", { class: "picture", "data-frames": "0" }, canvas, why, mark);
  const draw = canvas.getContext("2d");
  let socket, frames = 0, newest = 0, tries = 0, visible = false, over = false, resting = false, timer;

  // stopped marks the picture as stale: for a moment at its corner, as the next
  // task of a worker often follows at once, then in words over the dimmed picture.
  const stopped = (sentence, final) => {
    const ended = final || tries >= patience;
    const soon = !ended && frames > 0 && tries < 2;
    element.dataset.state = "ended";
    text(why, ended ? sentence : `${sentence} Reconnecting…`);
    why.hidden = soon;
    text(mark, "Old picture");
    mark.hidden = !soon;
    over ||= ended;
    if (ended) onEnd?.(sentence);
  };

  // rest says that what was shown has ended. Its last picture stays; without one,
  // the sentence stands alone.
  const rest = (sentence) => {
    disconnect();
    resting = true;
    element.dataset.state = frames > 0 ? "rests" : "ended";
    text(why, sentence);
    why.hidden = frames > 0;
    text(mark, sentence);
    mark.hidden = frames === 0;
  };
  // again follows what runs there now.
  const again = () => {
    resting = over = false;
    tries = 0;
    if (frames > 0) text(mark, "Old picture");
    if (socket) return;
    clearTimeout(timer);
    if (frames === 0) {
      delete element.dataset.state;
      text(why, "Waiting for the picture…");
    }
    void connect();
  };

  async function connect() {
    if (socket || over || resting || !visible || document.hidden || signal.aborted) return;
    const mine = (socket = { close() {} }); // until the real one is there
    let key;
    try {
      key = await secret();
    } catch (err) {
      socket = undefined;
      if (signal.aborted) return;
      if (err.status === 404 && runs) return missed();
      return stopped(err.message, err instanceof Refused); // pictures are not to be had
    }
    if (socket !== mine || signal.aborted) return;
    const address = new URL(`/v1/live/${encodeURIComponent(object)}`, location);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const s = (socket = new WebSocket(address, ["troupe.live", key]));
    s.binaryType = "blob";
    s.onmessage = async ({ data }) => {
      tries = 0;
      if (typeof data === "string") {
        const begin = JSON.parse(data);
        if (begin.type === "begin" && begin.width && begin.height) Object.assign(element.dataset, { worker: begin.workerName, state: "live" });
        return;
      }
      const mine = ++frames;
      const picture = await createImageBitmap(data);
      if (mine < newest) return picture.close(); // a later one was quicker
      newest = mine;
      if (canvas.width !== picture.width || canvas.height !== picture.height) {
        Object.assign(canvas, { width: picture.width, height: picture.height });
        element.style.aspectRatio = `${picture.width} / ${Math.max(picture.height, picture.width / 2.4)}`;
      }
      draw.drawImage(picture, 0, 0);
      picture.close();
      element.dataset.frames = String(frames);
      if (socket !== s) return; // it is over: this is its last picture
      why.hidden = true;
      text(mark, "Live");
      mark.hidden = false;
    };
    s.onclose = ({ code, reason }) => {
      if (socket !== s) return;
      socket = undefined;
      // A task and a session never come back, a worker does.
      const once = /^(task|sess)_/.test(object) && ["task_ended", "session_ended"].includes(reason);
      if (code === 1006 && runs) return missed();
      const final = code === 4000 && (once || ["revoked", "expired", "worker_gone"].includes(reason));
      stopped(reasons[reason] ?? (code === 1006 ? "No live picture: nothing runs here now, or the link is no longer valid." : "The live picture has stopped."), final);
      if (!final) retry();
    };
  }
  // The next task often follows at once: the first time nothing is waited for.
  function retry() {
    if (tries >= patience || signal.aborted) return;
    timer = setTimeout(connect, tries === 0 ? 0 : 250 * 2 ** tries);
    tries++;
  }
  // missed is called when a connection was refused. Mostly a short task was over before
  // its picture could be opened.
  function missed() {
    if (signal.aborted) return;
    if (!runs()) return rest("The task has ended.");
    if (tries >= patience) return stopped("The live picture cannot be opened now.", true);
    tries ||= 1; // it was tried just now
    retry();
  }
  function disconnect() {
    clearTimeout(timer);
    const s = socket;
    socket = undefined;
    s?.close();
  }
  const look = () => (visible && !document.hidden ? connect() : disconnect());
  const seen = new IntersectionObserver(([e]) => ((visible = e.isIntersecting), look()));
  seen.observe(element);
  document.addEventListener("visibilitychange", look, { signal });
  signal.addEventListener("abort", () => (seen.disconnect(), disconnect()), { once: true });
  return Object.assign(element, { again, rest });
}

async function ticket(object) {
  return (await post("/v1/tickets", { object, ttl: 30_000 })).ticket;
}
