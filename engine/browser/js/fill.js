// Filling: which field a text goes to, what has to be marked in it before the
// first key, and how fast the keys may come.

// Fields whose value is chosen, not typed.
const chosen = ['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'];
const typed = ['text', 'search', 'url', 'tel', 'email', 'password', 'number'];

const setValue = (el, text) => (is(el, 'textarea') ? dom.setAreaValue : dom.setInputValue)(el, text);
const changed = (el) => {
  const v = viewOf(el);
  dom.dispatch(el, new v.Event('input', { bubbles: true, composed: true }));
  dom.dispatch(el, new v.Event('change', { bubbles: true }));
};

const activeIn = (el) => { const r = dom.root(el); return dom.type(r) === 9 ? dom.active(r) : hostOf(r) ? dom.activeInShadow(r) : null; };
const focusOn = (el) => {
  for (let w = viewOf(el); w !== window && w.frameElement; w = w.parent) dom.focus(w.frameElement, { preventScroll: true });
  if (isHTML(el)) dom.focus(el, { preventScroll: true });
  else if (dom.namespace(el) === 'http://www.w3.org/2000/svg') dom.focusInDrawing(el, { preventScroll: true });
  const a = activeIn(el);
  return a === el || !!a && within(a, el) || !!a && within(el, a) && isEditable(a) && isEditable(el);
};

// takesKeys reports whether an element that is no field has an EditContext: what
// is typed into it goes to an editor that keeps the text itself.
const takesKeys = (el) => isHTML(el) && !!el.editContext;

// hiddenFor is hiddenBecause for keys: where an EditContext is, nothing need be
// seen, only around it.
const hiddenFor = (el) => hiddenBecause(takesKeys(el) && !is(el, 'html') ? above(el) : el);

// The field that typing goes to: the element itself, the control of a label, also of
// one around it, or the one editable thing inside.
const fieldIn = (el) => {
  const host = rootIn(el) && isEditable(el) && fieldsIn(el).length === 1; // a field of the page's own in an edited text
  if (is(el, 'input', 'textarea', 'select') || isEditable(el) && !host || takesKeys(el)) return el;
  if (is(el, 'label') && el.control) return el.control;
  const own = query(el, 'css', '[tabindex]').filter(takesKeys);
  if (own.length === 1) return own[0];
  const inner = fieldsIn(el);
  return inner.length ? (inner.length === 1 ? inner[0] : null) : wholeOf(el, 'label')?.control ?? null;
};
// Some pages keep fields for themselves that readers are not to find: to measure a text, or
// to send a value.
const fieldsIn = (el) => {
  const list = query(el, 'css', 'input:not([type=hidden]),textarea,[contenteditable=""],[contenteditable=true],[contenteditable=plaintext-only]');
  const open = list.length > 1 ? list.filter((n) => dom.closest(n, '[aria-hidden=true]') === null) : list;
  return open.length ? open : list;
};

// undressed reports whether style sheets of an element's document are on their
// way.
const undressed = (el) => {
  const view = viewOf(el);
  return [...query(el.ownerDocument, 'css', 'link[rel~=stylesheet][href]')].some((l) => !l.sheet && !l.disabled && !view.performance.getEntriesByName(l.href).length);
};

// expectant gives a question to be asked of a field each time it is looked at:
// is something still to be put into it? What makes an editor of an element often
// waits for its style sheets before it puts in what was stored, and what was typed
// before is lost. One that never comes is waited for a second, at most.
const expectant = (ms) => {
  const until = now() + Math.min(1000, ms / 2);
  let bare = false, dressed = 0; // since when
  return (el) => {
    if (!isEditable(el) || now() > until || dom.text(el).trim() !== '') return false;
    if (undressed(el)) { bare = true; dressed = 0; return true; }
    if (bare) dressed ||= now();
    return bare && now() - dressed < 60; // who waits is told of them a little later
  };
};

