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

// since gives what was asked for in any of these documents since then.
const since = () => {
  const then = counts;
  count();
  const more = (kind) => [...counts].some(([d, n]) => n[kind] > (then.get(d) ?? n)[kind]);
  return { timers: more('timers'), frames: more('frames') };
};

// inSteps waits for begin to call back, for so many steps of 10 ms: a page that
// stands still for long is not hurried for it.
const inSteps = (steps, begin) => new Promise((r) => {
  let n = 0;
  const off = every(() => { if (++n > steps) { off(); r(); } }, 10);
  begin(() => { off(); r(); });
});

// idle returns when nothing else is ready to run: tasks of low priority come after
// all others, messages of schedulers and chains of timers without delay included.
const idle = () => inSteps(5, (r) => scheduler.postTask(r, { priority: 'background' }));

// letRun lets run what is ready, and then what was asked for since the last look,
// and what that asks for: timers of up to 20 ms, frames, idle callbacks and view
// transitions. Twice each, and in 60 ms of the page's time.
const letRun = async () => {
  await idle();
  const left = { timers: 2, frames: 2 }, moved = new WeakSet();
  for (let spent = 0; !gone() && spent < 60;) {
    const more = since(), waits = [];
    const wait = (kind, ms, f) => {
      if (!more[kind] || !left[kind] || spent + ms > 60) return 0;
      left[kind]--;
      waits.push(f());
      return ms;
    };
    const took = Math.max(wait('timers', 20, () => passed(20)), wait('frames', 17, () => inSteps(20, drawn)));
    const change = document.activeViewTransition;
    if (change && !moved.has(change)) {
      moved.add(change);
      waits.push(inSteps(50, (r) => change.updateCallbackDone.then(r, r)));
    }
    if (!waits.length) return;
    await Promise.all(waits);
    await idle();
    spent += took;
  }
};

// settle lets the page settle where it is to, and remembers what was asked for by
// now. It reports whether the page stays. In haste the next look has to see to it.
const settle = async (a) => {
  inLoop(a);
  if (a.settle) await letRun();
  if (!a.haste) count();
  return !gone();
};
