// The arrival of a page.

const entry = () => performance.getEntriesByType('navigation')[0];
const titleOf = get('Document', 'title'), typeOf = get('Document', 'contentType');

// shownPage is what a person and a server call the page: its address and title, and the
// status that it came with.
const shownPage = () => ({ url: upTo(location.href, 8192), title: upTo(titleOf(document), 1000), status: entry()?.responseStatus || 0 });
T.here = () => ({ v: shownPage() });

// ledElsewhere tells whether the document was asked for at another address. What follows a #
// is not sent, and a page may change it.
const ledElsewhere = (from) => {
  const sent = (s) => { try { const u = new URL(s); u.hash = ''; return u.href; } catch { return s; } };
  return sent(from) !== sent(entry()?.name || location.href);
};

// timing is when what has come of the page had come, in milliseconds from the start of its
// navigation.
const timing = () => {
  const e = entry(), v = {};
  for (const [name, at] of [['responseStart', e?.responseStart], ['domContentLoaded', e?.domContentLoadedEventEnd], ['load', e?.loadEventEnd]]) if (at > 0) v[name] = Math.round(at);
  return v;
};

// T.load({ms, dom, from}): waits for the load event, or with dom for DOMContentLoaded. The
// state is "load" then; or, when the time is over, "resources" if only those are missing, and
// "document" if that still arrives and something of it is there; or else a failure. from is
// the address that was asked for, where that may lead to another.
T.load = async (a) => {
  const ended = () => dom.state(document) === 'complete' && (entry()?.loadEventEnd ?? 1) > 0
    || a.dom && dom.state(document) !== 'loading' && (entry()?.domContentLoadedEventEnd ?? 1) > 0;
  const at = (state) => ({ v: { ...shownPage(), state, type: upTo(typeOf(document), 200), redirected: entry()?.redirectCount > 0 || a.from !== undefined && ledElsewhere(a.from), timing: timing() } });
  if (await settle(a) === false) return { n: true };
  if (ended()) return at('load');
  return new Promise((resolve) => {
    const timer = later(() => {
      tick();
      if (gone()) return resolve({ n: true });
      vain.add(document);
      if (dom.state(document) !== 'loading' || entry()?.responseEnd > 0) return resolve(at('resources'));
      resolve(begun() ? at('document') : fail('timeout', 'the document is still arriving'));
    }, Math.max(a.brief && vain.has(document) ? Math.min(a.ms, 300) : a.ms, 0));
    const finish = () => {
      tick();
      timer();
      // A redirect that the page's own scripts began is still part of opening it.
      later(() => resolve(gone() ? { n: true } : at('load')), 0);
    };
    // A listener of the page's own can keep the event from all others. Between readiness
    // and the event there is nothing to wait for.
    const tick = every(() => { if (ended()) finish(); }, 50);
    if (dom.state(document) === 'complete') finish();
    else dom.listen(window, a.dom ? 'DOMContentLoaded' : 'load', finish, { once: true });
  });
};
// begun tells whether there is something in a document that has not arrived as a whole.
const begun = () => {
  const root = dom.rootElement(document);
  if (!root) return false;
  return (isHTML(root) ? one(document, 'body,frameset') : root)?.firstChild != null;
};
