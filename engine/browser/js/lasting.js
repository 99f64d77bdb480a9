// Selectors that last: what a reference becomes in a list that is to run again, on another
// load of the page. What a person perceives goes first, then what a person wrote.

// T.durable({refs}): a selector for each number, by what a person perceives of its
// element where that says which one it is, else by its attributes or its place, with
// those of the frames around it, outermost first; null for what is gone.
T.durable = (a) => ({ v: a.refs.map((key) => {
  const r = given.get(numberOfReference(key)), el = r?.el.deref();
  if (!r) return null;
  if (!el || !attached(el)) return r.only && r.name ? { selector: { role: r.role, name: r.name, exact: true } } : null; // it may be found again
  const frames = [];
  for (let w = viewOf(el); w !== window && w.frameElement; w = w.parent) frames.unshift(lasting(w.frameElement));
  return { selector: lasting(el), ...(frames.length ? { iframe: frames } : {}) };
}) });

// lasting is the first selector that matches one element alone in its document.
const lasting = (el) => {
  const doc = dom.doc(el), role = roleOf(el), name = calledIn(el, role);
  const alone = (s) => { try { const list = targetsOf(doc, s); return list.length === 1 && list[0] === el; } catch { return false; } };
  for (const s of lastingChoices(el, role, name)) if (alone(s)) return s;
  const css = pathTo(el);
  if (alone(css)) return css;
  const id = attr(el, 'id');
  if (id && alone('#' + CSS.escape(id))) return '#' + CSS.escape(id);
  const tag = dom.tag(el), at = targetsOf(doc, tag).indexOf(el);
  return { selector: tag, nth: Math.max(0, at) };
};
const targetsOf = (doc, s) => { const was = noted.length, list = query(doc, typeof s === 'string' ? 'css' : 'by', asTarget(s), false); noted.length = was; return list; };
// A selector as the request has it, as the page script takes it.
const asTarget = (s) => (typeof s === 'string' ? s : { ...s, ...(s.selector ? { selector: { k: 'css', s: s.selector, a: '' } } : {}), ...(s.within ? { within: { k: typeof s.within === 'string' ? 'css' : 'by', s: asTarget(s.within), a: '' } } : {}) });
const lastingChoices = function* (el, role, name) {
  const test = testIds.map((n) => attr(el, n)).find(Boolean);
  if (test) yield { testId: test };
  const short = name.length <= 120, named = ariaRoles.has(role) && role !== 'none' && role !== 'generic' && name !== '' && short;
  if (named) { yield { role, name }; yield { role, name, exact: true }; }
  const placeholder = attrText(el, 'placeholder');
  if (placeholder) yield { placeholder, exact: true };
  const id = attr(el, 'id');
  if (id && /^[A-Za-z][A-Za-z_-]*$/.test(id)) yield '#' + CSS.escape(id);
  if (named || ariaRoles.has(role) && role !== 'generic') {
    const own = named ? { role, name, exact: true } : { role };
    for (let n = above(el), k = 0; n && isElement(n) && k < 5; n = above(n)) {
      const as = roleOf(n);
      if (!containers.has(as)) continue;
      k++;
      const called = calledIn(n, as);
      if (called && called.length <= 120) yield { ...own, within: { role: as, name: called, exact: true } };
      const words = peer(() => query(n, 'css', 'h1,h2,h3,h4,h5,h6,th,td,strong,b,a', false)).map((h) => tidy(dom.text(h).slice(0, 200))).find((t) => t !== '' && t !== name && t.length <= 80);
      if (words) yield { ...own, within: { role: as, hasText: words } };
    }
  }
  const text = named || is(el, 'input', 'textarea', 'select') ? '' : tidy(dom.text(el).slice(0, 200));
  if (text !== '' && text.length <= 80) yield { text, exact: true };
  if (id && !madeAnew.test(id)) yield '#' + CSS.escape(id);
  const form = attr(el, 'name');
  if (form) yield `${CSS.escape(dom.tag(el))}[name=${inCSS(form)}]`;
  for (const c of classesWritten(el)) yield `${CSS.escape(dom.tag(el))}.${c}`;
};
// An id with a long number, two numbers or other than words is one that a tool makes for
// each load of the page.
const madeAnew = /\d{4}|\d\D+\d|[^\p{L}\p{N}_.-]/u;
const classesWritten = (el) => (attr(el, 'class') ?? '').split(/\s+/).filter((c) => wordsOfClass.test(c) && !passingClass.test(c));
// A class that somebody has written is words in lower case. Those that tools make have
// digits, capital letters or a known beginning, and others say only how the element is now.
const wordsOfClass = /^(?!(?:css|sc|jss|jsx|svelte|ng|emotion|makestyles)-)[a-z]{2,}(?:[-_]{1,2}[a-z]+)*$/;
const passingClass = /(?:^|[-_])(?:active|focus|focused|visible|hover|hovered|selected|checked|open|opened|closed|current|disabled|enabled|hidden|shown|show|invalid|valid|error|dirty|touched|pristine|loading|loaded|empty|first|last|odd|even|in|out|on|off)$|^(?:is|has|was)-/;
// amongSiblings says which of the elements with its tag in one element it is.
const amongSiblings = (n, p) => {
  const tag = CSS.escape(dom.tag(n)), same = p ? [...childrenOf(p)].filter((c) => dom.tag(c) === dom.tag(n)) : [n];
  if (same.length === 1) return tag;
  const only = classesWritten(n).find((c) => same.every((s) => s === n || !dom.matches(s, '.' + c)));
  return only ? `${tag}.${only}` : `${tag}:nth-of-type(${same.indexOf(n) + 1})`;
};
// pathTo is the shortest way of tags, classes and places that leads to an element alone,
// from the nearest id that stays.
const pathTo = (el) => {
  const doc = dom.doc(el), parts = [];
  for (let n = el; n && isElement(n); n = above(n)) {
    const id = attr(n, 'id'), p = dom.parent(n), inRoot = p && dom.type(p) === 11;
    parts.unshift(n !== el && id && !madeAnew.test(id) && one(dom.root(n), '#' + CSS.escape(id)) === n ? '#' + CSS.escape(id) : amongSiblings(n, p));
    const css = parts.join('');
    try { const list = query(doc, 'css', css, false); if (list.length === 1 && list[0] === el) return css; } catch {}
    parts.unshift(inRoot ? ' ' : ' > ');
  }
  return parts.join('').replace(/^ > |^ /, '');
};
