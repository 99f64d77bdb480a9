// Finding. A target is {s: selector, k: kind ('css', 'xpath' or ''), r: key of a
// saved element, a: how the client wrote it}. A place is a list of selectors of
// frames, outermost first.

const saved = new Map(); // what `save` keeps, by key; those of a flow begin with its number and a colon
let chosenElement = null; // what T.element() is to give
let loop = null; // the loop whose element is $this: {id, list, count, t, in, i}
const loops = new Map(); // those that run, one in the other, by id

// Makes a call's loop the one that runs. In a new document its elements are
// looked for again.
const inLoop = (a) => {
  if (!a.each) return;
  if (loop?.id !== a.each.id) {
    loop = loops.get(a.each.id) ?? { ...a.each, list: [] };
    loops.set(loop.id, loop);
  }
  if (a.i !== undefined) loop.i = a.i;
};

// The time is over: {z} tells a batch that waiting longer could have helped.
const late = (c, e) => ({ c, e, z: true });

class Fault { constructor(c, e) { this.reply = { c, e }; } }
// One that may pass: who waits goes on until the time is over.
class Lack extends Fault { }

// Closed shadow roots are known once the browser has opened them: see Hop. In them is
// looked only where nothing else matches, so it does not matter when that was.
const closedRoots = new WeakMap(), askedAbout = new WeakSet();
let anyClosed = false, peering = false;
const rootIn = (el) => dom.shadow(el) || anyClosed && closedRoots.get(el) || null;
const shadowOf = (el) => dom.shadow(el) || peering && closedRoots.get(el) || null;
const peer = (f) => { const was = peering; peering = true; try { return f(); } finally { peering = was; } };

// Shadow roots below a node, in document order, those inside others included.
const shadows = (root, out = []) => {
  for (const el of all(root, '*')) {
    const s = shadowOf(el);
    if (s) { out.push(s); shadows(s, out); }
  }
  return out;
};

// Splits a selector at the places where `at` says so, outside of brackets and
// strings.
const split = (s, at) => {
  const parts = [];
  let depth = 0, quote = '', start = 0;
  for (let i = 0; i < s.length; i++) {
    const ch = s[i];
    if (ch === '\\') { i++; continue; }
    if (quote) { if (ch === quote) quote = ''; continue; }
    if (ch === '"' || ch === "'") quote = ch;
    else if (ch === '(' || ch === '[') depth++;
    else if (ch === ')' || ch === ']') depth--;
    else if (depth === 0) {
      const n = at(s, i);
      if (n) { parts.push(s.slice(start, i)); start = i + n; i = start - 1; }
    }
  }
  parts.push(s.slice(start));
  return parts.map((p) => p.trim()).filter(Boolean);
};
const commas = (s) => split(s, (t, i) => (t[i] === ',' ? 1 : 0));
const descents = (s) => split(s, (t, i) => {
  const m = /^\s+/.exec(t.slice(i));
  if (!m) return 0;
  const before = t.slice(0, i).trimEnd().slice(-1), after = t.slice(i + m[0].length)[0];
  return '>+~,'.includes(before || ',') || '>+~,'.includes(after || ',') ? 0 : m[0].length;
});

const above = (n) => {
  const p = dom.parent(n);
  return (p && hostOf(p)) || p;
};

// Elements inside shadow roots that match; a descendant combinator may cross
// the border of a root, as it would if the root were not there.
const inShadows = (root, css, roots) => {
  const out = new Set();
  for (const sel of commas(css)) {
    const parts = descents(sel);
    const last = parts.pop();
    if (!last) continue;
    for (const s of roots) {
      for (const el of all(s, last)) {
        let at = el, ok = true;
        for (let i = parts.length - 1; i >= 0 && ok; i--) {
          for (at = above(at); at && isElement(at) && at !== root; at = above(at)) if (dom.matches(at, parts[i])) break;
          ok = at && isElement(at) && at !== root;
        }
        if (ok) out.add(el);
      }
    }
  }
  return [...out];
};

// Those of the elements that lie below a node, in document order: what is in a
// shadow root comes right after its host.
const inOrder = (root, set, out = []) => {
  for (const el of all(root, '*')) {
    if (set.has(el)) out.push(el);
    const s = shadowOf(el);
    if (s) inOrder(s, set, out);
  }
  return out;
};

