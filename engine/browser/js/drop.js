// Dragging and dropping. Whether something can be let go over an element is what the
// page says to what is dragged over it.

let dragged = null; // {over: the last event of that, dropped: whether there was a drop}
let undrag = () => {};

// T.drag({t, in, files}): looks once for the point of an element that something can be
// dragged to, or gives null. What the page says to it is kept from now on.
T.drag = async (a) => {
  if (!(await settle(a))) return { n: true };
  undrag();
  const el = (search(a.t, a.in, {}, true) || []).find(isElement);
  const at = el && (await pointer({ t: a.t, hover: true })(el, {}));
  if (!at || !at.v) return { v: null };
  const view = viewOf(el), seen = dragged = { over: null, dropped: false };
  const over = (e) => { if (e.isTrusted) seen.over = e; };
  // A page that takes files and then forgets to say so would be left for the first
  // of them.
  const drop = (e) => { if (e.isTrusted) { seen.dropped = true; if (a.files) e.preventDefault(); } };
  dom.listen(view, 'dragover', over, true);
  dom.listen(view, 'drop', drop, true);
  undrag = () => { dom.unlisten(view, 'dragover', over, true); dom.unlisten(view, 'drop', drop, true); dragged = null; undrag = () => {}; };
  return at;
};

// T.dragged({end}): whether the page takes what is dragged, and whether it was
// dropped, or is gone since; with end that is all.
T.dragged = (a) => {
  const v = dragged ? { taken: !!dragged.over?.defaultPrevented, dropped: dragged.dropped } : { gone: true };
  if (a.end) undrag();
  return { v };
};

let lifted = null; // the last dragstart event
let unlift = () => {};

// watchLift keeps whether the browser drags something of a window from now on.
const watchLift = (view) => {
  unlift();
  lifted = null;
  const on = (e) => { if (e.isTrusted) lifted = e; };
  dom.listen(view, 'dragstart', on, true);
  unlift = () => { dom.unlisten(view, 'dragstart', on, true); unlift = () => {}; };
};

// heldBy is what is taken of a control: the thumb of a slider whose own is hidden in it.
const heldBy = (el) => (is(el, 'input') && hiddenAway(el) && !(intoView(el), reach(el).p) ? standsFor(el, el) : el);

// T.lift({t, in, ms, at, again}): the point where an element is taken, as T.point gives
// it. Whether the browser drags it from then on is kept.
T.lift = (a) => {
  const look = pointer(a);
  return withAimed(a, async (el, why) => {
    const r = await look(heldBy(el), why);
    if (!r?.v || r.v.covered || r.v.aside) return r;
    watchLift(viewOf(el));
    return r;
  });
};

// T.lifted(): whether the browser drags what was taken. Else the page sees the pointer
// move, and drags by itself.
T.lifted = () => { unlift(); return { v: !!lifted && !lifted.defaultPrevented }; };
