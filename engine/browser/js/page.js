// The page as a whole.

// T.load({ms}): waits for the load event. {v: 'load'}, or what is missing when
// the time is over: {v: 'resources'}, or a failure while the document itself
// still arrives.
T.load = async (a) => {
  const ended = () => dom.state(document) === 'complete' && (performance.getEntriesByType('navigation')[0]?.loadEventEnd ?? 1) > 0;
  const status = () => performance.getEntriesByType('navigation')[0]?.responseStatus || 0;
  if (await settle(a) === false) return { n: true };
  if (ended()) return { v: { state: 'load', status: status() } };
  return new Promise((resolve) => {
    const timer = later(() => {
      if (gone()) return resolve({ n: true });
      const entry = performance.getEntriesByType('navigation')[0];
      const arrived = dom.state(document) !== 'loading' || (entry && entry.responseEnd > 0);
      resolve(arrived ? { v: { state: 'resources', status: status() } } : { c: 'timeout', e: 'the document is still arriving' });
    }, Math.max(a.ms, 0));
    const finish = () => {
      timer();
      // A redirect that the page's own scripts began is still part of opening it.
      later(() => resolve(gone() ? { n: true } : { v: { state: 'load', status: status() } }), 0);
    };
    if (dom.state(document) === 'complete') finish(); // between readiness and the event
    else {
      // A listener of the page's own can keep the event from all others.
      const tick = every(() => { if (ended()) { tick(); finish(); } }, 50);
      dom.listen(window, 'load', () => { tick(); finish(); }, { once: true });
    }
  });
};

// T.where(): the page's address and title.
T.where = () => ({ v: { url: location.href, title: document.title } });

// T.resting({}): how the page has come to rest: {still} if it can put nothing more
// into its document, since no script has run and no frame is there, or {ms}, for how
// long it is loaded and nothing has changed in it. {} while it loads.
T.resting = async (a) => {
  if (!(await settle(a))) return { n: true };
  if (!loaded()) return { v: {} };
  const ever = asked(document);
  const still = !ever.timers && !ever.frames && !query(document, 'css', 'script,iframe,frame,object,embed,fencedframe', true).length;
  return { v: { still, ms: Math.round(now() - Math.max(stirred, performance.getEntriesByType('navigation')[0]?.loadEventEnd ?? 0)) } };
};

// T.late({}): settled, in a document where scripts of the task may have run before
// this one: what they have moved counts as just moved, and whatever the page has
// ever asked for as asked for by them.
T.late = (a) => { stir(); counts.set(document, { timers: 0, frames: 0 }); return T.settled(a); };

// T.storage({room}): what the document can read of its site's storage, as far as it
// goes into so many characters of JSON. left counts what does not. T.store({local,
// session}) puts entries back.
const entries = (s) => { try { return Object.keys(s()).map((k) => [k, s().getItem(k)]); } catch { return []; } };
T.storage = ({ room }) => {
  const v = { origin: location.origin, url: location.href, local: entries(() => localStorage), session: entries(() => sessionStorage), size: 0, left: 0 };
  for (const k of ['local', 'session']) {
    const n = JSON.stringify(v[k]).length;
    if (v.size + n <= room) v.size += n;
    else { v[k] = []; v.left++; }
  }
  return { v };
};
T.store = (a) => {
  for (const [k, v] of a.local || []) localStorage.setItem(k, v);
  for (const [k, v] of a.session || []) sessionStorage.setItem(k, v);
  return done;
};
