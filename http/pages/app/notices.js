// Notices: what was delivered and what waits, the endpoints of the account, and the
// secret that signs.

import { get, post, remove } from "./api.js";
import { confirmed } from "./dialogs.js";
import { copy, failed, fill, h, loading, rows, say, text } from "./dom.js";
import { ago, clock, duration, plural, shortID, until } from "./format.js";
import { stateInto } from "./steps.js";

const every = 3000; // milliseconds between two looks

export function draw(main, { signal, rest }) {
  let [chosen] = rest;
  const said = h("div"), count = h("p", { class: "soft small", role: "status" });
  const which = h("select", { id: "notice-status", "aria-label": "Show", onchange: () => ((most = 20), void update()) }, [["all", "All"], ["waiting", "Waiting"], ["ended", "Delivered or given up"]].map(([v, label]) => h("option", { value: v }, label)));
  const none = h("div", { class: "empty", hidden: true }), wait = loading("notices");
  const list = h("ul", { class: "tasks sheet", "aria-label": "Notices", hidden: true });
  const more = h("button", { class: "plain", hidden: true, onclick: () => ((most = 100), void update()) }, "Show more notices");
  const detail = h("section", { "aria-label": "The notice" });
  const pair = h("div", { class: "pair" }, h("div", { class: "stack" }, which, wait.element, none, list, more), detail);
  const others = [endpoints(signal), secret(signal)];
  fill(main, h("div", { class: "head" }, h("h1", {}, "Notices"), count), said, pair, others.map((o) => o.element));

  let most = 20, shown, one;
  const choose = () => {
    if (shown === chosen && one) return;
    one?.end();
    shown = chosen;
    pair.toggleAttribute("data-chosen", Boolean(chosen));
    one = chosen ? noticeDetail(chosen, signal, () => void update()) : undefined;
    fill(detail, one ? one.element : h("p", { class: "empty" }, h("strong", {}, "No notice selected"), "Select a notice to see its attempts, and to send it again."));
  };
  // load asks for the notices that are to be shown, those that wait first.
  async function load() {
    const asked = which.value === "all" ? ["waiting", "ended"] : [which.value];
    const lists = await Promise.all(asked.map((status) => get(`/v1/notices?status=${status}&limit=${most}`, { signal })));
    const all = new Map(lists.flatMap((l) => l.notices).map((n) => [n.noticeId, n])); // one may have ended in between
    return {
      notices: [...all.values()], next: lists.some((l) => l.next),
      waiting: asked[0] === "waiting" ? `${lists[0].notices.length}${lists[0].next ? " or more" : ""} waiting` : "",
    };
  }
  const update = async () => {
    try {
      const { notices, waiting, next } = await load();
      wait.done();
      text(count, waiting);
      none.hidden = notices.length > 0;
      list.hidden = notices.length === 0;
      if (!none.hidden) {
        fill(none, which.value === "waiting" ? [h("strong", {}, "No notices wait"), "Notices that could not be delivered yet are listed here."]
          : [h("strong", {}, "No notices yet"), "A notice is a request to a URL of yours when a task or a batch has ended. Name the URL in ", h("code", {}, "notify"), ", or add an endpoint below. ", h("a", { href: "/docs/notices" }, "How notices work"), "."]);
      }
      more.hidden = !next || most === 100;
      rows(list, notices, (n) => n.noticeId, row, (e, n) => e.take(n, n.noticeId === chosen));
      await Promise.all([one?.update(), ...others.map((o) => o.update())]);
      failed(said);
    } catch (err) {
      if (err.name === "AbortError") return;
      wait.done();
      failed(said, err);
    }
  };
  main.addEventListener("address", ({ detail: [id] }) => ((chosen = id), choose(), void update()), { signal });
  const timer = setInterval(() => document.hidden || update(), every);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  choose();
  void update();
}

const states = { waiting: ["Waiting", "running"], delivered: ["Delivered", "complete"], failed: ["Given up", "failed"], off: ["Endpoint off", "partial"] };

function standing(e, status) {
  const [word, is] = states[status] ?? [status, status];
  stateInto(e, is);
  text(e, word);
}

// what is the event of a notice in words.
const events = { "task.complete": "Task complete", "task.failed": "Task failed", "batch.end": "Batch ended", "endpoint.off": "Endpoint switched off" };
const what = (n) => events[n.event] ?? n.event;

// answered is what came of an attempt.
const answered = (t) => t.error ?? `answered ${t.status}`;

