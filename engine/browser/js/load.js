// The arrival of a page.

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