// handsOn reports whether a field only hands its keys on to an editor that keeps
// and draws the text itself: nobody sees what is in such a text area, which is a
// part of the text or nothing.
const handsOn = (el) => takesKeys(el) || is(el, 'textarea') && (unseen(el) || cutOffBy(el) !== null);

// catchesKeys reports whether a text area takes the keys of what is around it without a
// size of its own, as in a terminal.
const catchesKeys = (el) => is(el, 'textarea') && dom.rects(el).length > 0 && !sized(dom.rect(el));

// writesCode reports whether an element is an editor that may put in more than is typed:
// brackets that are closed, and lines that begin where the last one did.
const writesCode = (el) => handsOn(el) && !catchesKeys(el) || isEditable(el) && dom.attribute(el, 'spellcheck') === 'false' && styleOf(el).whiteSpace.startsWith('pre');
let wholeIn = null; // the editor that a text was put into as a whole

// T.stands({text, part}): whether an editor holds a text, of which all is selected, or with
// part ends with it: what it would copy says so. {known: false} where it says nothing.
T.stands = (a) => {
  const el = wholeIn;
  if (!el || !attached(el)) return { v: { known: false } };
  const v = viewOf(el), data = new v.DataTransfer();
  dom.dispatch(el, new v.ClipboardEvent('copy', { clipboardData: data, bubbles: true, cancelable: true, composed: true }));
  const plain = (s) => s.replace(/\r\n?/g, '\n').replaceAll('\u00a0', ' ').replace(/\n+$/, '');
  const got = data.getData('text/plain') || (is(el, 'textarea') ? dom.areaValue(el).slice(el.selectionStart, el.selectionEnd) : '');
  if (got === '') return { v: { known: false } };
  const stood = plain(got), want = plain(a.text);
  return { v: { known: true, same: a.part ? stood.endsWith(want) : stood === want, got: JSON.stringify(upTo(got, 200)) } };
};

// T.pasteText({text}): tells the editor of a text that is pasted.
T.pasteText = (a) => {
  const el = wholeIn;
  if (!el || !attached(el)) return done;
  const v = viewOf(el), data = new v.DataTransfer();
  data.setData('text/plain', a.text);
  dom.dispatch(el, new v.ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true, composed: true }));
  return done;
};

// oneByOne reports whether a field is a box for one character of a code. Pages
// move the focus to the next box a moment after the character, so the next one
// must not be typed before that.
const oneByOne = (el) => {
  if (!is(el, 'input')) return false;
  const r = dom.rect(el);
  return el.maxLength === 1 || r.width < 1.6 * r.height;
};

// T.drawn(): waits until the page has drawn what it makes of a character, and what
// it puts off until then is done.
T.drawn = async () => { await frame(1000); await frame(1000); return done; };

const textIn = (el) => (isEditable(el) ? dom.text(el) : valueOf(el));

// marked reports whether all of a field is marked, or else whether the caret is
// behind it: undefined for fields for numbers and addresses, which do not say.
const marked = (el, all) => {
  const n = textIn(el).length;
  if (!isEditable(el)) return el.selectionStart === null ? undefined : el.selectionEnd === n && el.selectionStart === (all ? 0 : n);
  const sel = viewOf(el).getSelection();
  if (!sel.focusNode || !within(sel.focusNode, el)) return false;
  const rest = el.ownerDocument.createRange();
  rest.selectNodeContents(el);
  if (!all) rest.setStart(sel.focusNode, sel.focusOffset);
  return all ? n === 0 || sel.toString().trim() === rest.toString().trim() : sel.isCollapsed && rest.toString() === '';
};

// inPart reports whether a part of a field is marked: one that was empty and shows
// a pattern once it has the focus marks where to begin, and each next part itself. Where
// the page has put in a time or a date, that is a value like others.
const inPart = (el) => el.selectionStart !== null && el.selectionEnd > el.selectionStart && !marked(el, true) && !/[1-9]/.test(textIn(el));