function row(first) {
  const state = h("span"), event = h("span"), when = h("span", { class: "soft" }), to = h("span", { class: "of" }), of = h("span", { class: "of" });
  const a = h("a", { href: `#/notices/${first.noticeId}` }, state, event, when, to, of);
  const li = h("li", { "data-notice": first.noticeId }, a);
  li.take = (n, chosen) => {
    standing(state, n.status);
    text(event, what(n));
    text(when, ago(n.at));
    text(to, n.url);
    const last = n.tries?.at(-1);
    text(of, [plural(n.attempts, "attempt"), last && answered(last), n.nextAt ? `next ${nextTry(n.nextAt)}` : ""].filter(Boolean).join(" · "));
    if (chosen) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  };
  return li;
}

const nextTry = (at) => (Date.parse(at) <= Date.now() ? "now" : until(at));

// noticeDetail is all that is known of one notice.
function noticeDetail(id, signal, changed) {
  const ended = new AbortController(), both = AbortSignal.any([signal, ended.signal]);
  const state = h("span"), said = h("div"), facts = h("dl", { class: "facts" }), event = h("h2");
  const tries = h("ol", { class: "runs", "aria-label": "Attempts, newest first" }), left = h("p", { class: "soft small" });
  const again = h("button", { id: "redeliver", hidden: true, onclick: () => void send() }, "Send again");
  const part = h("div", { hidden: true }, h("h3", {}, "Attempts"), left, tries);
  const element = h("div", { class: "sheet result" },
    h("div", { class: "tools" }, event, state, again, h("a", { class: "button plain", href: "#/notices" }, "Close")), said, facts, part);

  async function send() {
    again.disabled = true;
    try {
      show((await post(`/v1/notices/${id}/redeliver`, {}, { signal: both })).notice);
      say("The notice is sent again");
      failed(said);
      changed();
    } catch (err) {
      if (err.name !== "AbortError") failed(said, err);
    }
    again.disabled = false;
  }
  function show(n) {
    text(event, what(n));
    standing(state, n.status);
    element.dataset.attempts = n.attempts;
    again.hidden = part.hidden = false;
    text(again, n.status === "waiting" ? "Send now" : "Send again");
    const about = n.about.startsWith("task_") ? h("a", { href: `#/tasks/${n.about}` }, `Task ${shortID(n.about)}`) : n.about.startsWith("batch_") ? h("a", { href: `#/batches/${n.about}` }, "The batch") : n.about;
    const is = [["Notice", n.noticeId], ["To", n.url], ["About", about], ["Happened", clock(n.at)], ["Attempts", String(n.attempts)], ["Next attempt", n.nextAt && nextTry(n.nextAt)], [n.status === "delivered" ? "Delivered" : "Ended", n.endedAt && clock(n.endedAt)]].filter(([, v]) => v);
    const key = JSON.stringify(is.map(([k, v]) => [k, k === "About" ? n.about : v]));
    if (facts.dataset.key !== key) fill(facts, is.map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)])).dataset.key = key;
    const all = (n.tries ?? []).toReversed();
    text(left, all.length ? (n.attempts > all.length ? `The last ${all.length} of ${n.attempts}:` : "") : "None yet.");
    rows(tries, all, (t) => t.at, attempt, () => {});
  }
  async function update() {
    try {
      show((await get(`/v1/notices/${id}`, { signal: both })).notice);
    } catch (err) {
      if (err.name !== "AbortError") failed(said, err);
    }
  }
  return { element, update, end: () => ended.abort() };
}

function attempt(t) {
  const state = h("span");
  stateInto(state, t.error ? "failed" : "complete");
  text(state, t.status ? String(t.status) : "No answer");
  return h("li", {}, state, h("span", {}, clock(t.at)), h("span", { class: "soft" }, duration(t.took)), t.error && h("span", { class: "of" }, t.error));
}

