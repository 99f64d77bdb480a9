// The page as it is seen: scrolling, sizes, frames.

// T.scroll({x, y}): scrolls the page, or the largest scrollable area of a page
// that does not scroll itself.
T.scroll = async (a) => {
  if (!(await settle(a))) return { n: true };
  const why = {};
  // A page that still arrives may not be long enough yet.
  const since = now(), arriving = (d) => {
    if (dom.state(d) !== 'loading' || vain.has(d)) return false;
    if (now() - since < a.ms / 2) return true;
    vain.add(d);
    return false;
  };
  const doc = await until(a.ms, () => {
    delete why.e;
    const d = enter(a.in, why);
    return d && !arriving(d) ? { v: d } : undefined;
  });
  if (!doc) return late('element_not_found', why.e + `, within ${a.of}ms`);
  return doc.v ? scrollIn(doc.v, a) : doc;
};
const scrollIn = async (doc, a) => {
  const top = dom.scroller(doc) || dom.rootElement(doc);
  const axis = a.x ? ['scrollLeft', 'scrollWidth', 'clientWidth', 'overflowX'] : ['scrollTop', 'scrollHeight', 'clientHeight', 'overflowY'];
  const room = (el) => dom[axis[1]](el) - dom[axis[2]](el);
  let el = top;
  if (room(top) < 1 || dom.view(doc).getComputedStyle(top)[axis[3]] === 'hidden' && dom[axis[0]](top) === 0) {
    let best = 0;
    for (const c of query(doc, 'css', '*', false)) {
      if (room(c) < 1) continue;
      const s = styleOf(c);
      if (s[axis[3]] !== 'auto' && s[axis[3]] !== 'scroll') continue;
      const r = dom.rect(c), area = r.width * r.height;
      if (area > best) { best = area; el = c; }
    }
  }
  // What watches the page for things that come into view must have seen it as it
  // is: a person is not faster than that.
  if (!calm(el)) await frame();
  dom.scrollBy(el, { left: a.x || 0, top: a.y || 0, behavior: 'instant' });
  await frame(); // what listens to scrolling hears of it in the next frame
  return done;
};

// T.box({t, in, ms}): scrolls an element into view and gives its place in the
// main page, from its left and upper edge, for a picture; of a frame of another origin in
// that frame.
T.box = (a) => withFirst(a, async (el, why) => {
  if (!attached(el)) return undefined;
  why.e = hiddenBecause(el);
  if (why.e) return undefined;
  intoView(el);
  if (!(await still(el))) { if (gone()) return { n: true }; why.e = 'is still moving'; return undefined; }
  const own = dom.rect(el), r = mappedRect(offset(el), sized(own) ? own : rectOf(el));
  if (window !== window.parent) return { v: { x: r.left, y: r.top, width: r.width, height: r.height } };
  const seen = scrolledBy();
  return { v: { x: r.left + seen.x, y: r.top + seen.y, width: r.width, height: r.height } };
});

// T.scrolled(): how far what is seen is from the left and upper edge of the page.
T.scrolled = () => ({ v: scrolledBy() });
const scrolledBy = () => { const o = originOf(document); return { x: scrollX + o.x, y: scrollY + o.y }; };

// T.measure(): the size of the whole page.
T.measure = () => {
  const e = dom.rootElement(document), b = body(document);
  return { v: { width: Math.max(dom.scrollWidth(e), dom.clientWidth(e)), height: Math.max(dom.scrollHeight(e), dom.clientHeight(e), b === e ? 0 : dom.scrollHeight(b)), view: innerHeight, ratio: devicePixelRatio } };
};

