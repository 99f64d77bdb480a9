// Where things are: whether an element can be seen, where it lies, and whether
// it stands still.

// The picture that an area is a part of, and the boxes of an element: those of an
// area are where its shape lies in the picture.
const pictureOf = (area) => {
  const name = dom.attribute(dom.closest(area, 'map') || area, 'name');
  return [...all(dom.root(area), 'img[usemap]')].find((i) => dom.attribute(i, 'usemap') === '#' + name);
};
const boxes = (el) => {
  const picture = is(el, 'area') && pictureOf(el);
  if (!picture) { const own = [...dom.rects(el)].filter(sized); return own.length ? own : spilled(el); }
  const r = dom.rect(picture), n = (dom.attribute(el, 'coords') || '').split(',').map(Number), shape = (dom.attribute(el, 'shape') || 'rect').toLowerCase();
  const left = r.left + picture.clientLeft, top = r.top + picture.clientTop;
  if (shape === 'default' || n.length < 3 || n.some(isNaN)) return [r];
  if (shape.startsWith('circ')) return [new DOMRect(left + n[0] - n[2], top + n[1] - n[2], 2 * n[2], 2 * n[2])];
  const xs = n.filter((_, i) => i % 2 === 0), ys = n.filter((_, i) => i % 2 === 1);
  return [new DOMRect(left + Math.min(...xs), top + Math.min(...ys), Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys))];
};

// What an element without a size of its own shows all the same: what is in it
// may float, stand elsewhere, or be all that there is of it.
const spilled = (el, out = []) => {
  if (clips(styleOf(el))) return out;
  for (const n of inside(el)) {
    if (dom.type(n) === 3) {
      const range = dom.range(dom.doc(el));
      range.selectNode(n);
      out.push(...[...range.getClientRects()].filter(sized));
    } else if (isElement(n)) {
      const own = [...dom.rects(n)].filter(sized);
      if (own.length && styleOf(n).visibility === 'visible') out.push(...own);
      else if (!own.length) spilled(n, out);
    }
  }
  return out;
};
// inside is what an element shows in it: of a slot what is put into it, if anything is.
const inside = (el) => { const put = is(el, 'slot') && isHTML(el) ? dom.assigned(el) : noNodes; return put.length ? put : dom.nodes(rootIn(el) || el); };
const noNodes = [];
const clips = (s) => s.display !== 'contents' && s.display !== 'inline' && (s.overflowX !== 'visible' || s.overflowY !== 'visible');

const rectOf = (el) => boxes(el)[0] || dom.rect(el); // of one that is broken over lines the first box is a safe place
const styleOf = (el) => viewOf(el).getComputedStyle(el);

// notShown is hiddenBecause for what needs no size: to be scrolled to, or to have the focus.
const notShown = (el) => hiddenBecause(el, true);
const hiddenBecause = (el, anySize) => {
  if (is(el, 'area') && pictureOf(el)) return hiddenBecause(pictureOf(el));
  // What the browser says is laid out has nothing above it that would hide it.
  if (!dom.visible(el)) for (let n = el, from = null; n && isElement(n); from = n, n = flatAbove(n)) {
    const s = styleOf(n);
    if (s.display === 'none') return n === el ? 'is hidden (display: none)' : `is hidden: ${nameOf(n)} has display: none`;
    if (n === el) continue;
    if (s.contentVisibility === 'hidden') return `is hidden: ${nameOf(n)} has content-visibility: hidden`;
    if (is(n, 'details') && !dom.hasAttribute(n, 'open') && from !== one(n, ':scope > summary') && !dom.visible(from)) return `is hidden: ${nameOf(n)} is closed`;
  }
  const s = styleOf(el);
  if (s.visibility !== 'visible') return `is hidden (visibility: ${s.visibility})`;
  const r = dom.rect(el);
  if (!anySize && !sized(r) && !boxes(el).length) return `is hidden (its size is ${Math.round(r.width)}×${Math.round(r.height)})`;
  // Styles of a frame are not those of what is in it: editors put one together unseen.
  for (let w = viewOf(el); w !== window && w.frameElement; w = w.parent) {
    const v = styleOf(w.frameElement).visibility;
    if (v !== 'visible') return `is hidden: its ${nameOf(w.frameElement)} has visibility: ${v}`;
  }
  return '';
};
const disabledBecause = (el) => {
  const control = is(el, 'button', 'input', 'select', 'textarea', 'option', 'fieldset', 'optgroup') ? el : flatClosest(el, 'button');
  if (control && dom.matches(control, ':disabled')) return 'is disabled';
  const aria = flatClosest(el, '[aria-disabled]');
  if (aria && dom.attribute(aria, 'aria-disabled') === 'true') return 'is disabled (aria-disabled)';
  for (let n = el; n && isElement(n); n = flatAbove(n)) if (dom.hasAttribute(n, 'inert')) return n === el ? 'is inert' : `is inert: ${nameOf(n)} is`;
  return '';
};

