// Operator: the service, its workers, accounts and tokens. Only for accounts of
// the operator; the service looks at that again with each command.

import { Refused, command } from "./api.js";
import { failed, fill, h, loading, rows, say, text } from "./dom.js";
import { clock, lasting, plural } from "./format.js";
import * as feed from "./feed.js";
import { confirmed, showToken } from "./dialogs.js";
import { stateOf } from "./workers.js";

const plans = ["free", "basic", "standard", "pro"];
const planSelect = (id, label, plan) => h("select", { id, "aria-label": label }, plans.map((p) => h("option", { value: p, selected: p === plan }, p)));

export function draw(main, { signal }) {
  const said = h("div");
  const parts = [service, workers, accounts, tokens].map((make) => make(act));
  const wait = loading("the service"), all = h("div", { hidden: true }, parts.map((p) => p.element));
  fill(main, h("div", { class: "head" }, h("h1", {}, "Operator")), said, wait.element, all);

  const update = async () => {
    try {
      await Promise.all(parts.map((p) => p.update()));
      all.hidden = false;
      if (!said.dataset.command) failed(said);
    } catch (err) {
      if (!signal.aborted) failed(said, err);
    }
    wait.done();
  };
  // act runs a command, says what came of it, and looks at everything again.
  async function act(name, body, done) {
    delete said.dataset.command;
    failed(said);
    let result;
    try {
      result = await command(name, body);
      say(done);
    } catch (err) {
      said.dataset.command = name;
      failed(said, err);
      said.scrollIntoView({ block: "nearest" });
    }
    await update();
    return result;
  }
  // The feed tells when a worker changes; accounts and tokens nobody tells of.
  let soon;
  feed.onChange(() => (soon ??= setTimeout(() => ((soon = undefined), !signal.aborted && update()), 250)), signal);
  const timer = setInterval(update, 3000);
  signal.addEventListener("abort", () => (clearInterval(timer), clearTimeout(soon)), { once: true });
  void update();
}

const table = (label, heads, body) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
  h("table", {}, h("thead", {}, h("tr", {}, heads.map((s) => h("th", { scope: "col", class: spare.has(s) ? "spare" : null }, s)), h("td", {}, h("span", { class: "unseen" }, "Commands")))), body));

// spare columns are left out where there is no room.
const spare = new Set(["In this state", "Owner", "Created", "Version"]);

const named = (label, name) => [label, h("span", { class: "unseen" }, ` ${name}`)];

function service(act) {
  const counts = h("div", { class: "counts" });
  const state = h("span", { class: "state", id: "service-state" });
  const button = h("button", { id: "drain-service" });
  let draining;
  button.addEventListener("click", async () => {
    if (draining) return void act("resume", {}, "The service takes tasks again");
    if (await confirmed("Drain the service?", "It refuses new tasks of every account until you resume it. Running and waiting tasks continue.", "Drain the service")) void act("drain", {}, "The service takes no more tasks");
  });
  const tools = h("div", { class: "tools", hidden: true }, state, button); // until it is known what they say
  const body = h("tbody");
  const shared = h("p", { class: "small", id: "shared-records" });
  const list = h("div", { hidden: true }, table("Nodes", ["Node", "State", "Free", "Busy", "Waiting", "Behind", "Version"], body), shared);
  const element = h("section", { "aria-label": "Service" }, h("h2", {}, "Service"),
    h("div", { class: "sheet pad" }, tools, h("p", { class: "soft small" }, "A drained service refuses new tasks. Running and waiting tasks continue."), counts, list));
  const row = (n) => {
    const drain = h("button", {});
    const e = h("tr", { "data-node": n.node }, h("td", {}, n.node), h("td", {}, h("span", { class: "state" })), h("td", { class: "num" }), h("td", { class: "num" }), h("td", { class: "num" }), h("td", { class: "num" }), h("td", { class: "spare" }), h("td", { class: "act" }, drain));
    drain.addEventListener("click", async () => {
      if (e.draining) return void act("resume", { node: n.node }, `${n.node} takes tasks again`);
      if (await confirmed(`Drain ${n.node}?`, "It takes no new tasks until you resume it. Running and waiting tasks continue.", `Drain ${n.node}`)) void act("drain", { node: n.node }, `${n.node} takes no more tasks`);
    });
    return e;
  };
  // several shows the nodes of a cluster, where there is one.
  let single = false;
  async function several() {
    if (single) return false;
    let all;
    try {
      all = await command("cluster/show");
    } catch (err) {
      if (!(err instanceof Refused) || err.code !== "order_refused") throw err;
      single = true;
      return false;
    }
    tools.hidden = counts.hidden = true;
    list.hidden = false;
    rows(body, all.nodes, (n) => n.node, row, (e, n) => {
      e.draining = n.draining;
      const mark = e.cells[1].firstChild;
      const ill = n.up && unwell[n.health];
      mark.dataset.is = !n.up || ill ? "offline" : n.draining ? "draining" : "online";
      text(mark, (n.outside ? `Not understood: ${n.outside}` : !n.up ? "Down" : n.draining ? "Takes no tasks" : "Takes tasks") + (ill ? `, ${ill}` : "") + (n.node === all.leader ? ", leads" : ""));
      text(e.cells[2], String(n.workers.online ?? 0));
      text(e.cells[3], String(n.workers.busy ?? 0));
      text(e.cells[4], String(n.waiting));
      text(e.cells[5], n.lag === undefined ? "" : String(n.lag));
      text(e.cells[6], n.version);
      const drain = e.cells[7].firstChild;
      drain.disabled = !n.up;
      if (drain.dataset.on !== String(n.draining)) {
        drain.dataset.on = String(n.draining);
        fill(drain, named(n.draining ? "Resume" : "Drain", n.node));
      }
    });
    text(shared, sharedRecords(all));
    return true;
  }
  return {
    element,
    async update() {
      if (await several()) return;
      const c = await command("capacity/list");
      draining = c.draining;
      state.dataset.is = draining ? "draining" : "online";
      text(state, draining ? "Takes no tasks" : "Takes tasks");
      text(button, draining ? "Resume the service" : "Drain the service");
      tools.hidden = false;
      const shown = Object.entries(c).filter(([, v]) => typeof v === "number");
      rows(counts, shown, ([k]) => k, ([k]) => h("div", {}, h("strong"), h("span", {}, k)), (e, [k, v]) => {
        text(e.firstChild, String(v));
        text(e.lastChild, k === "workers" && v === 1 ? "worker" : k);
      });
    },
  };
}

