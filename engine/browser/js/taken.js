// What came of typing: whether a field has taken the text. The page script listens
// from the first key to the last, so the answer comes along with the keys and no
// further call is needed where all went well.

let typing = null; // the text that is being typed: see attend
let unattend = () => {};

const squash = (s) => s.replace(/[\s\u200b\ufeff]+/g, '');

// holds reports whether a field that has got a value holds the text that was wanted.
// What a field never keeps does not count: blanks around an address, and how a
// number is written. Of an editor it is enough that the text is in it.
const holds = (el, got, want, text) => {
  if (got === want) return true;
  if (isPart(el)) return got !== '' && Number(got) === Number(text);
  if (isEditable(el)) return squash(got) === squash(want) || squash(text) !== '' && squash(got).includes(squash(text));
  const kind = is(el, 'input') ? dom.inputType(el) : '';
  if (kind === 'number') return got !== '' && Number(got) === Number(want);
  return (kind === 'email' || kind === 'url') && got === want.trim();
};

// byParts reports whether a long text may go in by parts where there are keys for few of its
// characters: into what holds it itself, not into what gives its keys on.
const byParts = (el, a) => a.few < a.keys && !handsOn(el) && !oneByOne(el) && (isEditable(el) || is(el, 'textarea') || is(el, 'input') && typed.includes(dom.inputType(el)));

// attend follows the keys of a text into a field: a.keys of them for the text, or a.few, and
// others before. Keys that have lost their field, since the page has drawn it anew or
// has given the focus to something else, are kept from the page; what they were to
// write is typed into the field once more. A document that goes under them says what it
// has had.
const attend = (el, a, others = 0) => {
  unattend();
  const before = textIn(el), lines = a.text.split('\n'), view = viewOf(el), few = byParts(el, a);
  const w = typing = { id: a.id, el, t: a.t, in: a.in, each: a.each, i: a.i, text: a.text, before, last: before, base: a.clear || isPart(el) ? '' : before, start: a.clear || isPart(el) ? '' : before, lines, line: 0, keys: few ? a.few : a.keys, left: (few ? a.few : a.keys) + others, into: [], moved: false, enters: 0, lost: 0, fell: 0, seen: 0, kept: a.tries > 0, odd: null, blind: handsOn(el), chars: [...a.text], pieces: [], part: 0 };
  if (w.left === 0) return false;
  w.all = w.left;
  w.into.push(el);
  const until = now() + 60000, heard = new Set(), beside = [];
  const on = (e) => {
    if (!e.isTrusted) return;
    if (now() > until) return unattend();
    follows(w, e);
  };
  const hear = (type) => { if (!heard.has(type)) { heard.add(type); dom.listen(view, type, on, true); } };
  // Each event that is listened to is a cost for each character. Keys that go down
  // matter at the end of a line, and from when the field is gone.
  const left = new MutationObserver(() => { if (!attached(el)) { left.disconnect(); hear('keydown'); } });
  for (let root = dom.root(el); root; root = hostOf(root) && dom.root(hostOf(root))) left.observe(root, { childList: true, subtree: true });
  if (lines.length > 1 || w.blind) hear('keydown');
  hear('keyup');
  if (few) hear('beforeinput');
  if (activeIn(el) !== el && !isEditable(el)) hear('keydown'); // the focus has been taken already
  w.hear = () => hear('keydown');
  // Where a document of another frame has the focus, keys that go there are kept from it, too.
  const there = () => {
    const v = focusedView(view);
    if (!v || v === view || beside.includes(v)) return;
    beside.push(v);
    for (const type of ['keydown', 'keyup']) dom.listen(v, type, on, true);
  };
  const away = (e) => {
    if (!e.isTrusted) return;
    if (e.target !== view) hear('keydown');
    there();
    queueMicrotask(there);
  };
  dom.listen(view, 'blur', away, true);
  const tells = (how) => { w.had = has(w); globalThis[T.tell](`${how} ${w.id} ${w.had}`); };
  const leaves = (e) => { if (e.isTrusted && !e.hashChange && e.downloadRequest === null && !e.destination.sameDocument) { w.leaves = e; tells('leaves'); } };
  const parts = () => { // what comes after the page has begun to leave, it has not had
    if (w.leaves && w.had !== 'whole' && !w.leaves.defaultPrevented && (view !== window || gone())) globalThis[T.tell](`gone ${w.id} ${w.had}`);
    else tells('gone');
  };
  dom.listen(view, 'pagehide', parts);
  if (view.navigation) dom.listen(view.navigation, 'navigate', leaves);
  unattend = () => {
    left.disconnect();
    dom.unlisten(view, 'blur', away, true);
    dom.unlisten(view, 'pagehide', parts);
    if (view.navigation) dom.unlisten(view.navigation, 'navigate', leaves);
    for (const type of heard) dom.unlisten(view, type, on, true);
    for (const v of beside) for (const type of ['keydown', 'keyup']) try { dom.unlisten(v, type, on, true); } catch { /* it has gone */ }
    unattend = () => {};
  };
  return true;
};