// What around an element cuts it off, of which hides says that it hides it. What is
// positioned gets out of what does not hold it.
const cutBy = (el, hides) => {
  const free = (s) => s.position === 'absolute' || s.position === 'fixed';
  let at = styleOf(el);
  for (let n = flatAbove(el); n && isElement(n) && !is(n, 'html', 'body'); n = flatAbove(n)) {
    const s = styleOf(n), holds = s.transform !== 'none' || s.filter !== 'none' || s.position !== 'static' && at.position !== 'fixed';
    if (free(at) && !holds) continue;
    if (clips(s) && hides(n, s, dom.rect(n))) return n;
    at = s;
  }
  return null;
};
// What cuts an element off so that nothing of it is left to be seen.
const cutOffBy = (el) => {
  const list = boxes(el), both = (b, r) => Math.min(Math.min(b.right, r.right) - Math.max(b.left, r.left), Math.min(b.bottom, r.bottom) - Math.max(b.top, r.top));
  return cutBy(el, (around, s, r) => list.every((b) => both(b, r) < 1));
};

// How what lies in the frame of an element is placed in the main page: null
// where it is in that page itself, which is most often so and costs nothing then.
const offset = (el) => {
  if (viewOf(el) === window) return null;
  let m = new DOMMatrix();
  for (let w = viewOf(el); w && w !== window && w.frameElement; w = w.parent) m = contentOf(w.frameElement).multiply(m);
  return m;
};
// How what lies in a frame is placed in the document that the frame's element is in.
const contentOf = (f) => {
  const r = dom.rect(f), cs = styleOf(f), turned = turn(f);
  const content = new DOMMatrix().translate(f.clientLeft + parseFloat(cs.paddingLeft || 0), f.clientTop + parseFloat(cs.paddingTop || 0));
  const box = turned
    ? new DOMMatrix().translate(r.left + r.width / 2, r.top + r.height / 2).multiply(turned).translate(-f.offsetWidth / 2, -f.offsetHeight / 2) // whatever is done to it, its middle stays the middle
    : new DOMMatrix([f.offsetWidth ? r.width / f.offsetWidth : 1, 0, 0, f.offsetHeight ? r.height / f.offsetHeight : 1, r.left, r.top]);
  return box.multiply(content);
};
const mapped = (m, x, y) => { if (!m) return { x, y }; const p = m.transformPoint({ x, y }); return { x: p.x, y: p.y }; };
const mappedRect = (m, r) => {
  if (!m) return r;
  const c = [[r.left, r.top], [r.right, r.top], [r.left, r.bottom], [r.right, r.bottom]].map(([x, y]) => mapped(m, x, y));
  const xs = c.map((p) => p.x), ys = c.map((p) => p.y), x = Math.min(...xs), y = Math.min(...ys);
  return new DOMRect(x, y, Math.max(...xs) - x, Math.max(...ys) - y);
};