// Below an element a selector may begin with a combinator: "> li".
const scoped = (s) => (/(^|,)\s*[>+~]/.test(s) ? commas(s).map((p) => (/^[>+~]/.test(p) ? ':scope ' + p : p)).join(', ') : s);

// proper throws where a selector is none. Waiting for what it is to be looked for in
// cannot change that, so it is asked before anything is waited for.
let blank;
const proper = (kind, s) => {
  if (kind === 'by') for (const t of [s.selector, s.within, ...(s.or ?? [])]) if (t?.s) proper(t.k, t.s);
  if (kind === 'css') try { one(blank ??= document.createDocumentFragment(), s); } catch { throw new Fault('invalid_value', `"${s}" is not a valid CSS selector`); }
  if (kind === 'xpath') try { dom.expression(document, s); } catch { throw new Fault('invalid_value', `"${s}" is not a valid XPath expression that gives elements`); }
};

// All matches of a selector below a root, in document order. With `first`, one
// will do, and what lies in shadow roots is only looked at when nothing else
// matches.
const query = (root, kind, s, first) => {
  const list = queryOpen(root, kind, s, first);
  return list.length || !anyClosed || peering || kind === 'xpath' ? list : peer(() => queryOpen(root, kind, s, first));
};
const queryOpen = (root, kind, s, first) => {
  if (kind === 'by') return pointedAt(root, s);
  if (kind === 'xpath') {
    const relative = dom.type(root) !== 9;
    const doc = relative ? dom.doc(root) : root;
    let found;
    try {
      found = dom.xpath(doc, relative && s.startsWith('/') ? '.' + s : relative && s.startsWith('(/') ? '(.' + s.slice(1) : s, root, null, 7, null);
    } catch (e) { throw new Fault('invalid_value', `"${s}" is not a valid XPath expression that gives elements`); }
    const out = [];
    for (let i = 0; i < found.snapshotLength; i++) out.push(found.snapshotItem(i));
    return out;
  }
  if (isElement(root)) s = scoped(s);
  let list;
  try {
    if (first) { const el = one(root, s); list = el ? [el] : []; } else list = [...all(root, s)];
  } catch (e) { throw new Fault('invalid_value', `"${s}" is not a valid CSS selector`); }
  if (first && list.length) return list;
  const roots = shadows(root);
  if (isElement(root) && shadowOf(root)) { const r = shadowOf(root); roots.unshift(r, ...shadows(r)); }
  if (!roots.length) return list;
  const deep = inShadows(root, s, roots);
  if (!deep.length) return list;
  const found = new Set([...list, ...deep]), mine = isElement(root) && shadowOf(root);
  return [...(mine ? inOrder(mine, found) : []), ...inOrder(root, found)];
};

// Documents of frames of the same origin, nested ones included.
const allFrames = (doc) => peer(() => query(doc, 'css', 'iframe,frame', false));
const frames = (doc, out = []) => {
  for (const f of allFrames(doc)) {
    const d = frameDocument(f);
    if (d) { out.push([f, d]); frames(d, out); }
  }
  return out;
};

// Frames of other origins, which only the browser reaches. Each gets a number, by which
// it is asked for the frame: another one when the frame was made anew.
let lastNumber = 0;
const numbers = new WeakMap(), byNumber = new Map();
const numberOf = (f) => {
  const w = is(f, 'frame') ? dom.frameWindow(f) : dom.iframeWindow(f), known = numbers.get(f);
  if (known?.w === w) return known.n;
  const n = ++lastNumber;
  numbers.set(f, { w, n });
  byNumber.set(n, new WeakRef(f));
  return n;
};
T.numbered = (n) => byNumber.get(n)?.deref() ?? null;

// Those in a document and in the frames of its origin. holds.js needs it, too.
const foreignFrames = (doc) => [doc, ...frames(doc).map(([, d]) => d)].flatMap((d) => allFrames(d).filter((f) => !frameDocument(f)));

