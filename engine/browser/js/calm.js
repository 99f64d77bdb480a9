// Whether the page is at rest. This is looked after from the beginning, for whoever
// asks later.

// When something has last happened that may move things: a change of the
// document, scrolling, a picture or a font that came, another size. What builds
// the page until it is loaded does not count, for it has come to rest then.
// Frames are counted where something has happened, for on a busy machine they
// are far apart.
let stirred = -Infinity, restless = 0;
const rest = () => { if (--restless > 0) drawn(rest); };
const loaded = () => dom.state(document) === 'complete';
const stir = () => {
  if (!loaded()) return;
  if (restless === 0) drawn(rest);
  stirred = now();
  restless = 2;
};
new MutationObserver(stir).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
for (const e of ['scroll', 'load', 'toggle', 'transitionrun', 'animationstart']) dom.listen(document, e, stir, { capture: true, passive: true });
dom.listen(globalThis, 'resize', stir);
dom.listen(document.fonts, 'loadingdone', stir);

// A page is calm when it is loaded, nothing of that was in the last two frames
// and nothing is animated. What lies in frames and shadow roots is not seen from
// here.
const calm = (el) => loaded() && dom.root(el) === document && restless === 0 && now() - stirred > 34 && !dom.animations(document).some((a) => a.playState === 'running');