// What turns or slants an element, itself and what it is in, or null where
// nothing does: then its box tells all.
const turn = (el) => {
  let m = new DOMMatrix();
  for (let n = el; n && isElement(n); n = flatAbove(n)) {
    const s = styleOf(n);
    if (s.transform === 'none' && s.rotate === 'none' && s.scale === 'none') continue;
    const t = new DOMMatrix(s.transform === 'none' ? '' : s.transform);
    let own = new DOMMatrix();
    if (s.rotate !== 'none') own = own.multiply(new DOMMatrix(`rotate(${s.rotate})`));
    if (s.scale !== 'none') own = own.multiply(new DOMMatrix(`scale(${s.scale.split(' ').slice(0, 2).join(',')})`));
    m = own.multiply(new DOMMatrix([t.a, t.b, t.c, t.d, 0, 0])).multiply(m);
  }
  return Math.abs(m.b) < 1e-6 && Math.abs(m.c) < 1e-6 && m.a > 0 && m.d > 0 ? null : m;
};

// hit is what lies on top at a point, in the flat tree: of a text that comes into a shadow
// root through a slot the browser tells the host, and the slot is meant.
const hit = (doc, x, y) => {
  let el = dom.at(doc, x, y);
  for (let s = el && rootIn(el); s; s = el && rootIn(el)) {
    const inner = dom.atInShadow(s, x, y);
    if (!inner || inner === el) break;
    el = inner;
  }
  return el && rootIn(el) && slotAt(el, x, y) || el;
};
const slotAt = (host, x, y) => {
  for (const n of dom.nodes(host)) {
    if (dom.type(n) !== 3 && dom.type(n) !== 4) continue;
    const slot = slotOf(n);
    if (!slot) continue;
    const range = dom.range(dom.doc(host));
    range.selectNode(n);
    if ([...range.getClientRects()].some((r) => x >= r.left - 1 && x <= r.right + 1 && y >= r.top - 1 && y <= r.bottom + 1)) return slot;
  }
  return null;
};
const within = (el, top) => { for (let n = el; n; n = flatAbove(n)) if (n === top) return true; return false; };
// flatClosest is the nearest element that matches, itself or one around it in the flat tree.
const flatClosest = (el, css) => { for (let n = el; n; n = flatAbove(n)) if (isElement(n) && dom.matches(n, css)) return n; return null; };
const labelOf = (el) => flatClosest(el, 'label');
// wholeOf is what something stands for that is a part of it, such as a text. What people use
// by itself stands for nothing else.
const wholeOf = (el, what) => (is(el, 'a', 'button', 'input', 'select', 'textarea') ? null : flatClosest(el, what));

// What gets the pointer over an element: for an icon that lets it through, the
// control that it is a part of. Null where nothing does that it could stand for.
const receiver = (el) => {
  if (styleOf(el).pointerEvents !== 'none') return el;
  for (let n = flatAbove(el); n && isElement(n); n = flatAbove(n)) {
    if (dom.matches(n, 'a[href],button,label,summary,[role],[onclick],[tabindex]')) return styleOf(n).pointerEvents === 'none' ? null : n;
  }
  return null;
};

// Whether a click at what lies on top reaches the element: itself, something in
// it, or a label that belongs to it.
const reaches = (top, el) => {
  if (!top) return false;
  el = receiver(el) || el;
  if (within(top, el) || within(el, top) && styleOf(el).display === 'contents') return true;
  const l = labelOf(top);
  if (l && l.control === el) return true;
  // A label's control passes its click on, and a decorated control may lie on
  // its own label.
  const mine = labelOf(el);
  return !!(mine && is(el, 'label') && mine.control && within(top, mine.control));
};

