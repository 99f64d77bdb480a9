// Numbers and times as people read them.

export function duration(ms) {
  if (ms == null) return "";
  if (ms < 10) return `${Math.round(ms * 10) / 10} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
}

// coarse is a duration for limits: 2 min, not 2 min 0 s.
export function coarse(ms) {
  if (ms % 3_600_000 === 0 && ms > 0) return `${ms / 3_600_000} h`;
  if (ms % 60_000 === 0 && ms > 0) return `${ms / 60_000} min`;
  return duration(ms);
}

export function ago(when, now = Date.now()) {
  const s = Math.max(0, Math.round((now - Date.parse(when)) / 1000));
  if (s < 2) return "now";
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86_400)} d ago`;
}

// lasting is how long something has been as it is.
export function lasting(when, now = Date.now()) {
  const s = ago(when, now);
  return s === "now" ? "just now" : "for " + s.replace(" ago", "");
}

export function until(when, now = Date.now()) {
  const s = Math.round((Date.parse(when) - now) / 1000);
  if (s <= 0) return "ended";
  if (s < 60) return `in ${s} s`;
  if (s < 3600) return `in ${Math.ceil(s / 60)} min`;
  return `in ${Math.round(s / 3600)} h`;
}

export const clock = (when) => new Date(when).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

// shortID is enough of an identifier to tell it from its neighbours.
export const shortID = (id) => id.replace(/^task_([0-9a-f]{8}).*$/, "$1").replace(/^sess_([0-9a-f]{8}).*$/, "session $1");

export const plural = (n, one, many = one + "s") => `${n} ${n === 1 ? one : many}`;

// result is a step's or a task's result in one line.
export function oneLine(v, most = 140) {
  if (v === undefined) return "";
  if (v && typeof v === "object" && !Array.isArray(v) && Object.keys(v).length === 1 && v.success === true) return "";
  if (v?.success === true && typeof v.url === "string") return v.url.split("/").pop();
  const s = typeof v === "string" ? v : JSON.stringify(v);
  return s.length > most ? s.slice(0, most - 1) + "…" : s;
}
