// Acting: what has to be true of an element before input goes to it, and where
// the input must go.

// T.point({t, in, ms, at, force, hover, guard, again, aside}): the point where input for
// the element must go, in the main page's coordinates: a place of the element, from its
// corner, if at names one. After a second under another
// element, with force, the reply says so: {covered: name}. An element that keeps
// running away from the pointer asks for that to be moved: {aside: true}. See
// withAimed for again.
T.point = (a) => {
  const look = pointer(a);
  return withAimed(a, (el, why) => {
    const what = a.guard ? clickedFor(el) : el;
    return look(what, why, what === el ? undefined : leads);
  });
};

// pointer looks for a point of an element, again and again until there is one.
const pointer = (a) => {
  const covered = lasts(), moving = lasts(), hovered = new Set();
  let halved = false, tried = 0, scrolled = ''; // how often it was scrolled, and that in words for the error
  return async (el, why, avoid) => {
    if (!attached(el)) return undefined;
    const closed = is(el, 'option', 'optgroup') && closedList(el);
    if (closed) return fail('invalid_value', `Element "${a.t.a}" is in the closed list of ${nameOf(closed)}: use selectOption`);
    why.e = hiddenBecause(el);
    if (why.e) return undefined;
    if (!a.hover) { why.e = disabledBecause(el); if (why.e) return undefined; }
    if (!(await scrolledTo(el))) {
      if (gone()) return { n: true };
      why.e = 'is still moving';
      // One that is now under the pointer and now not flees from it. One that is always
      // under it may move for another reason, and has longer to come to rest.
      if (attached(el)) hovered.add(dom.matches(el, ':hover'));
      if (hovered.has(true) && moving() > (hovered.size === 2 ? Math.min(1000, a.of / 3) : a.of / 3) && !a.aside) return { v: { aside: true, ...away(el) } };
      return undefined;
    }
    if (a.at) {
      const b = rectOf(el);
      if (a.at[0] > b.width || a.at[1] > b.height) return fail('invalid_value', `Element "${a.t.a}" is ${Math.round(b.width)}×${Math.round(b.height)} pixels: [${a.at.join(', ')}] lies outside of it`);
      placeIntoView(el, a.at);
    }
    const r = reach(el, avoid, a.at);
    if (!r.p && !r.at) { why.e = 'lies outside of what can be scrolled to'; return undefined; }
    if (r.p && !a.at && r.cover && !halved) {
      halved = true;
      if (freeMiddle(el, avoid, r.cover)) { await frame(); why.e = 'is still moving'; return (await retry(el, a, avoid)) || undefined; }
    }
    if (r.p) return aimed(el, a, r.p);
    const cut = cutOffBy(el);
    if (cut) { why.e = `is hidden: ${nameOf(cut)} cuts it off`; return undefined; }
    const long = covered() > 1000;
    if (tried === 0 || long && tried === 1) {
      tried++;
      const f = free(el, avoid, a.at);
      if (f) { await frame(); why.e = 'is still moving'; return (await retry(el, a, avoid)) || undefined; }
      scrolled = f === false ? ', wherever it is scrolled to' : '';
    }
    const name = (r.cover ? nameOf(r.cover) : 'something outside of the page') + (receiver(el) ? '' : ', for its own pointer-events is none') + scrolled;
    why.c = 'element_covered';
    why.e = 'is covered by ' + name;
    if (a.force && long) return { v: { covered: name, ...r.at } };
    return undefined;
  };
};
// retry takes the point of an element that was just scrolled free, unless the page has
// answered the scrolling by covering it again.
const retry = async (el, a, avoid) => {
  if (!attached(el) || !(await still(el))) return undefined;
  const r = reach(el, avoid, a.at);
  if (!r.p) return undefined;
  return aimed(el, a, r.p);
};
const aimed = (el, a, p) => {
  if (a.guard) guard(el, a);
  if (a.guard || a.follow) follow(el);
  if (!a.haste) count();
  return { v: p };
};
// A place for the pointer far from an element.
const away = (el) => {
  const r = mappedRect(offset(el), rectOf(el));
  return { x: (r.left + r.right) / 2 < innerWidth / 2 ? innerWidth - 2 : 1, y: (r.top + r.bottom) / 2 < innerHeight / 2 ? innerHeight - 2 : 1 };
};
// The select that an option is in, if its list is one that the browser itself
// draws when it is opened: nothing in it can be pointed at.
const closedList = (el) => {
  const s = dom.closest(el, 'select');
  return s && !s.multiple && !(s.size > 1) && styleOf(s).appearance !== 'base-select' ? s : null;
};
const topFrame = (el) => { let f = null; for (let w = viewOf(el); w !== window && w.frameElement; w = w.parent) f = w.frameElement; return f; };
const reachesFrame = (f, x, y) => { const top = hit(document, x, y); return !!top && (top === f || within(top, f) || within(f, top) && isFrame(top)); };

// T.focus({t, in, ms, key, id}): the element that keys go to. Where the key writes a
// character into it, what comes of that is told: {watched: true}.
T.focus = (a) => withFirst(a, (el, why) => {
  if (!attached(el)) return undefined;
  why.e = notShown(el) || disabledBecause(el);
  if (why.e) return undefined;
  intoView(el);
  const target = is(el, 'label') && el.control ? el.control : el;
  if (activeIn(target) === target || focusOn(target)) return { v: { watched: !!a.key && attendKey(target, a) } };
  if (!attached(el)) return undefined; // drawn anew when it got the focus
  const to = dom.active(dom.doc(el)); // keys go to the document then, as they would for a person
  return { v: {}, w: [`"${a.t.a}" does not take the focus: the key goes to ${nameOf(to || body(dom.doc(el)))}`] };
});

// T.show(function, frame): what a call of a function in the frame needs here.
T.show = (fn, f) => { if (f && touching.has(fn)) intoView(f); };
const touching = new Set(['point', 'fill', 'focus', 'check', 'select', 'fileInput', 'drag', 'box', 'clickByScript', 'lift', 'selectText']);
