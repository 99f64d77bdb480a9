// What is needed where a first look does not do: what the base calls that a document
// lacks without this (see lacking).

Object.assign(dom, {
  matches: own('Element', 'matches'),
  rect: own('Element', 'getBoundingClientRect'),
  animations: own('Document', 'getAnimations'),
  nodes: get('Node', 'childNodes'),
  parent: get('Node', 'parentNode'),
  base: get('Node', 'baseURI'),
  attributeNS: ownOfMany('Element', 'getAttributeNS'),
  root: own('Node', 'getRootNode'),
  previous: get('Node', 'previousSibling'),
  hidden: get('Document', 'hidden'),
  iframeWindow: get('HTMLIFrameElement', 'contentWindow'),
  frameWindow: get('HTMLFrameElement', 'contentWindow'),
  inputValue: get('HTMLInputElement', 'value'),
  areaValue: get('HTMLTextAreaElement', 'value'),
  selectValue: get('HTMLSelectElement', 'value'),
  selectMultiple: get('HTMLSelectElement', 'multiple'),
  selected: get('HTMLSelectElement', 'selectedOptions'),
});

// A short name of an element for people: tag, id, classes.
const nameOf = (el) => {
  let s = dom.tag(el);
  const id = dom.attribute(el, 'id'), cls = dom.attribute(el, 'class'), name = dom.attribute(el, 'name');
  if (id) s += '#' + CSS.escape(upTo(id, 100));
  else if (cls && cls.trim()) { const all = cls.trim().split(/\s+/); s += '.' + all.slice(0, 3).map((c) => CSS.escape(upTo(c, 100))).join('.') + (all.length > 3 ? '…' : ''); }
  else if (name) s += `[name=${inCSS(upTo(name, 100))}]`;
  return upTo(s, 100);
};
// inCSS is a text of a page as a string of CSS.
const inCSS = (s) => `"${s.replace(/["\\]/g, '\\$&').replace(/[\u0000-\u001f\u007f]/g, (c) => `\\${c.charCodeAt(0).toString(16)} `)}"`;

const an = (s) => (/^([aeiou]|h(tml|r|\d)\b)/.test(s) ? 'an ' : 'a ') + s;

// lasts counts for how long something has been so. A page that stands still meanwhile
// has no chance to change it: such time does not count.
const lasts = () => {
  let sum = 0, before;
  return () => { const at = now(); sum += Math.min(at - (before ?? at), 250); before = at; return sum; };
};
const passed = (ms) => new Promise((r) => later(r, ms));
const frame = (most = 100) => new Promise((r) => { const off = later(r, most); drawn(() => { off(); later(r, 0); }); });

// since gives what was asked for in any of these documents since then.
const since = () => {
  const then = counts;
  count();
  const more = (kind) => [...counts].some(([d, n]) => n[kind] > (then.get(d) ?? n)[kind]);
  return { timers: more('timers'), frames: more('frames') };
};

// inSteps waits for begin to call back, for so many steps of 10 ms: a page that
// stands still for long is not hurried for it.
const inSteps = (steps, begin) => new Promise((r) => {
  let n = 0;
  const off = every(() => { if (++n > steps) { off(); r(); } }, 10);
  begin(() => { off(); r(); });
});

// idle returns when nothing else is ready to run: tasks of low priority come after
// all others, messages of schedulers and chains of timers without delay included.
const idle = () => inSteps(5, (r) => scheduler.postTask(r, { priority: 'background' }));

// A busy machine draws late. A frame that cannot be seen may not be drawn at all.
const stepsToDraw = () => (window === top && !dom.hidden(document) ? 200 : 20);

