// Settling: letting the page do what input made it begin, counts it is looked at.
//
// A window numbers its timers one after the other, and its document the frames and
// idle callbacks, whichever world asks for them. So the next number tells how many
// were asked for: nothing of the page's is touched, and a page that asked for
// nothing is not waited for.

const nothing = () => {};
const asked = (doc) => {
  const w = dom.view(doc), mine = doc === document ? ours : (inFrames.has(doc) ? inFrames : inFrames.set(doc, { timers: 0, frames: 0 })).get(doc);
  const timer = w.setTimeout(nothing), frame = w.requestAnimationFrame(nothing);
  w.clearTimeout(timer);
  w.cancelAnimationFrame(frame);
  return { timers: timer - ++mine.timers, frames: frame - ++mine.frames };
};
const inFrames = new WeakMap(); // what this script has asked the windows of frames for

// What was asked for when the page was last looked at, by document.
let counts = new Map();
const count = () => {
  const docs = new Set([document, ...counts.keys()]);
  counts = new Map();
  for (const d of docs) if (dom.view(d)) counts.set(d, asked(d));
};
// A document of a frame counts from when it is first entered.
const entered = (doc) => { if (!counts.has(doc)) counts.set(doc, asked(doc)); };

let letRun = () => lacking();

// settle lets the page settle where it is to, and remembers what was asked for by
// now. It reports whether the page stays. In haste the next look has to see to it.
const settle = async (a) => {
  inLoop(a);
  if (a.settle) await letRun();
  if (!a.haste) count();
  return !gone();
};
