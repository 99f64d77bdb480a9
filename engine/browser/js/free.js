// Getting at what is in the window but under something else: scrolling it free, and
// finding what stands in the place of an element that was drawn anew.

// reach looks for a point of an element where the pointer gets at it: {p: point in
// the main page}, or {cover: what lies on top, at: the first point that was tried}; both
// where its middle is covered and something else of it is not.
// Nothing where no part of it is in view. In a frame of another origin points are the
// frame's own, and whether the page lets one through is seen later: {all: of them}.
const reach = (el, avoid, place) => {
  const doc = dom.doc(el), o = offset(el), list = points(el, place), f = topFrame(el);
  const inFrame = window !== window.parent, all = [];
  let cover = null;
  for (const [x, y] of list) {
    const top = hit(doc, x, y);
    if (reaches(top, el) && !avoid?.(top, el)) {
      const p = mapped(o, x, y);
      if (!f || reachesFrame(f, p.x, p.y)) {
        if (!inFrame) return { p, cover };
        all.push(p);
        continue;
      }
      cover ??= hit(document, p.x, p.y); // something of the main page lies over the frame
    } else cover ??= top;
  }
  if (all.length) return { p: { ...all[0], all }, cover };
  return list.length ? { cover, at: mapped(o, ...list[0]) } : {};
};

// What scrolls around an element, the innermost first: boxes and pages, those that
// its frames are in, too. What is fixed is moved by nothing around it.
const scrollers = (el) => {
  const out = [];
  const more = (n, page) => {
    const down = dom.scrollHeight(n) > dom.clientHeight(n) + 1, across = dom.scrollWidth(n) > dom.clientWidth(n) + 1;
    if (!down && !across || out.includes(n)) return;
    const s = styleOf(n), may = (v) => v === 'auto' || v === 'scroll' || page && v !== 'hidden' && v !== 'clip';
    if (down && may(s.overflowY) || across && may(s.overflowX)) out.push(n);
  };
  for (let n = el; n; n = viewOf(n) === window ? null : viewOf(n).frameElement) {
    let p = n, fixed = false;
    for (; p && isElement(p) && !fixed; p = flatAbove(p)) {
      if (p !== n && p !== dom.scroller(dom.doc(p))) more(p, false);
      fixed = styleOf(p).position === 'fixed';
    }
    const page = dom.scroller(dom.doc(n));
    if (page && !fixed) more(page, true);
  }
  return out;
};

// The bar that something is a part of: the outermost element around it that does not
// hold the element and stays where it is when the page is scrolled.
const barOf = (cover, el) => {
  let bar = cover;
  for (let n = cover; n && isElement(n) && !within(el, n); n = flatAbove(n)) if (['fixed', 'sticky'].includes(styleOf(n).position)) bar = n;
  return mappedRect(offset(bar), dom.rect(bar));
};

// free scrolls an element out from under what covers it: to the middle, the start and
// the end of what is seen, and then by as much as the bar that is there takes, in
// every box that scrolls. False where it is covered everywhere, and nothing is moved
// then; undefined where nothing can be scrolled.
const free = (el, avoid, place) => {
  const boxes = scrollers(el);
  let r = reach(el, avoid, place);
  if (r.p) return true;
  if (!boxes.length || !r.cover) return undefined;
  const all = barOf(r.cover, el);
  if (all.left <= 0 && all.top <= 0 && all.right >= innerWidth && all.bottom >= innerHeight) return undefined; // over the whole window
  const was = boxes.map((b) => [dom.scrollLeft(b), dom.scrollTop(b)]);
  const freed = () => { r = reach(el, avoid, place); return !!r.p; };
  for (const block of ['center', 'start', 'end', 'nearest']) {
    dom.scrollIntoView(el, { block, inline: block, behavior: 'instant' });
    if (freed()) return true;
    if (block === 'nearest') break;
    // Past the bars that are there: what is at the start goes down and what is at the
    // end goes up, and the same across.
    for (const [dx, dy] of block === 'start' ? [[0, 1], [1, 0]] : block === 'end' ? [[0, -1], [-1, 0]] : [[0, 1], [0, -1], [1, 0], [-1, 0]]) {
      for (const b of boxes) {
        for (let i = 0; i < 3 && r.cover; i++) {
          const bar = barOf(r.cover, el), e = mappedRect(offset(el), rectOf(el));
          const by = (d, before, after) => (d > 0 ? before : after) + 4;
          const left = dx && -dx * by(dx, bar.right - e.left, e.right - bar.left), top = dy && -dy * by(dy, bar.bottom - e.top, e.bottom - bar.top);
          const at = [dom.scrollLeft(b), dom.scrollTop(b)];
          dom.scrollBy(b, { left, top, behavior: 'instant' });
          if (dom.scrollLeft(b) === at[0] && dom.scrollTop(b) === at[1]) break;
          if (freed()) return true;
        }
      }
      dom.scrollIntoView(el, { block, inline: block, behavior: 'instant' });
      freed();
    }
  }
  boxes.forEach((b, i) => dom.scrollTo(b, { left: was[i][0], top: was[i][1], behavior: 'instant' }));
  return false;
};