// letRun lets run what is ready, and then what was asked for since the last look,
// and what that asks for: timers of up to 20 ms, frames, idle callbacks and view
// transitions. Twice each, and in 60 ms of the page's time.
letRun = async () => {
  await idle();
  const left = { timers: 2, frames: 2 }, moved = new WeakSet();
  for (let spent = 0; !gone() && spent < 60;) {
    const more = since(), waits = [];
    const wait = (kind, ms, f) => {
      if (!more[kind] || !left[kind] || spent + ms > 60) return 0;
      left[kind]--;
      waits.push(f());
      return ms;
    };
    const took = Math.max(wait('timers', 20, () => passed(20)), wait('frames', 17, () => inSteps(stepsToDraw(), drawn)));
    const change = document.activeViewTransition;
    if (change && !moved.has(change)) {
      moved.add(change);
      waits.push(inSteps(Math.max(50, stepsToDraw()), (r) => change.updateCallbackDone.then(r, r)));
    }
    if (!waits.length) return;
    await Promise.all(waits);
    await idle();
    spent += took;
  }
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
commas = (s) => split(s, (t, i) => (t[i] === ',' ? 1 : 0));
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

// A selector is read as if shadow roots were not there: what is in a root is in its host.
// The browser reads it root by root, so its combinators, and those in :is, :not and :has, are
// followed here.

// partsOf takes a selector without commas apart: {css, by, tests, scope} for each of its
// parts, where `by` is the combinator before it, and tests are what the browser cannot be
// asked. The first has a combinator only where the selector is relative to something.
const partsOf = (s) => {
  const parts = [];
  let by = '', from = 0, i = 0;
  const end = () => { const css = s.slice(from, i).trim(); if (css) { parts.push({ by, ...compoundOf(css) }); by = ''; } };
  while (i < s.length) {
    const m = /^[\s>+~]+/.exec(s.slice(i, i + 100));
    if (!m) { i = pastToken(s, i); continue; }
    end();
    by = (by + m[0]).trim() || ' ';
    i += m[0].length;
    from = i;
  }
  end();
  return parts;
};
// pastToken is where what begins there ends: a character, or all of a string, of brackets,
// or of an escape.
const pastToken = (s, i) => {
  if (s[i] === '\\') return i + /^\\(?:[0-9a-f]{1,6}\s?|[^]?)/i.exec(s.slice(i, i + 8))[0].length;
  const close = { '"': '"', "'": "'", '(': ')', '[': ']' }[s[i]];
  if (!close) return i + 1;
  for (let k = i + 1; k < s.length;) {
    if (s[k] === close) return k + 1;
    k = close === '"' || close === "'" ? (s[k] === '\\' ? pastToken(s, k) : k + 1) : pastToken(s, k);
  }
  return s.length;
};
const crossing = /^:(is|where|not|has|matches|-webkit-any)\(/i;
const compoundOf = (s) => {
  let css = '', scope = false;
  const tests = [];
  for (let i = 0; i < s.length;) {
    const head = s[i] === ':' ? s.slice(i, i + 20) : '', m = crossing.exec(head), own = /^:scope(?![\w-])/i.exec(head);
    if (own) { scope = true; i += own[0].length; continue; }
    const to = m ? pastToken(s, i + m[0].length - 1) : pastToken(s, i), part = s.slice(i, to);
    const test = m && testOf(m[1].toLowerCase(), s.slice(i + m[0].length, to - 1), part);
    if (test) tests.push(test); else css += part;
    i = to;
  }
  return { css: css || '*', tests, scope };
};
// testOf is the test of :is, :not or :has; nothing where no border can lie in it.
const testOf = (name, inner, asIs) => {
  const list = commas(inner).map(partsOf), plain = list.every((parts) => parts.length === 1 && !parts[0].by && !parts[0].tests.length && !parts[0].scope);
  if (name === 'has') return { test: (el, c) => list.some((parts) => hasBelow(el, parts, c)) };
  if (plain) return null;
  const any = (el, c) => list.some((parts) => { try { return leadsTo(el, parts, parts.length - 1, c); } catch { return false; } });
  return { test: name === 'not' ? (el, c) => !any(el, c) : any };
};
const fitsPart = (el, p, c) => (!p.scope || el === c.scope) && dom.matches(el, p.css) && p.tests.every((t) => t.test(el, c));
// leadsTo reports whether an element matches a selector up to one of its parts. What is
// known of an element is kept: there are many ways up through the same ones.
const leadsTo = (el, parts, i, c) => {
  let known = c.known.get(parts[i]);
  if (!known) c.known.set(parts[i], (known = new Map()));
  const was = known.get(el);
  if (was !== undefined) return was;
  const yes = fitsPart(el, parts[i], c) && comesBefore(el, parts, i, c);
  known.set(el, yes);
  return yes;
};
const siblingBefore = (n) => { do n = dom.previous(n); while (n && !isElement(n)); return n; };
const comesBefore = (el, parts, i, c) => {
  const { by } = parts[i], fits = i > 0 ? (n) => leadsTo(n, parts, i - 1, c) : by ? (n) => n === c.anchor : null;
  if (!fits) return true;
  const next = by === '+' || by === '~' ? siblingBefore : above;
  for (let n = next(el); n && isElement(n); n = next(n)) {
    if (fits(n)) return true;
    if (by === '+' || by === '>') return false;
  }
  return false;
};
// hasBelow is :has: whether something matches a selector that is relative to the element.
const hasBelow = (el, parts, c) => {
  if (!parts.length) return false;
  const rel = parts[0].by ? parts : [{ ...parts[0], by: ' ' }, ...parts.slice(1)], last = rel[rel.length - 1];
  const at = { scope: c.scope, anchor: el, known: new Map() };
  const among = rel[0].by === '+' || rel[0].by === '~' ? dom.parent(el) : el;
  if (!among) return false;
  return [among, ...(among === el ? rootsOf(el) : shadows(among))].some((n) => [...all(n, last.css)].some((x) => leadsTo(x, rel, rel.length - 1, at)));
};

// Elements inside shadow roots that match, and elements for what is in a root below them.
inShadows = (root, css, roots) => {
  const out = new Set(), c = { scope: isElement(root) ? root : dom.type(root) === 9 ? dom.rootElement(root) : null, anchor: null, known: new Map() };
  const looks = /:has\(/i.test(css) ? [root, ...roots] : roots;
  for (const sel of commas(css)) {
    const parts = partsOf(sel), last = parts[parts.length - 1];
    if (!last) continue;
    for (const s of looks) for (const el of all(s, last.css)) if (leadsTo(el, parts, parts.length - 1, c)) out.add(el);
  }
  return [...out];
};

// Those of the elements that lie below a node, in document order: what is in a
// shadow root comes right after its host.
const inOrder = (root, set, out = []) => {
  if (isElement(root) && shadowOf(root)) inOrder(shadowOf(root), set, out);
  for (const el of all(root, '*')) {
    if (set.has(el)) out.push(el);
    const s = shadowOf(el);
    if (s) inOrder(s, set, out);
  }
  return out;
};

// Frames of other origins, which only the browser reaches. Each gets a number, by which
// it is asked for the frame: another one when the frame was made anew.
let lastNumber = 0;
const numbers = new WeakMap(), byNumber = new Map();
const numberOf = (f) => {
  const w = is(f, 'frame') ? dom.frameWindow(f) : is(f, 'iframe') ? dom.iframeWindow(f) : is(f, 'object') ? dom.objectWindow(f) : is(f, 'embed') ? embedded(f) : null, known = numbers.get(f);
  if (known?.w === w) return known.n;
  const n = ++lastNumber;
  numbers.set(f, { w, n });
  byNumber.set(n, new WeakRef(f));
  return n;
};
T.numbered = (n) => byNumber.get(n)?.deref() ?? null;

// showsPage reports whether a frame shows a page, and not a picture, as objects do.
const showsPage = (el) => { if (!isFrame(el)) return false; const d = frameDocument(el); return !d || is(el, 'iframe', 'frame') || isHTML(dom.rootElement(d)); };

// Those in a document and in the frames of its origin. holds.js needs it, too.
const foreignFrames = (doc) => [doc, ...frames(doc).map(([, d]) => d)].flatMap((d) => allFrames(d).filter((f) => !frameDocument(f)));

// mayHide reports whether there are elements which the browser was not asked about and
// that may have a closed shadow root: of a kind of their own, or without anything in
// them and yet of some size. Where one look has to do, a size that the page has set is
// none; at the end of the time all that can have a root counts. The browser takes long
// for very many elements.
const hostTag = /-|^(article|aside|blockquote|body|div|footer|h\d|header|main|nav|p|section|span)$/;
mayHide = (any) => all(document, '*').length < (any ? 10000 : 50000) && [document, ...frames(document).map(([, d]) => d)].some((d) => [d, ...peer(() => shadows(d))].some((n) => [...all(n, '*')].some((el) => {
  const tag = dom.tag(el);
  if (!hostTag.test(tag) || rootIn(el) || askedAbout.has(el)) return false;
  if (any || tag.includes('-')) return true;
  if (dom.nodes(el).length) return false;
  const r = dom.rect(el);
  return sized(r) && (!oneLook || `${el.computedStyleMap().get('height')}` === 'auto');
})));
const sized = (r) => r.width > 0 && r.height > 0;
// giveUp is unlock for when the time is over: then all that can have a root counts.
giveUp = (a) => (opened || a.haste || !(a.ms > 0) || !a.t?.s || !mayHide(true) ? undefined : { x: { closed: true } });

// begins tells whether a frame still has the blank document that every frame begins with.
const begins = (f, doc) => {
  if (dom.view(doc)?.location.href !== 'about:blank') return false;
  const src = (dom.attribute(f, 'src') || '').trim();
  return dom.attribute(f, 'srcdoc') !== null || src !== '' && !/^(about:blank|javascript:)/i.test(src);
};
// A frame that is lazy rests until it is near the view. One that is asked for something is
// brought there, as a person would: again after a while, for the page may scroll elsewhere.
const unroused = (f, doc) => doc !== null && is(f, 'iframe') && /^lazy$/i.test((dom.attribute(f, 'loading') || '').trim()) && begins(f, doc);
const roused = new WeakMap(), intoSight = own('Element', 'scrollIntoView');
const rouse = (f) => {
  if (now() - (roused.get(f) ?? -Infinity) < 500) return;
  roused.set(f, now());
  intoSight(f, { block: 'center', inline: 'nearest', behavior: 'instant' });
};
let asleep = false; // whether the way that was gone last ended at one that rests
const mostAsleep = 3000; // how long a frame that was roused may take to be there as a whole
// awake waits a while for such frames on a way, for those who look once.
const awake = async (a) => {
  if (!a.in?.length) return;
  for (const end = now() + Math.min(a.ms ?? 0, mostAsleep); now() < end; await new Promise((r) => later(r, 20))) {
    asleep = false;
    try { enter(a.in, {}); } catch (e) { if (!(e instanceof Fault)) throw e; }
    if (!asleep) return;
  }
};
// T.lazyOnes(): those in the document and in the frames of its origin, with their addresses.
T.lazyOnes = () => ({
  v: [document, ...frames(document).map(([, d]) => d)].flatMap((d) => allFrames(d)).filter((f) => unroused(f, frameDocument(f)) && dom.attribute(f, 'srcdoc') === null)
    .map((f) => { try { return { frame: numberOf(f), url: new URL(dom.attribute(f, 'src').trim(), dom.doc(f).baseURI).href }; } catch { return null; } }).filter((f) => f),
});
// T.rouse({frame}): brings one of them into view.
T.rouse = ({ frame }) => { const f = T.numbered(frame); if (f) rouse(f); return done; };

// walk is enter for a place that is not the document itself. One selector is looked for in nested frames too, so that the path need not be
// spelled out. Into frames of other origins the browser goes on.
walk = (place, why) => {
  let doc = document, k = 0;
  for (const p of place) if (!p.u) proper(p.k, p.s);
  for (const p of place) {
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
    if (!isFrame(f)) { why.e = `Iframe not found: "${p.a}" is ${an(nameOf(f))}, not an iframe`; return null; }
    const d = frameDocument(f);
    k++;
    if (unroused(f, d)) {
      rouse(f);
      asleep = true;
      why.e = `Iframe not found: "${p.a}" is still loading`;
      return null;
    }
    if (!d) throw new Hop({ k, n: numberOf(f) });
    const half = dom.state(d) === 'loading' && now() - (roused.get(f) ?? -Infinity) < mostAsleep; // nobody is to see only that
    if (half) asleep = true;
    if (half || dom.state(d) === 'loading' && !body(d)) { why.e = `Iframe not found: "${p.a}" is still loading`; return null; }
    doc = d;
    entered(d);
  }
  return doc;
};

// T.along({way}): the numbers of the frames on a way, those around them included, as far as
// it leads now.
T.along = ({ way }) => {
  const out = new Set();
  for (let k = 1; k <= way.length; k++) {
    let f;
    try {
      const d = enter(way.slice(0, k), {});
      f = d && dom.view(d)?.frameElement;
    } catch (e) {
      if (!(e instanceof Fault)) throw e;
      f = e.reply.x?.n ? T.numbered(e.reply.x.n) : null;
    }
    for (; f; f = viewOf(f) === window ? null : viewOf(f)?.frameElement) out.add(numberOf(f));
  }
  return { v: [...out] };
};

const byReference = (t) => typeof t?.r === 'string' && t.r[0] === '@';

// A saved element, the current one of a loop, or that of a reference.
resolve = (t) => {
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

// What a person would want to know when nothing was found.
elsewhere = (t, place) => {
  const notes = [];
  if (t.s && t.r === undefined) {
    if (place?.length) {
      try { const n = query(document, t.k, t.s).length; if (n) notes.push(`${n} ${n === 1 ? 'match' : 'matches'} in the main page`); } catch {}
    }
    for (const [f, d] of frames(document)) {
      let n = 0;
      try { n = query(d, t.k, t.s).length; } catch {}
      if (n && !place?.length) notes.push(`${n} ${n === 1 ? 'match' : 'matches'} in iframe ${dom.attribute(f, 'id') ? '#' + CSS.escape(dom.attribute(f, 'id')) : nameOf(f)}`);
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

// Looks again whenever the page changes, and now and then besides, for what
// changes without a trace in the DOM.
watch = (ms, look) => new Promise((resolve) => {
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
others = (a) => {
  const seen = (search(a.t, a.in, {}) || []).filter(isElement).map((el) => hiddenBecause(el) === ''), n = seen.filter(Boolean).length;
  return n && !seen[0] ? `: it is the first of ${seen.length} matches, of which ${n} can be seen` : '';
};

// notFound is a failure with what a person would want to know, {o}: what comes after
// that is asked for where the failure is told. {f} says that there are frames of other
// origins.
const notFound = (a, e, notes) => {
  if (!a.t?.s) return late('element_not_found', `${e}: ${notes}`);
  const foreign = a.t.r === undefined && (window !== window.parent || foreignFrames(document).length > 0);
  return { ...late('element_not_found', e), o: notes, f: foreign };
};

// T.element() gives the element that a function has chosen, for the browser.
T.element = () => { const el = chosenElement; chosenElement = null; return el; };