// A place leads on into a frame of another origin, or into one that only the browser
// can find: {k: through how many of its parts, n: the frame's number, u: whether the
// next part is looked for in that by its address}, or {lost: the frames to look through
// for the next part}. Where the browser has found none, it is
// to be told why: alone. With {closed: true} the browser is to open the closed shadow
// roots, as what is looked for may be in one.
class Hop extends Fault { constructor(x) { super(); this.reply = { x }; } }
let alone = false, opened = false, looking = null, oneLook = false;

// mayHide reports whether there are elements which the browser was not asked about and
// that may have a closed shadow root: of a kind of their own, or without anything in
// them and yet of some size. Where one look has to do, a size that the page has set is
// none; at the end of the time all that can have a root counts. The browser takes long
// for very many elements.
const hostTag = /-|^(article|aside|blockquote|body|div|footer|h\d|header|main|nav|p|section|span)$/;
const mayHide = (any) => all(document, '*').length < (any ? 10000 : 50000) && [document, ...frames(document).map(([, d]) => d)].some((d) => [d, ...peer(() => shadows(d))].some((n) => [...all(n, '*')].some((el) => {
  const tag = dom.tag(el);
  if (!hostTag.test(tag) || rootIn(el) || askedAbout.has(el)) return false;
  if (any || tag.includes('-')) return true;
  if (dom.nodes(el).length) return false;
  const r = dom.rect(el);
  return sized(r) && (!oneLook || `${el.computedStyleMap().get('height')}` === 'auto');
})));
const sized = (r) => r.width > 0 && r.height > 0;

// unlock has the closed shadow roots opened for what was not found: at once where the
// page is looked at once, else after a moment, in which most things come.
let lookedAt = 0;
const unlock = () => {
  if (opened || looking === null && !oneLook) return;
  if (!oneLook && (now() - looking < 100 || now() - lookedAt < 300)) return;
  lookedAt = now();
  if (mayHide(false)) throw new Hop({ closed: true });
};
// giveUp is unlock for when the time is over: then all that can have a root counts.
const giveUp = (a) => (opened || a.haste || !(a.ms > 0) || !a.t?.s || !mayHide(true) ? undefined : { x: { closed: true } });
const once = (f) => { const was = oneLook; oneLook = true; try { return f(); } finally { oneLook = was; } };
const hop = (place) => {
  try { enter(place, {}); } catch (e) { if (e.reply?.x) return e.reply; }
  return undefined;
};

// The document that a place leads to, or null while it is not there yet. One
// selector is looked for in nested frames too, so that the path need not be
// spelled out. Into frames of other origins the browser goes on.
const enter = (place, why) => {
  let doc = document, k = 0;
  for (const p of place || []) if (!p.u) proper(p.k, p.s);
  for (const p of place || []) {
    let found = [];
    if (p.u) {
      if (alone === false) throw new Hop({ k, n: doc === document ? 0 : numberOf(dom.view(doc).frameElement), u: true });
      why.e = alone;
      return null;
    }
    if (p.r !== undefined) found = [resolve(p)];
    else {
      found = query(doc, p.k, p.s, true);
      if (!found.length) for (const [, d] of frames(doc)) { found = query(d, p.k, p.s, true); if (found.length) break; }
    }
    const f = found[0];
    if (!f) {
      if (p.r === undefined) unlock();
      why.e = `Iframe not found: nothing matches "${p.a}"`;
      const lost = alone === false && p.r === undefined ? foreignFrames(doc).map(numberOf) : [];
      if (lost.length) throw new Hop({ k, lost });
      return null;
    }
    if (!is(f, 'iframe', 'frame')) { why.e = `Iframe not found: "${p.a}" is ${an(nameOf(f))}, not an iframe`; return null; }
    const d = frameDocument(f);
    k++;
    if (!d) throw new Hop({ k, n: numberOf(f) });
    if (dom.state(d) === 'loading' && !body(d)) { why.e = `Iframe not found: "${p.a}" is still loading`; return null; }
    doc = d;
    entered(d);
  }
  return doc;
};

const attached = (el) => dom.connected(el) && dom.view(dom.doc(el)) !== null;

// elementOf is the element of a reference such as "@e5", null where this document has
// given none of that number. Documents without a snapshot have given none at all.
let elementOf = () => null;