// freeMiddle scrolls an element whose middle is covered out from under that, where what
// covers it does not move along: a corner that is left may be a part of something else, or
// be under it a moment later.
const freeMiddle = (el, avoid, cover) => {
  const r = rectOf(el);
  if (!cover || within(cover, el) || within(el, cover) || r.height > innerHeight * 0.8 || r.width > innerWidth) return false;
  const bar = (() => { for (let n = cover; n && isElement(n) && !within(el, n); n = above(n)) if (['fixed', 'sticky'].includes(styleOf(n).position)) return true; return false; })();
  if (!bar && !scrollers(el).some((b) => !within(cover, b))) return false;
  return free(el, avoid, [r.width / 2, r.height / 2]) === true;
};

// What the pointer was aimed at last, and what has come into the page since then.
let followed = null;
const kindOf = (el) => [dom.tag(el), dom.attribute(el, 'role'), dom.attribute(el, 'type')].join();
const follow = (el) => {
  followed?.watcher.disconnect();
  const fresh = new WeakSet();
  const take = (list) => { for (const m of list) for (const n of m.addedNodes) fresh.add(n); };
  const watcher = new MutationObserver(take);
  for (let n = el; n; n = hostOf(dom.root(n))) watcher.observe(dom.root(n), { subtree: true, childList: true });
  followed = { el, doc: dom.doc(el), box: rectOf(el), kind: kindOf(el), fresh, take, watcher };
};

// standIn is the element under the pointer that stands in the place of the one that
// was aimed at: as large, of the same kind, and put there since. What was there before
// is another, though it may have moved to this place, as in a list that a line was
// taken from.
const standIn = () => {
  const f = followed;
  if (!f || attached(f.el) || !dom.view(f.doc)) return null;
  f.take(f.watcher.takeRecords());
  const isFresh = (n) => { for (; n; n = above(n)) if (f.fresh.has(n)) return true; return false; };
  const b = f.box, area = b.width * b.height;
  for (let n = underPointer(), i = 0; n && isElement(n) && i < 5; n = above(n), i++) {
    if (kindOf(n) !== f.kind || !isFresh(n)) continue;
    const r = rectOf(n), w = Math.min(r.right, b.right) - Math.max(r.left, b.left), h = Math.min(r.bottom, b.bottom) - Math.max(r.top, b.top);
    if (w > 0 && h > 0 && w * h >= 0.6 * Math.max(area, r.width * r.height)) return n;
  }
  return null;
};
const underPointer = () => hit(followed.doc, (followed.box.left + followed.box.right) / 2, (followed.box.top + followed.box.bottom) / 2);

// withAimed is withFirst for what the pointer is aimed at again, since the page has
// changed under it. An element that is gone then has half a second to come back; what
// stands in its place is taken for it, and anything else is told at once.
const withAimed = async (a, f) => {
  if (!a.again || !followed) return withFirst(a, f);
  if (!(await settle(a))) return { n: true };
  const there = () => { const list = search(a.t, a.in, {}, true); return list?.some(isElement) ? { v: true } : undefined; };
  const r = await until(Math.min(a.ms, 500), there);
  if (r?.c !== undefined && r.c !== 'element_gone' || r?.n) return r;
  if (r?.v || attached(followed.el)) return withFirst({ ...a, settle: false }, f);
  if (byReference(a.t)) return r; // nothing else was named
  const el = standIn();
  if (!el) return fail('element_gone', `Element "${a.t.a}" was replaced under the pointer: ` + (dom.view(followed.doc) && underPointer() ? `${nameOf(underPointer())} is there now` : 'nothing is there now'));
  const why = {};
  return (await until(a.ms, () => f(el, why))) ?? late(why.c || 'timeout', `Element "${a.t.a}" ${why.e || 'is not there'} after ${a.of}ms`);
};