// isPart reports whether something editable is one part of a date or the like, which
// takes a number. The first digit begins a new one, and in one that is empty, which
// shows a letter or two, the key that erases goes back to the part before.
const isPart = (el) => isEditable(el) && dom.attribute(el, 'role') === 'spinbutton';

// hasPattern reports whether a field promises to show one, such as MM/DD/YYYY.
const hasPattern = (el) => el.placeholder !== '' && /(\p{L})\1[^\p{L}]+(\p{L})\2|__/u.test(el.placeholder);

// mark marks all of a field, since what is marked is replaced by the first
// character typed, or else puts the caret behind it. Who is there already stays:
// editors forget what was chosen for the next character when the caret is moved.
// False where the caret cannot be put.
const mark = (el, all) => {
  if (marked(el, all)) return true;
  if (isEditable(el)) {
    const sel = viewOf(el).getSelection();
    sel.selectAllChildren(el);
    if (!all) sel.collapseToEnd();
  } else if (all) {
    el.select();
  } else {
    const n = valueOf(el).length;
    try { el.setSelectionRange(n, n); } catch { return false; }
  }
  return true;
};

// told ends when a page has heard that something else is marked: editors go by
// what they heard last, not by what is marked.
const told = (el) => new Promise((resolve) => {
  const d = el.ownerDocument;
  const end = () => { off(); dom.unlisten(d, 'selectionchange', end); resolve(); };
  const off = later(end, 200);
  dom.listen(d, 'selectionchange', end);
});

// remark marks a field again right before the first key, when the page has put
// something else into it meanwhile or has moved the caret, as editors do once
// they have the focus.
let unmark = () => {};
const remark = (el, all) => {
  unmark();
  const view = viewOf(el), was = textIn(el), until = now() + 5000;
  const on = (e) => {
    if (!e.isTrusted) return;
    unmark();
    if (now() > until) return; // the keys never came, and these are others
    const a = activeIn(el);
    if (!attached(el) || !a || !(within(a, el) || within(el, a))) return;
    if (textIn(el) !== was || marked(el, all) === false) mark(el, all);
  };
  dom.listen(view, 'keydown', on, true);
  unmark = () => dom.unlisten(view, 'keydown', on, true);
};

// unmade reports whether a page may still make a control of an element: until it
// has loaded, and of an element of its own that is put together when it likes.
const unmade = (el) => dom.state(dom.doc(el)) !== 'complete' || dom.tag(el).includes('-');

// T.fill({t, in, ms, text, clear, id, keys, few, tries}): makes a field ready to be typed into
// and gives {erase: whether to erase first} and the like, or sets the value of a
// field that cannot be typed into: {set: true}. {click: point} asks for a click
// first. With {watched: true} what comes of it is told: see attend.
T.fill = (a) => {
  const waits = expectant(a.ms), over = { tried: false, woken: 0, clicked: false, cover: null, leaves: false, focused: false, long: lasts() }; // long: for how long it has been looked at since it was first asked
  return withFirst(a, async (host, why) => {
    const r = await readyToFill(a, waits, over, host, why);
    if (r?.v && !r.v.click && over.cover) r.w = [...(r.w || []), `"${a.t.a}" is covered by ${nameOf(over.cover)}${over.scrolled}: typed all the same`];
    return r;
  });
};
// leaves reports whether what covers an element may be about to go: menus and dialogs
// fade out when they are closed, and what lies behind them is free a little later.
const leaves = (cover, el) => dom.animations(dom.doc(cover)).some((x) => x.playState === 'running' && x.effect?.target && within(cover, x.effect.target) && !within(el, x.effect.target));
// instead is what is done with a control that the page draws itself, by the role that it
// gives it.
const instead = (el) => {
  const role = dom.attribute(el, 'role');
  if (role === 'slider') return '; press its arrow keys, or drag it';
  if (['checkbox', 'switch', 'radio'].includes(role)) return '; use check or uncheck';
  return role === 'combobox' || dom.attribute(el, 'aria-haspopup') === 'listbox' ? '; click it, then its option' : '';
};
// edited reports whether an element is made to be written in, though it cannot be yet.
const edited = (el) => dom.attribute(el, 'contenteditable') === 'false' && (dom.hasAttribute(el, 'tabindex') || ['textbox', 'searchbox', 'combobox'].includes(dom.attribute(el, 'role')));

