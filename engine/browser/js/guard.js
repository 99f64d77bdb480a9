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
    if (byReference(a.t)) { // only what is called now as it was when it was named
      try { const list = search(a.t, a.in, {}, true) || []; return list.includes(el) ? el : list.find(isElement); } catch { return null; }
    }
    if (attached(el)) return el;
    let again;
    try { again = (search(a.t, a.in, {}, true) || []).find(isElement); } catch {}
    return again || standIn();
  };
  let pressed; // what the button went down on
  let missed; // unknown until the button goes down
  let left = a.times || 1;
  const until = now() + 5000;
  const on = (e) => {
    if (!e.isTrusted) return;
    if (now() > until) return off(); // the input never came, and this is another
    if (missed === undefined) {
      if (e.type !== 'pointerdown' && e.type !== 'mousedown') return; // of a finger the first is a pointerdown, too
      const to = meant();
      missed = !to || !reaches(innermostOf(e), to);
      if (missed) globalThis[T.tell]('missed');
    }
    if (missed) { e.preventDefault(); e.stopImmediatePropagation(); }
    const up = e.type === 'mouseup' || e.type === 'pointerup' && e.pointerType === 'touch';
    if (up && !missed && left === 1) {
      // Where what was pressed is gone, the click event goes neither to that nor to what
      // has taken its place.
      const now = !attached(el) && pressed && !attached(pressed) && meant();
      globalThis[T.tell](now && reaches(innermostOf(e), now) ? 'unclicked ' + nameOf(now) : 'hit');
    }
    if (e.type === 'mousedown' || e.type === 'pointerdown') pressed = innermostOf(e);
    if (up && --left === 0) missed ? later(off, 0) : off(); // its click comes in the same task
  };
  const types = ['pointerdown', 'touchstart', 'mousedown', 'contextmenu', 'pointerup', 'touchend', 'mouseup', 'click', 'auxclick', 'dblclick'];
  const how = { capture: true, passive: false }; // else a touch could not be kept from the page
  const off = () => {
    for (const w of views) for (const t of types) dom.unlisten(w, t, on, how);
    if (!missed) followed?.watcher.disconnect();
  };
  for (const w of views) for (const t of types) dom.listen(w, t, on, how);
  unguard = off;
};

// innermostOf is what a press goes to. The path of an event ends at a closed shadow root.
const innermostOf = (e) => {
  const to = e.composedPath()[0];
  return to && isElement(to) && rootIn(to) ? hit(dom.doc(to), e.clientX, e.clientY) || to : to;
};

// guardFrame is guard for a press that is meant for a frame of another origin. It never
// comes by here, so whatever does has missed.
const guardFrame = (f) => {
  unguard();
  const views = [window];
  for (let w = viewOf(f); w && w !== window && w.frameElement; w = w.parent) views.push(w);
  const until = now() + 5000;
  let missed = false;
  const on = (e) => {
    if (!e.isTrusted) return;
    if (now() > until) return off(); // the input never came, and this is another
    if (!missed && e.type !== 'pointerdown' && e.type !== 'mousedown') return;
    if (!missed) globalThis[T.tell]('missed');
    missed = true;
    e.preventDefault();
    e.stopImmediatePropagation();
    if (e.type === 'mouseup') later(off, 0); // its click comes in the same task
  };
  const types = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick'];
  const off = () => { for (const w of views) for (const t of types) dom.unlisten(w, t, on, true); };
  for (const w of views) for (const t of types) dom.listen(w, t, on, true);
  unguard = off;
};

// T.unguard(): no press is on its way any more.
T.unguard = () => { unguard(); unguard = () => {}; return done; };
