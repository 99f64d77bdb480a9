// Where things are in a text of JSON: from a cursor to what may stand there, and
// from a JSON Pointer to the text.

import { json, syntaxTree } from "./vendor/codemirror.js";

// treeOf is the syntax tree of a whole text. The editor's own goes only as far as it got in
// its turns: not to the end of a long text, nor of any on a busy machine.
function treeOf(state) {
  const own = syntaxTree(state);
  if (own.length >= state.doc.length) return own;
  if (!trees.has(state.doc)) trees.set(state.doc, parser.parse(state.doc.toString()));
  return trees.get(state.doc);
}
const { parser } = json().language, trees = new WeakMap();

const values = new Set(["Object", "Array", "String", "Number", "True", "False", "Null"]);
const nameOf = (state, node) => {
  try {
    return JSON.parse(state.sliceDoc(node.from, node.to));
  } catch {
    return state.sliceDoc(node.from + 1, node.to);
  }
};

export function namesIn(state, object) {
  return object.getChildren("Property").map((p) => p.getChild("PropertyName")).filter(Boolean).map((n) => nameOf(state, n));
}

const elements = (array) => {
  const found = [];
  for (let c = array.firstChild; c; c = c.nextSibling) if (values.has(c.name)) found.push(c);
  return found;
};

// pathTo lists the keys that lead to a node, each with the names beside it.
function pathTo(state, node) {
  const path = [];
  for (let n = node; n.parent; n = n.parent) {
    if (n.parent.name === "Property" && n.name !== "PropertyName") {
      const key = n.parent.getChild("PropertyName");
      const object = n.parent.parent;
      if (key && object) path.unshift([nameOf(state, key), namesIn(state, object)]);
    } else if (n.parent.name === "Array") {
      path.unshift([elements(n.parent).findIndex((e) => e.from === n.from), undefined]);
    }
  }
  return path;
}

// cursor tells what is being written at a position: a key of an object or a
// value, what leads there, and which text it would replace.
export function cursor(state, pos) {
  let node = treeOf(state).resolveInner(pos, -1);
  let from = pos, to = pos;
  if ((node.name === "PropertyName" || node.name === "String") && node.from < pos) {
    ({ from, to } = node);
  } else {
    const word = state.sliceDoc(Math.max(0, pos - 40), pos).match(/[A-Za-z]+$/);
    if (word) from = pos - word[0].length;
  }
  let container = node;
  while (container && !((container.name === "Object" || container.name === "Array") && container.from < from)) container = container.parent;
  if (!container) return undefined;
  const before = state.sliceDoc(container.from, from).trimEnd().slice(-1);
  const path = pathTo(state, container);
  if (container.name === "Array") {
    if (before !== "[" && before !== ",") return undefined;
    return { kind: "value", path: [...path, [elements(container).filter((e) => e.to < from).length, undefined]], from, to };
  }
  const names = namesIn(state, container);
  if (before === ":") {
    const key = container.getChildren("Property").map((p) => p.getChild("PropertyName")).filter((k) => k && k.to <= from).pop();
    return key && { kind: "value", path: [...path, [nameOf(state, key), names]], from, to };
  }
  if (before !== "{" && before !== ",") return undefined;
  const self = from < to ? nameOf(state, { from, to }) : undefined;
  const follows = state.sliceDoc(to, to + 20).trimStart().startsWith(":");
  return { kind: "key", path, names: names.filter((n) => n !== self), from, to, follows };
}

// range finds the text that a JSON Pointer means, or what comes nearest: where
// something is missing, that is what it is missing from.
export function range(state, pointer) {
  let node = treeOf(state).topNode.firstChild;
  let found = node ?? { from: 0, to: 0 };
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    let next;
    if (node?.name === "Object") {
      const p = node.getChildren("Property").find((p) => p.getChild("PropertyName") && nameOf(state, p.getChild("PropertyName")) === key);
      if (p) {
        found = p.getChild("PropertyName");
        next = p.lastChild;
      }
    } else if (node?.name === "Array") {
      next = elements(node)[Number(key)];
      if (next) found = next;
    }
    if (!next) break;
    node = next;
  }
  // Of something long only the beginning is marked.
  const line = state.doc.lineAt(found.from);
  return { from: found.from, to: Math.max(Math.min(found.to, line.to), Math.min(found.from + 1, state.doc.length)) };
}

// byte turns a count of bytes of UTF-8 into a position in the text.
export function byte(text, n) {
  return new TextDecoder().decode(new TextEncoder().encode(text).slice(0, n)).length;
}