// A saved element, the current one of a loop, or that of a reference.
const resolve = (t) => {
  if (t.r[0] === '@') {
    const el = elementOf(t.r);
    if (!el) { const f = new Fault('element_gone', `"${t.r}" is not on this page: the document that it was in is gone`); f.reply.g = { n: Number(t.r.slice(2)) }; throw f; }
    return el;
  }
  if (t.r === 'this') {
    if (!loop) throw new Fault('element_not_found', '"$this" stands for the current element of a loop with each, and there is none here');
    const el = loop.list[loop.i];
    if (el && attached(el)) return el;
    const again = (search(loop.t, loop.in, {}) || []).filter(isElement);
    if (again.length !== loop.count) {
      // A page that fetches its list anew has none for a while. What was waited for in
      // vain is not waited for again.
      const waits = again.length !== loop.lacks;
      loop.now = again.length;
      throw new (waits ? Lack : Fault)('element_gone', `"$this" is no longer on the page, and "${loop.t.a}" now has ${again.length} ${again.length === 1 ? 'match' : 'matches'} where the loop began with ${loop.count}`);
    }
    loop.list = again;
    return again[loop.i];
  }
  const el = saved.get(t.r), key = t.r.slice(t.r.indexOf(':') + 1);
  if (!el) throw new Fault('element_gone', `"$${key}" is not on this page: no element was saved under that key in the current document`);
  if (!attached(el)) throw new Fault('element_gone', `"$${key}" is no longer attached to the page`);
  return el;
};

// All matches of a target, null while its frame is not there.
const search = (t, place, why, first) => {
  if (t.r !== undefined) {
    const el = resolve(t);
    return t.s ? matches(el, t, first) : [el];
  }
  if (place?.length) proper(t.k, t.s); // before anything is waited for
  const doc = enter(place, why);
  return doc && matches(doc, t, first);
};
const matches = (root, t, first) => {
  const list = query(root, t.k, t.s, first);
  if (!list.length && t.k !== 'xpath') unlock();
  return list;
};

