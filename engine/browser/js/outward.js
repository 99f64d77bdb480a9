// The way of a point out of a frame of another origin. Only this document knows where
// the frame lies in it, and what lies over that.

// T.outward(frame, {points, box, guard}): where points of the frame, or a box, lie in
// the main page, as far as they can be reached: {points, box}, {covered: by what} if
// none of them can, or {e: why the frame cannot be used now}.
T.outward = async (f, a) => {
  if (!attached(f)) return JSON.stringify({ n: true });
  const name = `its ${nameOf(f)}`;
  const hidden = hiddenBecause(f);
  if (hidden) return JSON.stringify({ e: `${name} ${hidden}` });
  intoView(f);
  const box = a.box && new DOMRect(a.box.x, a.box.y, a.box.width, a.box.height);
  const first = a.points?.[0] ?? { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  if (!inReachOf(f, first)) scrollTo(f, first, 0.5);
  if (!(await still(f))) return JSON.stringify(attached(f) ? { e: `${name} is still moving` } : { n: true });
  const m = placed(f);
  if (box) {
    const r = mappedRect(m, box);
    return JSON.stringify({ box: { x: r.left, y: r.top, width: r.width, height: r.height } });
  }
  let points = a.points.filter((p) => inReachOf(f, p));
  for (const part of [0.5, 0.25, 0.75, 0.1, 0.9]) {
    if (points.length) break;
    scrollTo(f, first, part);
    points = a.points.filter((p) => inReachOf(f, p));
  }
  if (!points.length) {
    const p = mapped(placed(f), first.x, first.y), top = hit(document, p.x, p.y);
    return JSON.stringify({ points: [p], covered: top ? nameOf(top) : 'something outside of the page' });
  }
  if (a.guard) guardFrame(f);
  return JSON.stringify({ points: points.map((p) => mapped(placed(f), p.x, p.y)) });
};

// T.keysInto(frame, {ms}): waits until the browser sends keys into the frame. It learns
// from the frame's process that the frame has the focus, and then tells the process of
// this document. It does not learn it where another frame of this process has the focus:
// that is taken from it, and what is in the frame is to ask for the focus again.
T.keysInto = async (f, { ms }) => {
  const begun = now();
  for (; activeIn(f) !== f && attached(f) && now() < begun + ms; await new Promise((r) => later(r, 2))) {
    const v = focusedView(viewOf(f));
    if (now() < begun + ms / 4 || !v || v === viewOf(f) || !v.frameElement) continue;
    dom.blur(v.frameElement);
    break;
  }
  return JSON.stringify({ v: activeIn(f) === f });
};

// placed is how what is in a frame lies in the main page.
const placed = (f) => { const m = contentOf(f), o = offset(f); return o ? o.multiply(m) : m; };

// inReachOf reports whether the pointer gets into the frame at a point of it.
const inReachOf = (f, p) => {
  const own = mapped(contentOf(f), p.x, p.y), top = hit(dom.doc(f), own.x, own.y);
  if (!top || top !== f && !within(f, top) || top !== f && !isFrame(top)) return false;
  const outer = topFrame(f), at = mapped(placed(f), p.x, p.y);
  return at.x >= 0 && at.y >= 0 && at.x < innerWidth && at.y < innerHeight && (!outer || reachesFrame(outer, at.x, at.y));
};

// scrollTo brings a point of a frame into view, this far down in whatever scrolls.
const scrollTo = (f, p, part) => {
  for (const b of scrollers(f)) {
    const page = b === dom.scroller(dom.doc(b)), v = viewOf(b), o = offset(b);
    const r = page ? new DOMRect(0, 0, v.innerWidth, v.innerHeight) : dom.rect(b), seen = mappedRect(o, r), at = mapped(placed(f), p.x, p.y);
    dom.scrollBy(b, { left: at.x - seen.left - seen.width * part, top: at.y - seen.top - seen.height * part, behavior: 'instant' });
  }
};

// T.keysGo(): into which frame of another origin keys go, by its number: {frame}, or zero.
// What can have a closed shadow root is opened first.
T.keysGo = () => {
  for (let el = dom.active(document); el;) {
    if (holdsFrame(el)) {
      const d = isFrame(el) && frameDocument(el);
      if (!d) return goesInto(el);
      el = dom.active(d);
      continue;
    }
    const shadow = rootIn(el);
    if (!shadow) return mayHaveRoot(el) ? { x: { closed: true } } : intoNone;
    el = dom.activeInShadow(shadow);
  }
  return intoNone;
};

// T.pointerGoes({point, lift}): the same for the pointer, with the point in the frame. With
// lift, whether the browser drags what is there is kept, for T.lifted.
T.pointerGoes = ({ point, lift }) => {
  for (let doc = document, { x, y } = point; ;) {
    const el = hit(doc, x, y);
    if (lift) watchLift(viewOf(el || doc));
    if (!el) return intoNone;
    if (!holdsFrame(el)) return mayHaveRoot(el) ? { x: { closed: true } } : intoNone;
    ({ x, y } = mapped(contentOf(el).inverse(), x, y));
    const d = isFrame(el) && frameDocument(el);
    if (!d) return goesInto(el, { x, y });
    doc = d;
  }
};
const intoNone = { v: { frame: 0 } };
const holdsFrame = (el) => is(el, 'iframe', 'frame', 'object', 'embed', 'fencedframe');
const goesInto = (el, point) => ({ v: { frame: numberOf(el), other: !is(el, 'iframe', 'frame'), point } });
const mayHaveRoot = (el) => !opened && hostTag.test(dom.tag(el)) && !rootIn(el) && !askedAbout.has(el);
