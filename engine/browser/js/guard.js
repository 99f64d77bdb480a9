// Guarding a click. Between the look for a point and the press of the button the
// page may move, and what is under the pointer then must not get a click that
// was meant for another.

let unguard = () => {};

// guard lets the next a.times presses, with all that follows from them, pass only
// where the first reaches the element, or the one that has taken its place in a
// page that was drawn anew. Others are kept from the page. Which it was is told.
const guard = (el, a) => {
  unguard();
  const views = [window];
  for (let w = viewOf(el); w && w !== window && w.frameElement; w = w.parent) views.push(w);
  const meant = () => {
    if (attached(el)) return el;
    try { return (search(a.t, a.in, {}, true) || []).find(isElement); } catch { return undefined; }
  };
  let missed; // unknown until the button goes down
  let left = a.times || 1;
  const until = now() + 5000;
  const on = (e) => {
    if (!e.isTrusted) return;
    if (now() > until) return off(); // the input never came, and this is another
    if (missed === undefined) {
      if (e.type !== 'pointerdown' && e.type !== 'mousedown') return;
      const to = meant();
      missed = !to || !reaches(e.composedPath()[0], to);
      globalThis[T.tell](missed ? 'missed' : 'hit');
    }
    if (missed) { e.preventDefault(); e.stopImmediatePropagation(); }
    if (e.type === 'mouseup' && --left === 0) missed ? later(off, 0) : off(); // its click comes in the same task
  };
  const types = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick'];
  const off = () => { for (const w of views) for (const t of types) dom.unlisten(w, t, on, true); };
  for (const w of views) for (const t of types) dom.listen(w, t, on, true);
  unguard = off;
};