// What a person would want to know when nothing was found.
const elsewhere = (t, place) => {
  const notes = [];
  if (t.s && t.r === undefined) {
    if (place?.length) {
      try { const n = query(document, t.k, t.s).length; if (n) notes.push(`${n} ${n === 1 ? 'match' : 'matches'} in the main page`); } catch {}
    }
    for (const [f, d] of frames(document)) {
      let n = 0;
      try { n = query(d, t.k, t.s).length; } catch {}
      if (n && !place?.length) notes.push(`${n} ${n === 1 ? 'match' : 'matches'} in iframe ${dom.attribute(f, 'id') ? '#' + dom.attribute(f, 'id') : nameOf(f)}`);
    }
    if (!notes.length && t.k === 'xpath') {
      // A name in XPath means HTML in an HTML document and nothing at all in one
      // of XML: drawings, and pages that are XHTML, have a namespace.
      const name = (s) => `*[local-name()='${s}']`;
      let n = 0, first = '';
      try { n = query(document, 'xpath', t.s.replace(/(^|\/|::)([A-Za-z][\w-]*)(?![\w-]*\s*(?:\(|::))/g, (all, at, s) => at + name((first ||= s, s)))).length; } catch {}
      if (n) notes.push(`${n} ${n === 1 ? 'match' : 'matches'} in another namespace, as SVG and XHTML have one: write ${name(first)} for ${first}`);
    }
  }
  if (!notes.length) notes.push(`0 matches on ${upTo(location.href, 200)}`);
  return notes.slice(0, 3).join(', ');
};

// Waits until `look` gives something other than undefined, or the time is over.
// What is there at once needs no watching.
let aborted = 0; // how often T.abort was called
const until = async (ms, look) => {
  const began = now(), epoch = aborted;
  let lack;
  const patient = async () => {
    lack = undefined;
    looking = began;
    try { return await look(); } catch (e) {
      if (!(e instanceof Lack)) throw e;
      lack = e.reply;
    } finally { looking = null; }
  };
  let v = await seen(patient);
  if (v === undefined && epoch === aborted && now() - began < ms) v = await watch(ms - (now() - began), patient);
  if (v !== undefined || !lack) return v;
  if (ms > 0 && epoch === aborted && loop) loop.lacks = loop.now;
  return late(lack.c, lack.e);
};
const seen = async (look) => {
  if (gone()) return { n: true };
  try { return await look(); } catch (e) { return e instanceof Fault ? e.reply : { c: 'script_error', e: String(e) }; }
};

// Looks again whenever the page changes, and now and then besides, for what
// changes without a trace in the DOM.
const waits = new Set();
const watch = (ms, look) => new Promise((resolve) => {
  let ended = false, busy = false, again = false;
  const watched = new WeakSet();
  const watcher = new MutationObserver(() => run());
  const end = (v) => { ended = true; waits.delete(end); watcher.disconnect(); timer(); tick(); resolve(v); };
  const observe = () => {
    for (const d of [document, ...frames(document).map(([, d]) => d)]) for (const n of [d, ...shadows(d)]) {
      if (watched.has(n)) continue;
      watched.add(n);
      watcher.observe(n, { subtree: true, childList: true, attributes: true, characterData: true });
    }
  };
  const run = async () => {
    if (ended || busy) { again = true; return; }
    busy = true;
    again = false;
    const v = await seen(look);
    busy = false;
    if (ended) return;
    if (v !== undefined) end(v);
    else if (!(now() < deadline)) end(undefined);
    else if (again) later(run, 0); // in a task of its own: looking may itself change the page
  };
  const deadline = now() + ms;
  const timer = later(() => { if (!busy) end(undefined); }, ms);
  const tick = every(() => { observe(); run(); }, 50);
  waits.add(end);
  observe();
  run(); // what came between the first look and now
});

// The first match is meant, and whoever sees another on the page wonders.
const others = (a) => {
  const seen = (search(a.t, a.in, {}) || []).filter(isElement).map((el) => hiddenBecause(el) === ''), n = seen.filter(Boolean).length;
  return n && !seen[0] ? `: it is the first of ${seen.length} matches, of which ${n} can be seen` : '';
};

// Calls f with the first match of a.t as soon as there is one. f gives a reply,
// or undefined with why.e set when the element is there but not ready.
const withFirst = async (a, f) => {
  if (!(await settle(a))) return { n: true };
  const why = {}, since = now();
  const r = await until(a.ms, async () => {
    delete why.e; delete why.c; delete why.el;
    const list = search(a.t, a.in, why, true);
    if (!list || !list.length) return undefined;
    const el = list.find(isElement);
    if (!el) throw new Fault('invalid_value', `"${a.t.a}" gives text or attributes, not elements`);
    why.el = el;
    return f(el, why);
  });
  if (r !== undefined) return r;
  const ms = a.of, hidden = why.el === undefined && giveUp(a);
  if (hidden) return hidden;
  if (why.e && why.el === undefined) return late('element_not_found', why.e + `, within ${ms}ms`);
  if (why.e) return late(why.c || 'timeout', `Element "${a.t.a}" ${why.e} after ${ms}ms` + (why.e.startsWith('is hidden') ? others(a) : ''));
  return notFound(a, `Element "${a.t.a}" not found within ${ms}ms`, elsewhere(a.t, a.in));
};

// notFound is a failure with what a person would want to know, {o}: what comes after
// that is asked for where the failure is told. {f} says that there are frames of other
// origins.
const notFound = (a, e, notes) => {
  if (!a.t?.s) return late('element_not_found', `${e}: ${notes}`);
  const foreign = a.t.r === undefined && (window !== window.parent || foreignFrames(document).length > 0);
  return { ...late('element_not_found', e), o: notes, f: foreign };
};

// T.find({t, in, ms, as}) waits for the element and keeps it under a key.
T.find = (a) => withFirst(a, (el) => { if (a.as) saved.set(a.as, el); return done; });

// T.forget() clears what was saved: at the start of each task.
T.forget = () => { saved.clear(); loops.clear(); loop = null; return done; };

// T.abort() ends all waiting: nobody wants the answers any more.
T.abort = () => { aborted++; for (const end of [...waits]) end(undefined); return done; };

// T.element() gives the element that a function has chosen, for the browser.
T.element = () => { const el = chosenElement; chosenElement = null; return el; };