// unwell are the states of a node in which it lacks something of what all nodes keep.
const unwell = { behind: "is behind", cut_off: "is cut off", no_quorum: "cannot write" };

// sharedRecords says who leads what all nodes keep, which copies are current, and how
// many more nodes may be lost.
function sharedRecords(all) {
  const groups = (all.groups ?? []).map((g) => {
    const current = g.copies.filter((c) => c.current).length;
    return `${g.keeps}: ${g.leader ? `${g.leader} leads` : "no leader"}, ${current} of ${g.copies.length} copies current`;
  });
  const losses = !all.writes ? all.reason || "nothing can be written" : all.losses === 0 ? "the loss of one more node stops writes" : `writes continue after the loss of any ${all.losses === 1 ? "node" : `${all.losses} nodes`}`;
  return [...groups, losses].map((s) => `${s[0].toUpperCase()}${s.slice(1)}.`).join(" ");
}

function workers(act) {
  const body = h("tbody");
  const name = h("input", { id: "worker-name", required: true, autocomplete: "off", maxlength: "64" });
  const account = h("input", { id: "worker-account", autocomplete: "off", placeholder: "shared" });
  const add = async (e) => {
    e.preventDefault();
    const made = await act("worker/add", account.value.trim() ? { name: name.value.trim(), account: account.value.trim() } : { name: name.value.trim() }, "The worker was added");
    if (made) e.target.reset();
  };
  const element = h("section", { "aria-label": "Workers" }, h("h2", {}, "Workers"), h("div", { class: "sheet" },
    table("All workers", ["Worker", "State", "In this state", "Owner", "Runs for"], body),
    h("form", { class: "line add", onsubmit: add }, h("label", {}, "New worker's name", name), h("label", {}, "Only for the account", account), h("button", {}, "Add the worker"))));
  const row = (w) => {
    const drain = h("button", {}, "");
    const remove = h("button", { class: "danger", hidden: !w.added }, named("Remove", w.name));
    const e = h("tr", { "data-worker": w.name }, h("td", {}, w.name), h("td", {}, h("span", { class: "state" })), h("td", { class: "spare" }), h("td", { class: "spare" }, w.account || "shared"), h("td"),
      h("td", { class: "act" }, drain, " ", remove));
    drain.addEventListener("click", () => act(`worker/${e.draining ? "resume" : "drain"}`, { worker: w.id }, e.draining ? `${w.name} takes tasks again` : `${w.name} takes no more tasks`));
    remove.addEventListener("click", async () => {
      if (await confirmed(`Remove the worker ${w.name}?`, "Its running task may continue for a minute at most. Then the worker ends.", "Remove the worker")) void act("worker/remove", { worker: w.id, graceMs: 60_000 }, `${w.name} was removed`);
    });
    return e;
  };
  return {
    element,
    async update() {
      rows(body, await command("worker/list"), (w) => w.id, row, (e, w) => {
        const [is, said] = stateOf(w);
        e.draining = w.draining;
        e.cells[1].firstChild.dataset.is = is;
        text(e.cells[1].firstChild, said);
        text(e.cells[2], lasting(w.since));
        text(e.cells[4], w.for ?? "");
        const [drain] = e.cells[5].children;
        if (drain.dataset.on !== String(w.draining)) {
          drain.dataset.on = String(w.draining);
          fill(drain, named(w.draining ? "Resume" : "Drain", w.name));
        }
      });
    },
  };
}

