// Going through pagers and endless lists.

// A text in few characters.
const digest = (s) => {
  let a = 0x811c9dc5, b = 0x1000193;
  for (let i = 0; i < s.length; i++) { const c = s.charCodeAt(i); a = Math.imul(a ^ c, 0x01000193); b = Math.imul(b + c, 0x85ebca6b) ^ (b >>> 13); }
  return `${s.length}.${a >>> 0}.${b >>> 0}`;
};
const thisDocument = `${performance.timeOrigin}.${Math.random()}`;
// What tells one page from the next: what it says, shows and leads to. Classes and
// styles change when a button is pressed.
const markOf = (doc) => {
  const at = doc && body(doc), leads = at ? [...all(at, 'img[src],a[href],source[srcset]')].map((n) => dom.attribute(n, 'src') ?? dom.attribute(n, 'href') ?? dom.attribute(n, 'srcset')) : [];
  const roots = at ? shadows(at).map((n) => dom.text(n)) : [];
  return { document: thisDocument, content: at ? digest([doc.location?.href ?? '', dom.text(at), ...leads, ...roots].join('\n')) : '' };
};
const inPlace = (place) => { try { return enter(place, {}); } catch { return null; } };

const markedDisabled = (el) => [el, above(el)].some((n) => n && isElement(n) && /(^|[\s_-])disabled($|\s)/i.test(dom.attribute(n, 'class') ?? ''));

// T.pager({t, in, ms}): whether the first match leads on, and the mark of this page.
T.pager = async (a) => {
  if (!(await arrived(a))) return { n: true };
  try {
    const el = (once(() => search(a.t, a.in, {}, true)) || []).find(isElement);
    const there = !!el && hiddenBecause(el) === '' && disabledBecause(el) === '' && !markedDisabled(el);
    return { v: { there, mark: markOf(inPlace(a.in)) } };
  } catch (e) {
    if (e instanceof Fault && e.reply.c === 'element_gone') return { v: { there: false, mark: markOf(null) } };
    if (e instanceof Fault) return e.reply;
    throw e;
  }
};

// T.turned({before, in, ms}): the mark of the page, as soon as it is another one.
T.turned = async (a) => {
  if (!(await settle(a))) return { n: true };
  const mark = () => markOf(inPlace(a.in));
  if (!a.before) return { v: mark() };
  const r = await until(a.ms, () => {
    const m = mark();
    return m.content && (m.document !== a.before.document || m.content !== a.before.content) ? { v: m } : undefined;
  });
  return r ?? { v: { ...mark(), content: a.before.content } };
};

// T.more({each, i, ms}): how many elements the loop has, as soon as there are more.
// It scrolls whatever the last one lies in to its end, and back a little when that
// has led to nothing: what loads more may have missed it.
T.more = async (a) => {
  if (!(await settle(a))) return { n: true };
  const known = new Set(loop.list), last = loop.list.findLast((el) => attached(el));
  const within = [];
  for (let n = last; n && isElement(n); n = above(n)) if (dom.scrollHeight(n) > dom.clientHeight(n) + 1 && /auto|scroll/.test(styleOf(n).overflowY)) within.push(n);
  const doc = last ? dom.doc(last) : document;
  within.push(dom.scroller(doc) || dom.rootElement(doc));
  let back = now() + 700;
  const r = await until(a.ms, () => {
    const fresh = (search(loop.t, loop.in, {}) || []).filter((el) => isElement(el) && !known.has(el));
    if (fresh.length) return { v: fresh };
    const turn = now() > back;
    if (turn) back = now() + 700;
    for (const n of within) {
      if (turn) dom.scrollBy(n, { top: -dom.clientHeight(n) / 2, behavior: 'instant' });
      else dom.scrollTo(n, { top: dom.scrollHeight(n), behavior: 'instant' });
    }
    return undefined;
  });
  if (r?.n || r?.c) return r.n ? r : { v: loop.list.length };
  if (r) { loop.list = [...loop.list, ...r.v]; loop.count = loop.list.length; }
  return { v: loop.list.length };
};
