// What a page draws in place of a control that nobody sees, for a person to click and to
// drag.

// unseen reports whether people cannot see an element that is laid out: it is
// transparent, or the one pixel that is left for programs that read pages aloud.
const unseen = (el) => {
  const r = dom.rect(el);
  return styleOf(el).opacity === '0' || r.width <= 1 || r.height <= 1;
};
// What is drawn so that nobody sees it: transparent, or cut down to a dot for screen
// readers.
const invisible = (el, s) => {
  if (s.opacity === '0') return true;
  if (s.position !== 'absolute' && s.position !== 'fixed') return false;
  const r = dom.rect(el);
  return r.width <= 1 && r.height <= 1 && clips(s) || /^inset\((50|100)%/.test(s.clipPath) || /^rect\((0px|1px),? (0px|1px),? (0px|1px),? (0px|1px)\)$/.test(s.clip);
};
// hiddenAway reports whether a control cannot be seen, or what is right around it: the page
// draws something else in its place.
const hiddenAway = (el) => {
  if (unseen(el) || invisible(el, styleOf(el))) return true;
  const n = above(el);
  return !!n && isElement(n) && invisible(n, styleOf(n));
};
const isSeen = (n) => hiddenBecause(n) === '' && !hiddenAway(n);

// What stands for a control that nobody can see: the nearest element around it that can
// be seen and holds no other, or else the one that was named.
const standsFor = (c, el) => {
  let n = above(c);
  for (let i = 0; i < 2 && n && isElement(n) && query(n, 'css', 'input:not([type=hidden]),button,select,textarea').length === 1; i++, n = above(n)) if (isSeen(n)) return n;
  return isSeen(el) ? el : c;
};

// clickedFor is what is clicked of a text field that cannot be hit itself: the box that the
// page draws around it, which gives it the focus.
const clickedFor = (el) => {
  if (!is(el, 'input', 'textarea') || is(el, 'input') && !typed.includes(dom.inputType(el))) return el;
  if (hiddenBecause(el) !== '' || !hiddenAway(el) && styleOf(el).pointerEvents !== 'none') return el;
  intoView(el);
  if (reach(el).p) return el;
  const r = rectOf(el), there = hit(dom.doc(el), r.left + r.width / 2, r.top + r.height / 2), box = standsFor(el, el);
  return there && within(there, box) ? box : el;
};
// leads reports whether a click at something in such a box does something else.
const leads = (top) => !!flatClosest(top, 'a[href],button,summary,[role=button],[role=link]');