// Points worth trying: the middle of each box, then a grid over the largest; or the
// only one that will do, if at says where in the element it is.
const points = (el, at) => {
  const v = viewOf(el), w = v.innerWidth, h = v.innerHeight, out = [];
  if (at) {
    const r = rectOf(el), x = r.left + Math.min(at[0], r.width - 0.5), y = r.top + Math.min(at[1], r.height - 0.5);
    return x >= 0 && y >= 0 && x < w && y < h ? [[x, y]] : [];
  }
  const list = boxes(el).filter(sized);
  const clip = (r) => ({ l: Math.max(r.left, 0), t: Math.max(r.top, 0), r: Math.min(r.right, w), b: Math.min(r.bottom, h) });
  const seen = list.map(clip).filter((c) => c.r - c.l >= 1 && c.b - c.t >= 1);
  for (const c of seen) out.push([(c.l + c.r) / 2, (c.t + c.b) / 2]);
  const big = seen.sort((a, b) => (b.r - b.l) * (b.b - b.t) - (a.r - a.l) * (a.b - a.t))[0];
  if (big) for (const fx of [0.5, 0.2, 0.8]) for (const fy of [0.5, 0.2, 0.8]) {
    if (fx !== 0.5 || fy !== 0.5) out.push([big.l + (big.r - big.l) * fx, big.t + (big.b - big.t) * fy]);
  }
  return out;
};

const inView = (el) => {
  const r = rectOf(el), v = viewOf(el);
  if (r.top < 0 || r.left < 0 || r.bottom > v.innerHeight || r.right > v.innerWidth) return false;
  for (let w = v; w !== window && w.frameElement; w = w.parent) {
    const f = mappedRect(offset(w.frameElement), dom.rect(w.frameElement));
    if (f.left < 0 || f.top < 0 || f.top + r.top > innerHeight || f.left + r.left > innerWidth) return false;
  }
  // A scrolled container may hide it although the window does not.
  for (let n = flatAbove(el); n && isElement(n); n = flatAbove(n)) {
    if (dom.scrollHeight(n) <= dom.clientHeight(n) && dom.scrollWidth(n) <= dom.clientWidth(n)) continue;
    const s = styleOf(n);
    if (s.overflowY === 'visible' && s.overflowX === 'visible') continue;
    const b = dom.rect(n);
    if (r.top < b.top - 1 || r.bottom > b.bottom + 1 || r.left < b.left - 1 || r.right > b.right + 1) return false;
  }
  return true;
};
// Whether an element is above or left of where the page begins, where no scrolling leads.
// Pages measure menus there before they show them. Scrolling for one goes to the page's
// beginning, away from the pointer, which then leaves what has opened the menu.
const unreachable = (el) => {
  const r = rectOf(el), page = dom.scroller(dom.doc(el));
  const higher = r.bottom + (page ? dom.scrollTop(page) : 0) <= 0, before = r.right + (page ? dom.scrollLeft(page) : 0) <= 0;
  if (!higher && !before) return false;
  for (let n = flatAbove(el); n && isElement(n) && n !== page; n = flatAbove(n)) {
    if (dom.scrollHeight(n) <= dom.clientHeight(n) && dom.scrollWidth(n) <= dom.clientWidth(n)) continue;
    const s = styleOf(n);
    if (s.overflowY !== 'visible' || s.overflowX !== 'visible') return false; // it may scroll to it, and backwards too
  }
  return higher || !page || before && originOf(dom.doc(el)).x === 0;
};
// runs is how the text of a page runs, and so where it grows: the browser takes that from the
// body, also where the styles of the root element say something else.
const runs = (doc) => {
  const root = dom.rootElement(doc), inner = isHTML(root) ? one(doc, 'body') : null, confined = (s) => s.contain !== 'none' || s.containerType !== 'normal' || s.contentVisibility !== 'visible';
  let s = styleOf(root);
  if (inner) { const b = styleOf(inner); if (b.display !== 'none' && !confined(s) && !confined(b)) s = b; }
  const mode = s.writingMode, upright = mode !== 'horizontal-tb', back = s.direction === 'rtl';
  return { upright, leftward: upright ? mode.endsWith('-rl') : back, upward: upright && back !== (mode === 'sideways-lr') };
};
// originOf is how far the place that a page begins with is from its left and upper edge: one
// that runs from right to left overflows to the left.
const originOf = (doc) => {
  const e = dom.scroller(doc) || dom.rootElement(doc), r = runs(doc);
  return { x: r.leftward ? dom.scrollWidth(e) - dom.clientWidth(e) : 0, y: r.upward ? dom.scrollHeight(e) - dom.clientHeight(e) : 0 };
};
// boxOf is what is scrolled to for an element: one with display: contents has no box of its
// own, but what is in it or around it has.
const boxOf = (el) => {
  let n = el, out = false; // into it while something is there, and then only outward
  while (n && isElement(n) && styleOf(n).display === 'contents') n = !out && [...inside(n)].find((c) => isElement(c) && (dom.rects(c).length || styleOf(c).display === 'contents' && spilled(c).length)) || (out = true, above(n));
  return n && isElement(n) ? n : el;
};
// intoView scrolls an element into view, and reports whether that has moved it. The page
// hears of it in the next frame: until then it is not at rest.
const intoView = (el) => {
  if (is(el, 'area') && pictureOf(el)) el = pictureOf(el);
  let was = null;
  const to = (n, at) => { was ??= place(el); dom.scrollIntoView(boxOf(n), { block: at, inline: at, behavior: 'instant' }); };
  if (!inView(el) && !unreachable(el)) to(el, 'center');
  for (let w = viewOf(el); w !== window && w.frameElement; w = w.parent) {
    const f = w.frameElement;
    if (!inView(f) && !inView(el)) { to(f, 'center'); to(el, 'nearest'); }
  }
  const moved = was !== null && !same(was, place(el));
  if (moved) stir();
  return moved;
};

