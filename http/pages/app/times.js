// Times as the clock in a schedule's zone shows them, in words.

const names = { weekday: "long", day: "numeric", month: "long" };
const hours = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };

// within writes a time in a zone. Where the browser does not know the zone, the clock is
// that of UTC, and that is said.
function within(when, zone, style) {
  try {
    return new Intl.DateTimeFormat("en-GB", { ...style, timeZone: zone }).format(when);
  } catch {
    return new Intl.DateTimeFormat("en-GB", { ...style, timeZone: "UTC" }).format(when) + (style.hour ? " UTC" : "");
  }
}

// dayNumber counts days of a zone's calendar.
const dayNumber = (when, zone) => Date.parse(within(when, zone, { year: "numeric", month: "2-digit", day: "2-digit" }).split("/").reverse().join("-")) / 86_400_000;

// parts are the day and the clock of a time, in words.
function parts(time, zone, now) {
  const when = new Date(time);
  const apart = dayNumber(when, zone) - dayNumber(now, zone);
  const year = when.getUTCFullYear() === now.getUTCFullYear() ? {} : { year: "numeric" };
  const date = { "-1": "yesterday", 0: "today", 1: "tomorrow" }[apart] ?? within(when, zone, apart > 1 && apart < 7 ? { weekday: "long" } : { ...names, ...year }).replace(",", "");
  return [date, within(when, zone, when.getUTCSeconds() ? { ...hours, second: "2-digit" } : hours)];
}

// day is a time in words: today at 09:00, Friday 27 November at 09:00.
export const day = (time, { timeZone }, now = new Date()) => parts(time, timeZone, now).join(" at ");

// times are the next times of a schedule in words. Where the clock changes between them,
// each has its distance to UTC: an hour may come twice.
export function times(s, now = new Date()) {
  const offset = (t) => t.match(/[+-]\d\d:\d\d$/)?.[0] ?? "+00:00";
  const changes = new Set(s.next.map(offset)).size > 1;
  return s.next.map((t) => day(t, s, now) + (changes ? ` (UTC${offset(t)})` : ""));
}

// timesLine is that in one line, with each day once.
export function timesLine(s, now) {
  let last;
  return times(s, now).map((t) => {
    const [date, at] = t.split(" at ");
    const first = date !== last;
    last = date;
    return first ? t : at;
  }).join(", ");
}