// focusedView is the window of this site that has the focus, beside or below another one:
// null where it is one of another site.
const focusedView = (v) => {
  try {
    while (v.parent !== v && v.frameElement) v = v.parent;
    for (;;) {
      let a = dom.active(v.document);
      for (let root = a && rootIn(a); root && dom.activeInShadow(root); root = rootIn(a)) a = dom.activeInShadow(root);
      if (!a || !is(a, 'iframe', 'frame')) return v;
      v = frameDocument(a).defaultView;
    }
  } catch { return null; }
};

// has says how much of a text a page has had that leaves: the whole of it, or all up to
// the end of a line by which a field is sent.
const has = (w) => {
  if (w.odd !== null || w.lost) return 'short';
  if (taken(w) || w.lines.at(-1) === '' && w.enters > 0 && w.enters === w.lines.length - 1) return 'whole';
  return w.enters > 0 && is(w.el, 'input') ? 'sent' : 'short';
};

// filledUp reports whether a field takes no more, so that who types goes on in the next one:
// boxes for one character each, and groups of so many.
const filledUp = (el) => oneByOne(el) || is(el, 'input') && el.maxLength > 0 && dom.inputValue(el).length >= el.maxLength;

// robbed reports whether a key goes to something else than the field that it was meant for,
// and which has not handed it on. Keys before the first that has reached the field are
// brought back once: then the field wants them elsewhere.
const robbed = (w, to) => {
  const el = w.el, a = activeIn(el);
  if (a && (a === el || within(a, el) || isEditable(el) && isEditable(a) && within(el, a))) return false;
  if (w.blind) return !(a && handsOn(a)); // an editor may have several of them for its keys
  if (w.enters && is(el, 'input') || filledUp(el)) return false; // what was sent, or is full, leads elsewhere
  if (w.seen === 0) return !w.kept;
  const has = textIn(el);
  return has !== w.before && has !== '' && (is(to, 'select') || textIn(to) !== has);
};

// follows sees one event of a key, and with the last of them tells what has come of the
// text.
const follows = (w, e) => {
  const el = w.el, there = attached(el), part = e.type === 'beforeinput', down = e.type === 'keydown' || part, to = e.target === el ? el : e.composedPath()[0];
  if (part && !(e.data?.length > 1)) return; // a character, after its key
  const astray = w.lost > 0 || w.fell > 0 || (there ? down && robbed(w, to) : nowhere(dom.doc(el)));
  if (astray) {
    e.preventDefault();
    e.stopImmediatePropagation();
    if (down) w.lost++;
  }
  if (e.key === 'Enter' && there && !w.lost) { if (down) w.enters++; ended(w, e.type); }
  if (part) return;
  if (down) {
    if (w.blind && there && !astray && closed(el)) w.fell++;
    return;
  }
  if (there && !astray) { // whoever hands the focus on has done so by now
    w.seen++;
    if (!w.into.includes(to) && w.into.length < longest) w.into.push(to);
    const has = textIn(el);
    takesOut(w, has);
    w.moved ||= has !== w.before;
    if (!w.blind && has === w.last && !filledUp(el) && (nowhere(dom.doc(el)) && to !== el || closed(el) || hiddenFor(el) !== '')) { w.fell++; w.hear(); }
    w.last = has;
  }
  if (--w.left > 0) return;
  unattend();
  globalThis[T.tell]((taken(w) ? 'typed ' : 'doubt ') + w.id);
};

// closed reports whether a field takes no keys for now. Pages do that while they look at what
// they have got.
const closed = (el) => el.readOnly === true && !isEditable(el) || disabledBecause(el) !== '';

// attendKey follows one key that writes a character into a field: whether that has
// arrived, or the page has used the key for something else.
const attendKey = (el, a) => {
  const kind = is(el, 'input') ? dom.inputType(el) : '';
  if (!(typed.includes(kind) || is(el, 'textarea') || isEditable(el)) || handsOn(el)) return false;
  unattend();
  const view = viewOf(el), seen = [], until = now() + 5000;
  const on = (e) => {
    if (!e.isTrusted) return;
    if (now() > until) return unattend();
    seen.push(e);
    if (e.type !== 'keyup') return;
    unattend();
    const used = seen.some((x) => x.type === 'input' || x.defaultPrevented) || !attached(el) || activeIn(el) !== el && !isEditable(el);
    globalThis[T.tell]((used ? 'typed ' : 'doubt ') + a.id);
  };
  const types = ['keydown', 'keypress', 'beforeinput', 'input', 'keyup'];
  for (const t of types) dom.listen(view, t, on, true);
  unattend = () => { for (const t of types) dom.unlisten(view, t, on, true); unattend = () => {}; };
  return true;
};
const longest = 64; // how many fields one text may go into
const nowhere = (doc) => { const a = dom.active(doc); return !a || a === dom.rootElement(doc) || is(a, 'body') && !isEditable(a); };

