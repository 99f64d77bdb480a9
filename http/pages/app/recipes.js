// Tasks to begin with, for the demo shop that the service brings along.

const shop = "http://demo.troupe.test";

export const recipes = {
  "Read products": { actions: [
    { open: `${shop}/` },
    { extractAll: [".product", { name: "h3", price: ".price" }], options: { limit: 5 } },
  ] },
  "Sign in": { actions: [
    { open: `${shop}/login` }, { fill: ["#user", "ada"] }, { fill: ["#password", "demo"] }, { click: "#login" },
    { waitForElement: "#user-name" }, { getText: "#user-name" },
  ] },
  "Take a picture": { actions: [{ open: `${shop}/` }, { screenshot: "viewport" }] },
  "Repeat for each": { actions: [
    { open: `${shop}/?q=lamp` },
    { loop: { each: ".product", maxIterations: 3, do: [{ getText: "$this h3", options: { push: "names" } }] } },
  ] },
};

// pretty writes a task with one action a line.
export function pretty(task) {
  const { actions, ...rest } = task;
  const lines = Object.entries(rest).map(([k, v]) => `  ${JSON.stringify(k)}: ${JSON.stringify(v)}`);
  if (actions) lines.push(`  "actions": [\n${actions.map((a) => "    " + spaced(a)).join(",\n")}\n  ]`);
  return `{\n${lines.join(",\n")}\n}`;
}

// spaced is JSON in one line, with spaces as people write them.
function spaced(v) {
  if (Array.isArray(v)) return `[${v.map(spaced).join(", ")}]`;
  if (v && typeof v === "object") return `{${Object.entries(v).map(([k, e]) => `${JSON.stringify(k)}: ${spaced(e)}`).join(", ")}}`;
  return JSON.stringify(v);
}

// around puts an example of the action reference into a task that plays.
export function around({ name, example, page }) {
  const open = { open: page ?? `${shop}/` };
  const first = Object.hasOwn(example, "open") || Object.hasOwn(example, "openNewTab") ? [example] : [open, example];
  // What is to be listened for is said before the page opens.
  return { actions: name === "waitForResponse" ? first.reverse() : first };
}
