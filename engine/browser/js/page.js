// The page as a whole.

// T.resting({}): how the page has come to rest: {still} if it can put nothing more
// into its document, since no script has run and no frame is there, or {ms}, for how
// long it is loaded and nothing has changed in it. {} while it loads.
T.resting = async (a) => {
  if (!(await settle(a))) return { n: true };
  if (!loaded()) return { v: {} };
  const ever = asked(document);
  const still = !ever.timers && !ever.frames && !query(document, 'css', 'script,iframe,frame,object,embed,fencedframe', true).length;
  return { v: { still, ms: Math.round(now() - Math.max(stirred, entry()?.loadEventEnd ?? 0)) } };
};

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
