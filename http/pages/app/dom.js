// Elements without templates: nothing here ever reads text as HTML.

// h makes an element. Properties that begin with "on" are listeners, others
// attributes; children are elements, texts, or arrays of them.
export function h(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, v] of Object.entries(attributes)) {
    if (v == null || v === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), v);
    else if (name === "value") e.value = v;
    else e.setAttribute(name, v === true ? "" : v);
  }
  e.append(...children.flat(Infinity).filter((c) => c != null && c !== false));
  return e;
}

// drawing makes an element of SVG.
export function drawing(tag, attributes = {}, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, v] of Object.entries(attributes)) if (v != null && v !== false) e.setAttribute(name, v);
  e.append(...children.flat(Infinity).filter((c) => c != null && c !== false));
  return e;
}

// fill gives an element other children.
export function fill(e, ...children) {
  e.replaceChildren(...children.flat(Infinity).filter((c) => c != null && c !== false));
  return e;
}

// text changes the text of an element only where it differs: selections and
// what screen readers have in hand stay as they are.
export function text(e, s) {
  if (e.textContent !== s) e.textContent = s;
  return e;
}

// rows keeps children of an element in step with a list. An item that stays
// keeps its element, and so the focus in it. make returns an element; update is
// called with it and the item.
export function rows(parent, items, key, make, update) {
  parent.known ??= new Map();
  const seen = new Set();
  let at = parent.firstElementChild;
  for (const item of items) {
    const k = key(item);
    seen.add(k);
    let e = parent.known.get(k);
    if (!e) parent.known.set(k, (e = make(item)));
    update(e, item);
    if (e !== at) parent.insertBefore(e, at);
    else at = at.nextElementSibling;
  }
  for (const [k, e] of parent.known) {
    if (seen.has(k)) continue;
    e.dispatchEvent(new CustomEvent("gone"));
    e.remove();
    parent.known.delete(k);
  }
}

// loading stands where a list will be, until its first answer: nothing says "none"
// before that is known. It becomes visible only after a moment, so that quick answers
// do not flicker. done removes it.
export function loading(what) {
  const bones = Array.from({ length: 3 }, () => h("span", { class: "bone", "aria-hidden": "true" }));
  const element = h("div", { class: "loading sheet", role: "status" }, h("span", { class: "unseen" }, `Loading ${what}…`), bones);
  return { element, done: () => element.remove() };
}

// say tells screen readers something that the eye sees by itself.
export function say(s) {
  document.getElementById("said").textContent = s;
}

let fading;
// toast shows a sentence for a moment.
export function toast(s) {
  const e = document.getElementById("toast");
  text(e, s);
  e.hidden = false;
  clearTimeout(fading);
  fading = setTimeout(() => (e.hidden = true), 4000);
  say(s);
}

// failed shows an error where it belongs, in the service's words.
export function failed(e, err) {
  fill(e, err ? h("p", { class: "error", role: "alert" }, err.message ?? String(err)) : null);
}

// copy puts a text on the clipboard and says so.
export async function copy(s, what) {
  let done = true;
  try {
    await navigator.clipboard.writeText(s);
  } catch {
    done = copyByField(s);
  }
  toast(done ? `${what} copied` : "Your browser does not allow copying. Select the text and copy it yourself.");
}

// copyByField copies as a person would: pages that came without TLS from another
// machine have no navigator.clipboard. Under a dialog nothing can be selected.
function copyByField(s) {
  const back = document.activeElement;
  const field = h("textarea", { class: "unseen", readonly: true, "aria-hidden": "true" });
  field.value = s;
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  back?.focus();
  return done;
}