// T.unroll({ms, max}): scrolls from the page's beginning to its end, and then across it if
// it is much larger than the view there, so that what loads late does, waits for pictures
// that are seen to have arrived, and goes back to where the page was. Gives the size of the
// page then.
T.unroll = async (a) => {
  const until = now() + a.ms, e = dom.scroller(document) || dom.rootElement(document), arrives = arrivals();
  const x = dom.scrollLeft(e), y = dom.scrollTop(e), way = runs(document);
  const across = { size: () => dom.scrollWidth(e), view: innerWidth, to: (n) => ({ left: way.leftward ? -n : n, top: 0 }) };
  const down = { size: () => dom.scrollHeight(e), view: innerHeight, to: (n) => ({ left: 0, top: way.upward ? -n : n }) };
  const [along, other] = way.upright ? [across, down] : [down, across];
  await unrollAlong(e, along, until, a.max);
  if (other.size() > other.view * 1.5) await unrollAlong(e, other, until, a.max);
  await arrives(until);
  dom.scrollTo(e, { left: x, top: y, behavior: 'instant' });
  await frame();
  return T.measure();
};
const unrollAlong = async (e, { size, view, to }, until, max) => {
  let at = 0, grown = 0;
  while (now() < until && at < max) {
    dom.scrollTo(e, { ...to(at), behavior: 'instant' });
    await frame();
    if (at + view >= size()) {
      // At the end: what is asked for here may make the page longer.
      const h = size();
      for (let i = 0; i < 10 && size() === h && now() < until; i++) await passed(20);
      if (size() === h || ++grown > 200) break;
      continue;
    }
    at = Math.min(at + view, size() - view);
  }
};

// arrivals looks at what a page has before it is scrolled, and gives what waits for what the
// scrolling has begun: pictures, backgrounds, what the page puts into itself, and animations
// that have an end. Pictures have all the time there is, the rest a bounded one, for it may
// never come.
const mostLate = 3000, mostUnrest = 600, mostStyled = 5000;
const arrivals = () => {
  const came = new Set(), look = new PerformanceObserver((list) => { for (const e of list.getEntries()) came.add(e.name); });
  look.observe({ type: 'resource', buffered: true });
  const trees = () => [document, ...frames(document).map(([, d]) => d)].flatMap((d) => [d, ...shadows(d)]);
  const backgrounds = () => {
    const out = new Set();
    let left = mostStyled;
    for (const n of trees()) for (const el of all(n, '*')) {
      if (left-- <= 0) return out;
      for (const part of [null, '::before', '::after']) {
        const s = viewOf(el)?.getComputedStyle(el, part), from = s ? `${s.backgroundImage} ${s.maskImage} ${s.borderImageSource}` : '';
        if (from.includes('url(')) for (const m of from.matchAll(/url\("(https?:[^"]+)"\)/g)) out.add(m[1]);
      }
    }
    return out;
  };
  const before = backgrounds(), began = now();
  const pictures = () => trees().some((n) => [...all(n, 'img')].some((i) => !i.complete && i.currentSrc !== ''));
  const ends = (a) => a.playState === 'running' && a.timeline && !('source' in a.timeline) && Number.isFinite(a.effect?.getComputedTiming().endTime);
  const moving = () => trees().some((n) => n.getAnimations().some(ends));
  return async (until) => {
    const at = now(), bounded = Math.min(until, at + mostLate), unrest = Math.min(until, at + mostUnrest);
    const wait = async (end, is) => { let waited = false; while (now() < end && is()) { waited = true; await passed(20); } return waited; };
    for (let again = true; again && now() < until;) {
      again = await wait(until, pictures);
      again = await wait(bounded, moving) || again;
      const late = [...backgrounds()].filter((u) => !before.has(u));
      again = await wait(bounded, () => late.some((u) => !came.has(u))) || again;
      again = await wait(unrest, () => stirred > began && now() - stirred < 100) || again;
    }
    look.disconnect();
    await frame(); // what has come is drawn
  };
};

// T.frame({in, ms}): waits until the frame that a place leads to has its document.
// T.element() gives the frame then. One that still arrives is taken after a
// second: it may wait for something that never comes.
T.frame = async (a) => {
  if (!(await settle(a))) return { n: true };
  const why = {}, since = now();
  const r = await until(a.ms, () => {
    delete why.e;
    const doc = enter(a.in, why);
    if (!doc) return undefined;
    const f = doc === document ? null : dom.view(doc).frameElement;
    if (f && begins(f, doc) || dom.state(doc) === 'loading' && now() - since < 1000) {
      why.e = `Iframe not found: ${f ? `"${a.in[a.in.length - 1].a}"` : upTo(location.href, 200)} is still loading`;
      return undefined;
    }
    chosenElement = f;
    return done;
  });
  return r ?? late('element_not_found', why.e + `, within ${a.of}ms`);
};