// A line has ended. What a page does with it is its own affair: it may send it and
// empty the field. So each line is looked at when it ends, and what is there then is
// what the next is added to.
const ended = (w, type) => {
  if (w.blind) return;
  const want = w.base + w.lines[w.line];
  if (type === 'keydown') {
    const got = textIn(w.el);
    if (!holds(w.el, got, want, w.lines[w.line])) w.odd ??= got;
  } else if (type === 'keyup' && w.line < w.lines.length - 1) {
    const got = textIn(w.el);
    w.base = is(w.el, 'input') || got === '' ? got : want + '\n';
    w.line++;
  }
};

// taken reports whether all of a text has arrived. Boxes for one character and fields that
// are full hand the focus on, and have it together.
const taken = (w) => {
  if (w.odd !== null || w.lost) return false;
  const el = w.el;
  if (w.blind) return w.left <= 0 && w.fell === 0; // it does not say what it holds
  if (!attached(el)) return false;
  if (holds(el, textIn(el), w.base + w.lines[w.line], w.lines[w.line])) return true;
  return w.into.length > 1 && textIn(el) !== '' && w.into.every((f, i) => attached(f) && (oneByOne(f) || (i === w.into.length - 1 ? textIn(f) !== undefined : filledUp(f)))) && w.into.map(textIn).join('') === w.text;
};

// restOf is what is left of a text of which a field holds the beginning, or as much of it as
// there were keys that were lost.
const restOf = (w, got) => {
  const all = w.start + w.text, chars = [...w.text], lost = w.lost + w.fell;
  if (w.lines.length > 1 && is(w.el, 'input')) return '';
  if (all.startsWith(got)) return all.slice(got.length);
  return lost && chars.length === w.keys && lost < chars.length ? chars.slice(-lost).join('') : '';
};

const quoted = (el, s) => (is(el, 'input') && dom.inputType(el) === 'password' ? '***' : JSON.stringify(upTo(s, 200)));

// unfocused reports whether keys go past a field of a frame: the browser moves the focus
// to the main frame whenever a frame of the page comes into a process of its own. That
// is seen from here where the main frame is in this process.
const unfocused = (el) => {
  const v = viewOf(el), d = dom.doc(el), a = dom.active(d);
  if (a && is(a, 'iframe', 'frame') && !within(el, a)) return true; // a frame of its own document has it
  return v.parent !== v && (nowhere(d) || !d.hasFocus());
};

// outcomeUnseen says what has become of a text for an editor that keeps it to itself: how many
// of its keys have reached it.
const outcomeUnseen = (w, name, a) => {
  const lost = w.lost + w.fell, chars = [...w.text];
  if (w.left > 0 && w.had !== 'whole' && !a.last) return { v: { anew: true } };
  const anew = attached(w.el) ? undefined : [`"${name}" was drawn anew while it was typed into, and does not say whether it has kept what came before`];
  if (lost === 0) return { v: {}, w: anew };
  const rest = lost < w.keys && chars.length === w.keys ? chars.slice(-lost).join('') : '';
  if (!a.last) return rest ? { v: { rest }, w: anew } : { v: { again: true } };
  const to = dom.active(dom.doc(w.el));
  return fail('invalid_value', `Element "${name}" took only ${Math.max(0, w.keys - lost)} of ${w.keys} keys: ` + (to && !is(to, 'body') ? `the focus goes to ${nameOf(to)}` : 'it loses the focus'));
};