// placeIntoView scrolls what is around an element until a place in it can be seen.
const placeIntoView = (el, at) => {
  for (const n of points(el, at).length ? [] : scrollers(el)) {
    if (viewOf(n) !== viewOf(el)) break;
    const page = n === dom.scroller(dom.doc(n)), r = rectOf(el);
    const b = page ? { left: 0, top: 0, right: viewOf(n).innerWidth, bottom: viewOf(n).innerHeight } : dom.rect(n);
    const by = (v, from, to) => (v < from || v >= to ? v - (from + to) / 2 : 0);
    dom.scrollBy(n, { left: by(r.left + at[0], b.left, b.right), top: by(r.top + at[1], b.top, b.bottom), behavior: 'instant' });
  }
};

const place = (el) => { const r = mappedRect(offset(el), rectOf(el)); return [r.left, r.top, r.width, r.height]; };
const same = (a, b) => a.every((v, i) => Math.abs(v - b[i]) < 0.5);

// The animations that run and could move an element.
const animations = (el) => dom.animations(dom.doc(el)).filter((x) => x.playState === 'running' && x.effect?.target && within(el, x.effect.target));

// Waits until an element has stood still over a frame; over more of them where
// an animation runs, which may just begin or be turning back. On a calm page it
// has.
const still = async (el) => {
  if (calm(el)) return true;
  const a = place(el);
  for (let n = animations(el).length ? 4 : 1; n > 0; n--) {
    await frame();
    if (!attached(el) || !same(a, place(el))) return false;
  }
  return true;
};

// slides reports whether an element may come into view by itself, for an animation runs
// that has an end: the window is not to run after it.
const slides = (el) => !calm(el) && !inView(el) && animations(el).some((x) => Number.isFinite(x.effect.getComputedTiming().endTime));

// scrolledTo scrolls to an element. False: it moves. A page that draws what is in view, such
// as a long table, draws it anew once it has heard of the scrolling, and takes no press for
// what it believes before.
const scrolledTo = async (el) => {
  if (slides(el) && !(await still(el))) return false;
  if (intoView(el)) await frame(300); // on a busy machine frames are far apart
  return still(el);
};
