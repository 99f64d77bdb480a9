// The arrival of a page.

// T.load({ms, dom}): waits for the load event, or with dom for DOMContentLoaded. The state
// is "load" then; or, when the time is over, "resources" if only those are missing, and
// "document" if that still arrives and something of it is there; or else a failure.
T.load = async (a) => {
  const entry = () => performance.getEntriesByType('navigation')[0];
  const ended = () => dom.state(document) === 'complete' && (entry()?.loadEventEnd ?? 1) > 0
    || a.dom && dom.state(document) !== 'loading' && (entry()?.domContentLoadedEventEnd ?? 1) > 0;
  const at = (state) => ({ v: { state, status: entry()?.responseStatus || 0 } });
  if (await settle(a) === false) return { n: true };
  if (ended()) return at('load');
  return new Promise((resolve) => {
    const timer = later(() => {
      tick();
      if (gone()) return resolve({ n: true });
      if (dom.state(document) !== 'loading' || entry()?.responseEnd > 0) return resolve(at('resources'));
      resolve(begun() ? at('document') : fail('timeout', 'the document is still arriving'));
    }, Math.max(a.ms, 0));
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