function accounts(act) {
  const body = h("tbody");
  const name = h("input", { id: "account-name", required: true, autocomplete: "off", maxlength: "64" });
  const plan = planSelect("account-plan", "Plan of the new account", "free");
  const add = async (e) => {
    e.preventDefault();
    if (await act("account/create", { name: name.value.trim(), plan: plan.value }, "The account was created")) e.target.reset();
  };
  const element = h("section", { "aria-label": "Accounts" }, h("h2", {}, "Accounts"), h("div", { class: "sheet" },
    table("Accounts", ["Account", "Plan", "Tokens", "Created"], body),
    h("form", { class: "line add", onsubmit: add }, h("label", {}, "New account's name", name), h("label", {}, "Plan", plan), h("button", {}, "Create the account"))));
  const row = (a) => {
    const select = planSelect(null, `Plan of ${a.name}`, a.plan);
    let plan = a.plan;
    // An arrow key on a closed list changes its value: ask before it counts.
    select.addEventListener("change", async () => {
      const wanted = select.value;
      select.value = plan;
      if (wanted !== plan && (await confirmed(`Change the plan of ${a.name} from ${plan} to ${wanted}?`, "The limits of the new plan apply from the next request.", "Change the plan"))) void act("account/set-plan", { account: a.name, plan: wanted }, `${a.name} has the plan ${wanted}`);
    });
    const token = h("button", { hidden: a.operator }, named("New token", `for ${a.name}`));
    token.addEventListener("click", async () => {
      const made = await act("token/create", { account: a.name }, `A token for ${a.name} was created`);
      if (made) showToken(made);
    });
    const remove = h("button", { class: "danger" }, named("Delete", a.name));
    remove.addEventListener("click", async () => {
      if (await confirmed(`Delete the account ${a.name}?`, "Its tokens stop working and its tasks are cancelled at once. Its sessions, workers and results are removed. You cannot undo this.", "Delete the account")) void act("account/delete", { account: a.name }, `${a.name} was deleted`);
    });
    const e = h("tr", { "data-account": a.name }, h("td", {}, a.name, a.operator && h("span", { class: "soft" }, " · operator")), h("td", {}, select), h("td", { class: "num" }), h("td", { class: "spare" }, clock(a.created)), h("td", { class: "act" }, token, " ", remove));
    e.take = (now) => {
      plan = now;
      if (document.activeElement !== select) select.value = plan;
    };
    return e;
  };
  return {
    element,
    async update() {
      rows(body, await command("account/list"), (a) => a.id, row, (e, a) => {
        e.take(a.plan);
        text(e.cells[2], String(a.tokens));
      });
    },
  };
}

function tokens(act) {
  const body = h("tbody");
  const count = h("span", { class: "soft small" });
  const element = h("section", { "aria-label": "Tokens" }, h("h2", {}, "Tokens ", count), h("div", { class: "sheet" }, table("Tokens", ["Id", "Account", "Created"], body)));
  const row = (t) => h("tr", { "data-token": t.id }, h("td", {}, h("code", {}, t.id)), h("td", {}, t.account), h("td", { class: "spare" }, clock(t.created)),
    h("td", { class: "act" }, h("button", {
      class: "danger",
      onclick: async () => {
        if (await confirmed(`Revoke the token ${t.id}?`, `Requests of ${t.account} with this token are refused from now on. You cannot undo this.`, "Revoke the token")) void act("token/revoke", { id: t.id }, "The token was revoked");
      },
    }, named("Revoke", t.id))));
  return {
    element,
    async update() {
      const all = await command("token/list");
      text(count, plural(all.length, "token"));
      rows(body, all, (t) => t.id, row, () => {});
    },
  };
}
