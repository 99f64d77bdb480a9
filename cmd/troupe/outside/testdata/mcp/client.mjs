// What the official client of the protocol makes of the service, over HTTP or over the
// standard streams of a program. It prints one JSON object.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [kind, ...rest] = process.argv.slice(2);
const transport = kind === "http"
  ? new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}` } } })
  : new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: { ...process.env }, stderr: "inherit" });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const out = { instructions: client.getInstructions().length };
const call = async (name, args, options) => {
  const r = await client.callTool({ name, arguments: args }, undefined, options);
  return { text: r.content[0].text, kinds: r.content.map((c) => c.type), facts: r.structuredContent, error: !!r.isError };
};
out.tools = (await client.listTools()).tools.map((t) => t.name);

const steps = [];
const shop = "http://demo.troupe.test";
out.signIn = await call("run", { session: "new", actions: [
  { open: shop + "/login" }, { fill: ["#user", "ada"] }, { fill: ["#password", "demo"] }, { click: "#login" }, { getText: "#user-name" },
], picture: true }, { onprogress: (p) => steps.push(p.message) });
out.steps = steps;
const session = out.signIn.facts.session;
out.search = await call("run", { session, actions: [{ open: shop + "/?q=lamp" }, { getText: "#count" }] });
out.failed = await call("run", { session, actions: [{ click: "#nothing", options: { timeout: 100 } }, { open: shop + "/" }] });
out.saved = await call("flow", { do: "save", session, name: "search-" + kind, last: 2, parameters: { q: "lamp" } });
out.replayed = await call("flow", { do: "run", name: "search-" + kind, with: { q: "mug" } });
out.help = await call("actions", { names: ["click", "clik"] });
out.valid = await call("validate", { actions: [{ clik: "#a" }] });

// A cancelled call ends its task: the session is free again at once.
const stop = new AbortController();
const began = Date.now();
const waiting = client.callTool({ name: "run", arguments: { session, actions: [{ wait: 25000 }] } }, undefined, { signal: stop.signal }).catch((e) => String(e));
setTimeout(() => stop.abort("enough"), 1000);
out.cancelled = await waiting;
out.afterwards = await call("run", { session, actions: [{ getText: "h1" }] });
out.took = Date.now() - began;

out.background = await call("run", { actions: [{ open: shop + "/" }, { getText: "h1" }], background: true });
out.ended = await call("look", { task: out.background.facts.task });
// A task that goes on is cancelled by its handle.
out.endless = await call("run", { actions: [{ open: shop + "/" }, { wait: 25000 }], background: true });
const followed = [];
let told;
const first = new Promise((r) => { told = r; });
const following = call("look", { task: out.endless.facts.task }, { onprogress: (p) => { followed.push(p.message); told(); } });
await Promise.race([first, following]);
out.followed = followed;
out.stopped = await call("session", { do: "cancel", id: out.endless.facts.task });
out.end = await following;
out.closed = await call("session", { do: "close", id: session });
out.gone = await call("run", { session, actions: [{ getText: "h1" }] });
// A session has the surroundings that it was opened with.
out.around = await call("session", { do: "open", config: { locale: "de-DE", device: { width: 400, height: 700 } } });
out.found = await call("run", { session: out.around.facts.session, actions: [{ open: shop + "/" }, { evaluate: "return navigator.language + ' ' + innerWidth" }] });
await call("session", { do: "close", id: out.around.facts.session });
await client.close();
console.log(JSON.stringify(out));