// wake does once what a person does first with a field that takes nothing yet: it gives it
// the focus, and asks for a click a little later.
const wake = (el, a, over) => {
  if (!over.woken) { over.woken = now(); over.long(); intoView(el); focusOn(el); return undefined; }
  if (over.clicked || over.long() < 150) return undefined;
  over.clicked = true;
  const p = reach(el).p;
  return p ? { v: { click: p } } : undefined;
};
const readyToFill = async (a, waits, over, host, why) => {
  if (!attached(host)) return undefined;
  const el = fieldIn(host);
  if (!el && !a.clicked && edited(host) && hiddenBecause(host) === '' && !disabledBecause(host)) {
    const asks = wake(host, a, over);
    why.e = 'is not editable';
    return asks;
  }
  if (!el) {
    const n = fieldsIn(host).length;
    why.e = `is ${an(nameOf(host))}: fill needs an input, a textarea or something editable` + (n ? `, one of the ${n} that are in it` : instead(host));
    return !unmade(host) ? fail('invalid_value', `Element "${a.t.a}" ${why.e}`) : undefined;
  }
  const kind = is(el, 'input') ? dom.inputType(el) : '';
  if (is(el, 'select')) return fail('invalid_value', `Element "${a.t.a}" is a select: use selectOption`);
  if (kind === 'file') return fail('invalid_value', `Element "${a.t.a}" is a file input: use uploadFile`);
  if (kind === 'checkbox' || kind === 'radio') return fail('invalid_value', `Element "${a.t.a}" is a ${kind}: use check or uncheck`);
  if (kind && !typed.includes(kind) && !chosen.includes(kind)) return fail('invalid_value', `Element "${a.t.a}" is an input of type ${kind}, which holds no text`);
  if (a.origins && !a.origins.includes(viewOf(el).origin) && !a.origins.includes(viewOf(el).origin.replace(/\.(?=$|:\d+$)/, ""))) return fail('invalid_value', `The secret is not for pages of ${viewOf(el).origin}: its origins are ${a.origins.join(', ') || 'none'}`);
  if (a.origins && chosen.includes(kind)) return fail('invalid_value', `Element "${a.t.a}" is an input of type ${kind}: a secret can be put into a text field only`);
  why.e = (host !== el && catchesKeys(el) ? hiddenBecause(host) : hiddenFor(el)) || disabledBecause(el);
  if (why.e) return undefined;
  if (!isEditable(el) && el.readOnly) { why.e = 'is read-only'; return a.clicked ? undefined : wake(el, a, over); }
  if (waits(el)) { why.e = 'is in a page whose style sheets have not come'; return undefined; }
  if (slides(el) && (a.origins || !(await still(el)))) { why.e = 'is still moving'; return undefined; }
  intoView(el);
  if (!over.tried && !handsOn(el)) { // nobody types into what cannot be seen
    const { p, cover } = reach(el);
    if (p) freeMiddle(el, undefined, cover);
    else if (cover && !cutOffBy(el)) {
      over.leaves ||= leaves(cover, el);
      if (over.leaves && over.long() <= 1000) { why.e = `is covered by ${nameOf(cover)}`; return undefined; }
      const f = free(el);
      if (!f) { over.cover = reach(el).cover; over.scrolled = f === false ? ', wherever it is scrolled to' : ''; }
    }
    over.tried = true;
  }
  if (chosen.includes(kind)) {
    if (a.haste && !(await settle({ settle: true }))) return { n: true }; // this changes the page
    focusOn(el);
    const text = kind === 'color' ? a.text.toLowerCase() : a.text;
    const before = valueOf(el);
    setValue(el, text);
    if (valueOf(el) !== text && !(kind === 'range' && text.trim() !== '' && isFinite(text))) {
      const got = valueOf(el);
      if (!(text !== '' && sameChoice(kind, got, text))) {
        setValue(el, before);
        return fail('invalid_value', `"${a.text}" is no value for an input of type ${kind}: ${wanted[kind]}`);
      }
    }
    const put = valueOf(el);
    changed(el);
    return came(a, el, before, put, false);
  }
  if (kind === 'number' && a.text !== '' && !/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(a.text.trim())) {
    return fail('invalid_value', `"${a.text}" is no value for an input of type number: want a number such as 1.5`);
  }
  const empty = textIn(el) === '', part = isPart(el);
  const atFocus = !a.origins && !over.focused && activeIn(el) !== el ? asked(dom.doc(el)) : null;
  if (!focusOn(el)) {
    if (!attached(el)) return undefined; // drawn anew when it got the focus
    const list = points(el), o = offset(el);
    if (!a.clicked && list.length) return { v: { click: mapped(o, ...list[0]) } };
    why.e = 'does not take the focus';
    return undefined;
  }
  if (atFocus && asked(dom.doc(el)).timers > atFocus.timers) { // what the page does at the focus comes before the text
    over.focused = true;
    await passed(20);
    await idle();
    if (!attached(el)) return undefined;
  }
  const typing = (how, others) => ({ v: { ...how, parts: byParts(el, a), watched: attend(el, a, others) } });
  if (!a.origins && empty && is(el, 'input')) {
    await undefined; // frameworks draw what follows from the focus before the next task, or a little later
    if (textIn(el) !== '' || hasPattern(el)) await T.drawn();
    if (inPart(el)) return typing({ slow: true });
  }
  if (!a.origins && part) return a.text === '' ? { v: { erase: true, slow: true } } : typing({ slow: true });
  const whole = !a.origins && /[\n\r]/.test(a.text) && writesCode(el);
  if (whole) wholeIn = el;
  if (!a.origins && handsOn(el)) return catchesKeys(el) ? done : whole ? { v: { keys: true, erase: a.clear, whole } } : typing({ keys: true, erase: a.clear }, a.clear ? 5 : 2); // a terminal takes keys that erase as orders
  if (!a.origins && a.clear && !empty && is(el, 'input') && hasPattern(el)) return typing({ keys: true, erase: true, slow: true }, 5);
  const full = textIn(el) !== '';
  const news = isEditable(el) && !marked(el, a.clear) && told(el);
  const placed = mark(el, a.clear);
  if (a.origins && a.text !== '') { // nothing can come between the look at the origin above and this
    const before = textIn(el);
    if (!dom.command(dom.doc(el), 'insertText', false, a.text)) { why.e = 'does not take a text'; return undefined; }
    return came(a, el, before, (a.clear ? '' : before) + a.text, true);
  }
  if (!a.origins) {
    if (!placed) return typing({ end: true }, 1);
    remark(el, a.clear);
  }
  await news;
  if (whole) return { v: { erase: a.clear && full, whole } };
  const how = { erase: a.clear && full, slow: oneByOne(el) };
  return a.origins ? { v: how } : typing(how, how.erase ? 1 : 0);
};
const sameChoice = (kind, got, text) => (kind === 'time' || kind === 'datetime-local') && got !== '' && (got.startsWith(text) || text.startsWith(got) || got === text.replace(' ', 'T'));
const wanted = {
  date: 'want yyyy-mm-dd', time: 'want hh:mm', 'datetime-local': 'want yyyy-mm-ddThh:mm', month: 'want yyyy-mm', week: 'want yyyy-Www',
  color: 'want #rrggbb', range: 'want a number',
};