// outcome says what has become of a text that was not simply taken.
const outcome = (w, name, secret, a = {}) => {
  if (w.blind) return outcomeUnseen(w, name, a);
  let el = w.el;
  if (!attached(el)) {
    inLoop(w);
    try { el = (search(w.t, w.in, {}, true) || []).find(isElement); } catch { el = undefined; }
    el &&= fieldIn(el);
    if (!el && w.left > 0 && !a.last && w.had !== 'whole') return { v: { anew: true } };
    if (!el) return w.lost ? fail('element_gone', `Element "${name}" went away while it was typed into: ${w.lost} of the keys were left`) : { v: {} };
    const got = textIn(el), want = w.base + w.lines[w.line];
    if (holds(el, got, want, w.lines[w.line])) return { v: {} };
    const more = got === '' ? leftOfPieces(w, el, got) : '';
    if (more) return { v: { rest: more } };
    // What came before the first key that was lost is there, whatever the page has made
    // of it, or nothing is: then the whole text comes again.
    const chars = [...w.text];
    if (w.lost && (w.lost > w.keys || got === w.before)) return { v: { again: true } };
    if (w.lost && w.lines.length === 1 && chars.length === w.keys) return { v: { rest: chars.slice(-w.lost).join('') } };
    if (!w.lost && w.left > 0 && !a.last) { // its document was written anew under the keys
      return { v: w.had === 'whole' ? {} : { anew: true } };
    }
  }
  const got = textIn(el), elsewhere = w.into.filter((f) => f !== el && attached(f) && textIn(f));
  const lost = !!a.id && (w.lost > 0 || w.fell > 0 || !elsewhere.length && (a.unfocused || unfocused(el)));
  if (lost && !a.last) {
    const more = leftOfPieces(w, el, got);
    if (more) return { v: { rest: more } };
    if (got === w.before) return { v: { again: true } };
    const rest = isPart(el) ? '' : restOf(w, got);
    if (rest !== '') return { v: rest.length < w.text.length ? { rest } : { again: true } };
  }
  const show = (s) => (secret ? '***' : quoted(el, s));
  const went = elsewhere.length ? `; ${nameOf(elsewhere[0])} holds ${show(textIn(elsewhere[0]))}` : '';
  const note = (s) => ({ v: {}, w: [s + went] });
  const full = el.maxLength >= 0 && got.length >= el.maxLength ? `: it takes at most ${el.maxLength} character${el.maxLength === 1 ? '' : 's'}` : '';
  if (got === '' && !elsewhere.length && tookAll(w)) {
    if (standsInPage(w, el)) return { v: {} };
    if (w.pieces.length === 1 && attached(w.el)) return note(`"${name}" is empty again: the page emptied it when the text was whole`);
  }
  if (!w.moved && got === w.before && !w.odd && w.line === 0) {
    if (isEditable(el) && squash(w.text) === '') return squash(got) === '' ? { v: {} } : note(`"${name}" still holds ${show(got)}`);
    if (elsewhere.length) return note(`"${name}" took nothing of the text: the focus went to ${nameOf(elsewhere[0])}`);
    return fail('invalid_value', `Element "${name}" took nothing of the text: ` + (lost ? 'it loses the focus before the keys arrive' : got === '' ? 'it is still empty' : `it still holds ${show(got)}`) + full);
  }
  return note(`"${name}" ${w.odd === null ? 'now holds' : 'held'} ${show(w.odd ?? got)}` + (full || ': the page has made that of the text'));
};

// T.filled({id, t, unfocused, last}): what has become of the text that was typed last: {}
// where all is well; {rest: text} or {again: true} where that, or all of it, is to be typed
// into a field that was drawn anew or has lost the focus, and {anew: true} where the
// document of the field was replaced; none of them the last time. A page gets three frames
// to put it right.
T.filled = async (a) => {
  const w = typing;
  if (!w || w.id !== a.id) return { v: { anew: true } }; // another document
  unattend();
  // A frame that was on its way to another document while keys were to come goes there now.
  const goes = () => w.leaves && w.had !== 'whole' && attached(w.el) && viewOf(w.el) !== window && !w.leaves.defaultPrevented && !viewOf(w.el).navigation.transition;
  for (const until = now() + 2000; goes() && now() < until;) await frame();
  for (let i = 0; i < 3 && !taken(w) && !w.odd && !((w.lost || w.fell) && attached(w.el)); i++) {
    if (gone()) break;
    await frame();
  }
  if (gone() && w.leaves && w.had !== 'whole') return { v: { anew: true } };
  if (taken(w)) return { v: {} };
  if (gone()) return { v: w.left > 0 && w.had !== 'whole' ? { anew: true } : {} };
  return outcome(w, a.t.a, false, a);
};

// came says what has become of a value that was put into a field at one moment.
const came = async (a, el, before, want, secret) => {
  const w = typing = { el, t: a.t, in: a.in, each: a.each, i: a.i, text: secret ? a.text : want, before, base: '', start: '', lines: [want], line: 0, into: [], moved: false, enters: 0, lost: 0, odd: null, chars: [], pieces: [], part: 0 };
  await undefined;
  for (let i = 0; i < 3 && !taken(w); i++) {
    if (gone()) return { v: { set: true } };
    await frame();
  }
  if (taken(w) || gone()) return { v: { set: true } };
  w.moved = attached(el) && textIn(el) !== before;
  const r = outcome(w, a.t.a, secret);
  return r.v ? { ...r, v: { set: true } } : r;
};
