// The runs of a time, drawn: all that ended above, those that failed below. The failures have
// a scale of their own: among hundreds of runs they would not be seen.

import { drawing, fill, h } from "./dom.js";
import { plural } from "./format.js";

const hour = 3_600_000, most = 32; // bars at most
const steps = [hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, 24 * hour, 48 * hour, 168 * hour];

// parts cuts a time into equal parts that begin with whole hours of the reader's clock, and
// sums the counts of each.
export function parts(counts, from, to) {
  const width = steps.find((w) => (to - from) / w <= most) ?? Math.ceil((to - from) / most / hour) * hour;
  const zone = new Date(from).getTimezoneOffset() * 60_000;
  const list = [];
  for (let at = Math.floor((from - zone) / width) * width + zone; at < to; at += width) list.push({ at, until: at + width, runs: 0, failed: 0 });
  for (const c of counts) {
    const p = list[Math.floor((Date.parse(c.hour) - list[0].at) / width)];
    if (!p) continue;
    p.runs += c.runs;
    if (c.state === "failed") p.failed += c.runs;
  }
  return list;
}

const short = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };

// span is a part in words.
export function span({ at, until }) {
  const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });
  const clock = new Intl.DateTimeFormat(undefined, short);
  const [a, b] = [day.format(at), day.format(until - 1)];
  if (until - at >= 24 * hour) return a === b ? a : `${a} to ${b}`;
  return `${a}, ${clock.format(at)} to ${clock.format(until)}`;
}

// chart draws parts, and has them as numbers, too. The part that is pressed is told to choose.
export function chart(choose) {
  const picture = drawing("svg", { class: "chart", viewBox: "0 0 960 104", preserveAspectRatio: "none", "aria-hidden": "true" });
  const first = h("span"), last = h("span");
  const numbers = h("tbody"), element = h("figure", { class: "chartbox" }, picture, h("div", { class: "axis small soft", "aria-hidden": "true" }, first, last),
    h("details", {}, h("summary", { class: "small" }, "As numbers"), h("table", {}, h("caption", { class: "unseen" }, "Runs by time"), h("thead", {}, h("tr", {}, ["Time", "Runs", "Failed"].map((s) => h("th", { scope: "col" }, s)))), numbers)));
  function show(list) {
    const wide = 960 / list.length, tall = Math.max(1, ...list.map((p) => p.runs)), bad = Math.max(1, ...list.map((p) => p.failed));
    const bar = (p, i, kind, n, of, foot, room) => {
      const high = n === 0 ? 0 : Math.max(2, (n / of) * room);
      return drawing("rect", { class: kind, x: i * wide + wide * 0.1, y: foot - high, width: wide * 0.8, height: high });
    };
    picture.replaceChildren(
      drawing("line", { x1: 0, x2: 960, y1: 70.5, y2: 70.5 }), drawing("line", { x1: 0, x2: 960, y1: 102.5, y2: 102.5 }),
      ...list.map((p, i) => drawing("g", {}, drawing("title", {}, `${span(p)}: ${plural(p.runs, "run")}, ${p.failed} failed`),
        drawing("rect", { class: "ground", x: i * wide, y: 0, width: wide, height: 104 }),
        bar(p, i, "all", p.runs, tall, 70, 66), bar(p, i, "bad", p.failed, bad, 102, 26))));
    [...picture.querySelectorAll("g")].forEach((g, i) => g.addEventListener("click", () => choose(list[i])));
    first.textContent = span(list[0]);
    last.textContent = span(list.at(-1));
    fill(numbers, list.filter((p) => p.runs).map((p) => h("tr", {}, h("td", {}, h("button", { class: "plain", onclick: () => choose(p) }, span(p))), h("td", { class: "num" }, p.runs), h("td", { class: "num" }, p.failed))));
  }
  return { element, show };
}
