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

// rootsOf is those with that of an element itself, and what is in it.
const rootsOf = (n) => { const own = isElement(n) && shadowOf(n), below = shadows(n); return own ? [own, ...shadows(own), ...below] : below; };

// Below an element a selector may begin with a combinator: "> li".
const scoped = (s) => (/(^|,)\s*[>+~]/.test(s) ? commas(s).map((p) => (/^[>+~]/.test(p) ? ':scope ' + p : p)).join(', ') : s);

// proper throws where a selector is none. Waiting for what it is to be looked for in
// cannot change that, so it is asked before anything is waited for.
let blank;
const proper = (kind, s) => {
  if (kind === 'by') for (const t of [s.selector, s.within, s.has, s.hasNot, ...(s.or ?? [])]) if (t?.s) proper(t.k, t.s);
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
  const unsure = /:not\(.*:has\(/i.test(s); // what is in a root below may speak against it
  if (first && list.length && !unsure) return list;
  const roots = rootsOf(root);
  if (!roots.length) return list;
  const deep = inShadows(root, s, roots);
  if (unsure) list = [];
  if (!deep.length) return list;
  return inOrder(root, new Set([...list, ...deep]));
};

// Documents of frames of the same origin, nested ones included.
const allFrames = (doc) => peer(() => query(doc, 'css', 'iframe,frame,object,embed', false)).filter(isFrame);
const frames = (doc, out = []) => {
  for (const f of allFrames(doc)) {
    const d = frameDocument(f);
    if (d) { out.push([f, d]); frames(d, out); }
  }
  return out;
};

// A place leads on into a frame of another origin, or into one that only the browser
// can find: {k: through how many of its parts, n: the frame's number, u: whether the
// next part is looked for in that by its address}, or {lost: the frames to look through
// for the next part}. Where the browser has found none, it is
// to be told why: alone. With {closed: true} the browser is to open the closed shadow
// roots, as what is looked for may be in one.
class Hop extends Fault { constructor(x) { super(); this.reply = { x }; } }

// lacking is what the common part brings: a document gets that when it is called for.
// Nothing was done by then, so the call begins again.
const lacking = () => { throw new Hop({ common: true }); };
let commas = lacking, inShadows = lacking, watch = lacking, walk = lacking, resolve = lacking, mayHide = lacking, giveUp = lacking, elsewhere = lacking, others = lacking;
let alone = false, opened = false, looking = null, oneLook = false;

// unlock has the closed shadow roots opened for what was not found: at once where the
// page is looked at once, else after a moment, in which most things come.
let lookedAt = 0;
const unlock = () => {
  if (opened || looking === null && !oneLook) return;
  if (!oneLook && (now() - looking < 100 || now() - lookedAt < 300)) return;
  lookedAt = now();
  if (mayHide(false)) throw new Hop({ closed: true });
};
const once = (f) => { const was = oneLook; oneLook = true; try { return f(); } finally { oneLook = was; } };
const hop = (place) => {
  try { enter(place, {}); } catch (e) { if (e.reply?.x) return e.reply; }
  return undefined;
};

// The document that a place leads to, or null while it is not there yet.
const enter = (place, why) => (place?.length ? walk(place, why) : document);

const attached = (el) => dom.connected(el) && dom.view(dom.doc(el)) !== null;

// elementOf is the element of a reference such as "@e5", null where this document has
// given none of that number. Documents without a snapshot have given none at all.
let elementOf = () => null;

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

// Waits until `look` gives something other than undefined, or the time is over.
// What is there at once needs no watching.
let aborted = 0; // how often T.abort was called
const waits = new Set(); // what ends those who wait
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

// Calls f with the first match of a.t as soon as there is one. f gives a reply,
// or undefined with why.e set when the element is there but not ready. Where nothing
// matches, none may give one.
const withFirst = async (a, f, none = () => undefined) => {
  if (!(await settle(a))) return { n: true };
  const why = {}, since = now();
  const r = await until(a.ms, async () => {
    delete why.e; delete why.c; delete why.el;
    const list = search(a.t, a.in, why, true);
    if (!list || !list.length) return none();
    const el = list.find(isElement);
    if (!el) throw new Fault('invalid_value', `"${a.t.a}" gives text or attributes, not elements`);
    why.el = el;
    return f(el, why);
  });
  if (r !== undefined) return r;
  if (a.brief) return late('', '');
  const ms = a.of, hidden = why.el === undefined && giveUp(a);
  if (hidden) return hidden;
  if (why.e && why.el === undefined) return late('element_not_found', why.e + `, within ${ms}ms`);
  if (why.e) return late(why.c || 'timeout', `Element "${a.t.a}" ${why.e} after ${ms}ms` + (why.e.startsWith('is hidden') ? others(a) : ''));
  return notFound(a, `Element "${a.t.a}" not found within ${ms}ms`, elsewhere(a.t, a.in));
};

// T.find({t, in, ms, as}) waits for the element and keeps it under a key.
T.find = (a) => withFirst(a, (el) => { if (a.as) saved.set(a.as, el); return done; });

// T.forget() clears what was saved: at the start of each task.
T.forget = () => { saved.clear(); loops.clear(); loop = null; return done; };

// T.abort() ends all waiting: nobody wants the answers any more.
T.abort = () => { aborted++; for (const end of [...waits]) end(undefined); return done; };