// endpoints are the receivers of the account, and those that are switched off.
function endpoints(signal) {
  const said = h("div"), list = h("ul", { class: "runs", "aria-label": "Endpoints" }), none = h("p", { class: "soft small", hidden: true }, "No endpoints."), wait = loading("endpoints");
  const url = h("input", { id: "endpoint-url", type: "url", required: true, autocomplete: "off", placeholder: "https://" });
  const boxes = [["end", "each task that ends"], ["failed", "tasks that fail"], ["batch.end", "batches that end"]].map(([v, label]) => {
    const box = h("input", { type: "checkbox", id: `endpoint-${v.replace(".", "-")}`, value: v, checked: v !== "failed" });
    return [box, h("label", { class: "check" }, box, label)];
  });
  const result = h("input", { type: "checkbox", id: "endpoint-result" });
  const element = h("section", { "aria-label": "Endpoints" }, h("h2", {}, "Endpoints"), h("div", { class: "sheet" },
    h("div", { class: "pad stack" }, h("p", { class: "soft small" }, "An endpoint gets notices of all asynchronous and queued tasks, and of all batches. It is switched off when nothing has reached it for five days."), said, wait.element, none, list),
    h("form", { class: "add stack", onsubmit: (e) => void add(e) }, h("label", { for: "endpoint-url" }, "New endpoint's URL", url),
      h("fieldset", { class: "line" }, h("legend", { class: "small soft" }, "It is told of"), boxes.map(([, label]) => label), h("label", { class: "check" }, result, "with the result")), h("div", { class: "tools" }, h("button", { id: "add-endpoint" }, "Add the endpoint")))));

  // act sends a request and says what came of it.
  async function act(request, done) {
    failed(said);
    try {
      await request();
      say(done);
      await update();
      return true;
    } catch (err) {
      if (err.name !== "AbortError") failed(said, err);
    }
  }
  async function add(e) {
    e.preventDefault();
    const events = boxes.map(([box]) => box).filter((b) => b.checked).map((b) => b.value);
    if (!events.length) return failed(said, "Choose at least one event that the endpoint is told of.");
    if (await act(() => post("/v1/endpoints", { url: url.value.trim(), events, ...(result.checked ? { include: "result" } : {}) }, { signal }), "The endpoint was added")) e.target.reset();
  }
  const one = (p) => {
    const state = h("span"), to = h("span", { class: "mono" }), of = h("span", { class: "of" });
    const on = h("button", { class: "enable", hidden: true, onclick: () => act(() => post(`/v1/endpoints/${p.endpointId}/enable`, {}, { signal }), "The endpoint is switched on") }, "Switch on", h("span", { class: "unseen" }, ` ${p.url}`));
    const drop = h("button", {
      class: "danger", async onclick() {
        if (await confirmed("Remove this endpoint?", `${p.url} gets no more notices of the account. Notices that wait for it are still delivered.`, "Remove the endpoint")) void act(() => remove(`/v1/endpoints/${p.endpointId}`, { signal }), "The endpoint was removed");
      },
    }, "Remove", h("span", { class: "unseen" }, ` ${p.url}`));
    const li = h("li", { "data-endpoint": p.endpointId }, state, to, h("span", { class: "tools" }, on, drop), of);
    li.take = (p) => {
      stateInto(state, p.offSince ? "offline" : p.failingSince ? "partial" : "online");
      text(state, p.offSince ? "Off" : p.failingSince ? "Failing" : "On");
      text(to, p.url);
      on.hidden = !p.offSince;
      drop.hidden = !p.events?.length;
      text(of, [p.events?.length ? `told of ${p.events.join(", ")}` : "named by tasks or batches only", p.include ? "with the result" : "", p.offSince ? `off since ${clock(p.offSince)}` : p.failingSince ? `failing since ${clock(p.failingSince)}` : "", p.reason].filter(Boolean).join(" · "));
    };
    return li;
  };
  async function update() {
    const { endpoints: all } = await get("/v1/endpoints", { signal });
    wait.done();
    none.hidden = all.length > 0;
    rows(list, all, (p) => p.endpointId, one, (e, p) => e.take(p));
  }
  return { element, update };
}

// secret shows what signs the notices only when somebody asks for it, and makes another one.
function secret(signal) {
  const said = h("div"), shown = h("div", { class: "stack", hidden: true });
  const show = h("button", { id: "show-secret", onclick: () => void load(() => get("/v1/notice-secret", { signal }), "") }, "Show the secret");
  const rotate = h("button", { id: "rotate-secret", onclick: () => void change() }, "Make another secret");
  const element = h("section", { "aria-label": "The secret" }, h("h2", {}, "Secret"), h("div", { class: "sheet pad stack" },
    h("p", { class: "soft small" }, "Receivers verify the signature of notices with it. After you make another one, the previous secret signs too for 24 hours."),
    h("div", { class: "tools" }, show, rotate), said, shown));
  async function load(request, done) {
    show.disabled = rotate.disabled = true;
    failed(said);
    try {
      const s = await request();
      const line = (id, label, value) => h("div", {}, h("p", { class: "soft small" }, label), h("code", { class: "secret", id }, value));
      fill(shown, line("notice-secret", "Secret", s.secret), s.previous && line("previous-secret", `Previous secret, signs until ${clock(s.previousUntil)}`, s.previous),
        h("div", { class: "tools" }, h("button", { onclick: () => copy(s.secret, "Secret") }, "Copy the secret"), h("button", { class: "plain", id: "hide-secret", onclick: () => (fill(shown), (shown.hidden = true)) }, "Hide")));
      shown.hidden = false;
      if (done) say(done);
    } catch (err) {
      if (err.name !== "AbortError") failed(said, err);
    }
    show.disabled = rotate.disabled = false;
  }
  async function change() {
    if (await confirmed("Make another secret?", "Give the new secret to your receivers within 24 hours. A secret that is previous now stops signing at once.", "Make another secret")) void load(() => post("/v1/notice-secret/rotate", {}, { signal }), "There is another secret");
  }
  return { element, update() {} };
}
