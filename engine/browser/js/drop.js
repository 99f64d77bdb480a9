// Dropping files. Whether they can be let go over an element is what the page says
// to those that are dragged over it.

let dragged = null; // {over: the last event of that, dropped: whether there was a drop}
let undrag = () => {};

// T.drag({t, in}): looks once for the point of an element that files can be dragged
// to, or gives null. What the page says to them is kept from now on.
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
  const drop = (e) => { if (e.isTrusted) { seen.dropped = true; e.preventDefault(); } };
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
