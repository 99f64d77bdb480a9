// Acting: what has to be true of an element before input goes to it, and where
// the input must go.

// The picture that an area is a part of, and the boxes of an element: those of an
// area are where its shape lies in the picture.
const pictureOf = (area) => {
  const name = dom.attribute(dom.closest(area, 'map') || area, 'name');
  return [...all(dom.root(area), 'img[usemap]')].find((i) => dom.attribute(i, 'usemap') === '#' + name);
};
const boxes = (el) => {
  const picture = is(el, 'area') && pictureOf(el);
  if (!picture) return dom.rects(el);
  const r = dom.rect(picture), n = (dom.attribute(el, 'coords') || '').split(',').map(Number), shape = (dom.attribute(el, 'shape') || 'rect').toLowerCase();
  const left = r.left + picture.clientLeft, top = r.top + picture.clientTop;
  if (shape === 'default' || n.length < 3 || n.some(isNaN)) return [r];
  if (shape.startsWith('circ')) return [new DOMRect(left + n[0] - n[2], top + n[1] - n[2], 2 * n[2], 2 * n[2])];
  const xs = n.filter((_, i) => i % 2 === 0), ys = n.filter((_, i) => i % 2 === 1);
  return [new DOMRect(left + Math.min(...xs), top + Math.min(...ys), Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys))];
};
const rectOf = (el) => {
  // An inline element may be broken over lines; its first box is a safe place.
  for (const r of boxes(el)) if (r.width > 0 && r.height > 0) return r;
  return dom.rect(el);
};
const styleOf = (el) => viewOf(el).getComputedStyle(el);

const hiddenBecause = (el) => {
  if (is(el, 'area') && pictureOf(el)) return hiddenBecause(pictureOf(el));
  for (let n = el; n && isElement(n); n = dom.slot(n) || above(n)) {
    const s = styleOf(n);
    if (s.display === 'none') return n === el ? 'is hidden (display: none)' : `is hidden: ${nameOf(n)} has display: none`;
  }
  const s = styleOf(el);
  if (s.visibility !== 'visible') return `is hidden (visibility: ${s.visibility})`;
  if (s.display === 'contents') return '';
  const r = dom.rect(el);
  if (r.width <= 0 || r.height <= 0) return `is hidden (its size is ${Math.round(r.width)}×${Math.round(r.height)})`;
  return '';
};
const disabledBecause = (el) => {
  const control = is(el, 'button', 'input', 'select', 'textarea', 'option', 'fieldset', 'optgroup') ? el : dom.closest(el, 'button');
  if (control && dom.matches(control, ':disabled')) return 'is disabled';
  const aria = dom.closest(el, '[aria-disabled]');
  return aria && dom.attribute(aria, 'aria-disabled') === 'true' ? 'is disabled (aria-disabled)' : '';
};

// Where the frame of an element lies in the main page: its left and top, and
// how much it is scaled.
const offset = (el) => {
  let x = 0, y = 0, sx = 1, sy = 1;
  for (let w = viewOf(el); w && w !== window && w.frameElement; w = w.parent) {
    const f = w.frameElement, r = dom.rect(f), cs = styleOf(f);
    const fx = f.offsetWidth ? r.width / f.offsetWidth : 1, fy = f.offsetHeight ? r.height / f.offsetHeight : 1;
    x = r.left + (f.clientLeft + parseFloat(cs.paddingLeft || 0)) * fx + x * fx;
    y = r.top + (f.clientTop + parseFloat(cs.paddingTop || 0)) * fy + y * fy;
    sx *= fx; sy *= fy;
  }
  return { x, y, sx, sy };
};

const hit = (doc, x, y) => {
  let el = dom.at(doc, x, y);
  for (let s = el && dom.shadow(el); s; s = el && dom.shadow(el)) {
    const inner = dom.atInShadow(s, x, y);
    if (!inner || inner === el) break;
    el = inner;
  }
  return el;
};
const within = (el, top) => { for (let n = el; n; n = isElement(n) ? dom.slot(n) || above(n) : above(n)) if (n === top) return true; return false; };
const labelOf = (el) => dom.closest(el, 'label');

// Whether a click at what lies on top reaches the element: itself, something in
// it, or a label that belongs to it.
const reaches = (top, el) => {
  if (!top) return false;
  if (within(top, el) || within(el, top) && styleOf(el).display === 'contents') return true;
  const l = labelOf(top);
  if (l && l.control === el) return true;
  // A label's control passes its click on, and a decorated control may lie on
  // its own label.
  const mine = labelOf(el);
  return !!(mine && is(el, 'label') && mine.control && within(top, mine.control));
};

// Points worth trying: the middle of each box, then a grid over the largest.
const points = (el) => {
  const v = viewOf(el), w = v.innerWidth, h = v.innerHeight, out = [];
  const list = [...boxes(el)].filter((r) => r.width > 0 && r.height > 0);
  if (!list.length && styleOf(el).display === 'contents') for (const c of dom.children(el)) list.push(...dom.rects(c));
  const clip = (r) => ({ l: Math.max(r.left, 0), t: Math.max(r.top, 0), r: Math.min(r.right, w), b: Math.min(r.bottom, h) });
  const seen = list.map(clip).filter((c) => c.r - c.l >= 1 && c.b - c.t >= 1);
  for (const c of seen) out.push([(c.l + c.r) / 2, (c.t + c.b) / 2]);
  const big = seen.sort((a, b) => (b.r - b.l) * (b.b - b.t) - (a.r - a.l) * (a.b - a.t))[0];
  if (big) for (const fx of [0.5, 0.2, 0.8]) for (const fy of [0.5, 0.2, 0.8]) {
    if (fx !== 0.5 || fy !== 0.5) out.push([big.l + (big.r - big.l) * fx, big.t + (big.b - big.t) * fy]);
  }
  return out;
};

const inView = (el) => {
  const r = rectOf(el), v = viewOf(el);
  if (r.top < 0 || r.left < 0 || r.bottom > v.innerHeight || r.right > v.innerWidth) return false;
  for (let w = v; w !== window && w.frameElement; w = w.parent) {
    const o = offset(w.frameElement), f = dom.rect(w.frameElement);
    if (o.x + f.left < 0 || o.y + f.top < 0 || o.y + f.top + r.top > innerHeight || o.x + f.left + r.left > innerWidth) return false;
  }
  // A scrolled container may hide it although the window does not.
  for (let n = above(el); n && isElement(n); n = above(n)) {
    if (dom.scrollHeight(n) <= dom.clientHeight(n) && dom.scrollWidth(n) <= dom.clientWidth(n)) continue;
    const s = styleOf(n);
    if (s.overflowY === 'visible' && s.overflowX === 'visible') continue;
    const b = dom.rect(n);
    if (r.top < b.top - 1 || r.bottom > b.bottom + 1 || r.left < b.left - 1 || r.right > b.right + 1) return false;
  }
  return true;
};
const intoView = (el) => {
  if (is(el, 'area') && pictureOf(el)) el = pictureOf(el);
  if (!inView(el)) dom.scrollIntoView(el, { block: 'center', inline: 'center', behavior: 'instant' });
  for (let w = viewOf(el); w !== window && w.frameElement; w = w.parent) {
    const f = w.frameElement;
    if (!inView(f) && !inView(el)) { dom.scrollIntoView(f, { block: 'center', inline: 'center', behavior: 'instant' }); dom.scrollIntoView(el, { block: 'nearest', inline: 'nearest', behavior: 'instant' }); }
  }
};

const place = (el) => { const r = rectOf(el), o = offset(el); return [r.left + o.x, r.top + o.y, r.width, r.height]; };
const same = (a, b) => a.every((v, i) => Math.abs(v - b[i]) < 0.5);

// When something has last happened that may move things: a change of the
// document, scrolling, a picture or a font that came, another size. A page that
// had loaded before we came is taken to be at rest.
let stirred = dom.state(document) === 'complete' ? -Infinity : now();
const stir = () => { stirred = now(); };
new MutationObserver(stir).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
for (const e of ['scroll', 'load', 'toggle', 'transitionrun', 'animationstart']) dom.listen(document, e, stir, { capture: true, passive: true });
dom.listen(globalThis, 'resize', stir);
dom.listen(document.fonts, 'loadingdone', stir);

// A page is calm when nothing of that was in the last two frames and nothing is
// animated. What lies in frames and shadow roots is not seen from here.
const calm = (el) => dom.root(el) === document && now() - stirred > 34 && !dom.animations(document).some((a) => a.playState === 'running');

// Whether an animation runs that could move an element.
const animated = (el) => dom.animations(dom.doc(el)).some((x) => x.playState === 'running' && x.effect?.target && within(el, x.effect.target));

// Waits until an element has stood still over a frame; over more of them where
// an animation runs, which may just begin or be turning back. On a calm page it
// has.
const still = async (el) => {
  if (calm(el)) return true;
  const a = place(el);
  for (let n = animated(el) ? 4 : 1; n > 0; n--) {
    await frame();
    if (!attached(el) || !same(a, place(el))) return false;
  }
  return true;
};

// T.point({t, in, ms, force, hover, guard}): the point where input for the element must
// go, in the main page's coordinates. After a second under another element,
// with force, the reply says so: {covered: name}.
T.point = (a) => { const look = pointer(a); return withFirst(a, look); };

// pointer looks for a point of an element, again and again until there is one.
const pointer = (a) => {
  let coveredSince = 0;
  return async (el, why) => {
    if (!attached(el)) return undefined;
    why.e = hiddenBecause(el);
    if (why.e) return undefined;
    if (!a.hover) { why.e = disabledBecause(el); if (why.e) return undefined; }
    intoView(el);
    if (!(await still(el))) { if (gone()) return { n: true }; why.e = 'is still moving'; return undefined; }
    const doc = dom.doc(el), o = offset(el), list = points(el);
    let cover = null;
    if (!list.length) { why.e = 'lies outside of what can be scrolled to'; return undefined; }
    for (const [x, y] of list) {
      const top = hit(doc, x, y);
      if (reaches(top, el)) {
        const px = o.x + x * o.sx, py = o.y + y * o.sy;
        // Something of the main page may lie over the frame.
        const f = topFrame(el);
        if (f && !reachesFrame(f, px, py)) { cover ??= hit(document, px, py); continue; }
        if (a.guard) guard(el, a);
        return { v: { x: px, y: py } };
      }
      cover ??= top;
    }
    why.c = 'element_covered';
    why.e = 'is covered by ' + (cover ? nameOf(cover) : 'something outside of the page');
    coveredSince ||= now();
    if (a.force && now() - coveredSince > 1000) {
      const [x, y] = list[0];
      return { v: { covered: cover ? nameOf(cover) : 'something else', x: o.x + x * o.sx, y: o.y + y * o.sy } };
    }
    return undefined;
  };
};
const topFrame = (el) => { let f = null; for (let w = viewOf(el); w !== window && w.frameElement; w = w.parent) f = w.frameElement; return f; };
const reachesFrame = (f, x, y) => { const top = hit(document, x, y); return !!top && (top === f || within(top, f) || within(f, top) && is(top, 'iframe', 'frame')); };

// T.clickByScript({t, in}): the way out for an element that stays covered.
T.clickByScript = (a) => withFirst(a, (el) => {
  const p = viewOf(el);
  if (isHTML(el)) dom.clickByScript(el);
  else dom.dispatch(el, new p.MouseEvent('click', { bubbles: true, cancelable: true, composed: true, view: p }));
  return done;
});

// Fields whose value is chosen, not typed.
const chosen = ['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'];
const typed = ['text', 'search', 'url', 'tel', 'email', 'password', 'number'];

const setValue = (el, text) => (is(el, 'textarea') ? dom.setAreaValue : dom.setInputValue)(el, text);
const changed = (el) => {
  const v = viewOf(el);
  dom.dispatch(el, new v.Event('input', { bubbles: true, composed: true }));
  dom.dispatch(el, new v.Event('change', { bubbles: true }));
};

const activeIn = (el) => { const r = dom.root(el); return dom.type(r) === 9 ? dom.active(r) : dom.activeInShadow(r); };
const focusOn = (el) => {
  for (let w = viewOf(el); w !== window && w.frameElement; w = w.parent) dom.focus(w.frameElement, { preventScroll: true });
  if (isHTML(el)) dom.focus(el, { preventScroll: true });
  else if (dom.namespace(el) === 'http://www.w3.org/2000/svg') dom.focusInDrawing(el, { preventScroll: true });
  const a = activeIn(el);
  return a === el || !!a && within(a, el) || !!a && within(el, a) && isEditable(a);
};

// The field that typing goes to: the element itself, the control of a label, or
// the one editable thing inside.
const fieldIn = (el) => {
  if (is(el, 'input', 'textarea', 'select') || isEditable(el)) return el;
  if (is(el, 'label') && el.control) return el.control;
  const inner = query(el, 'css', 'input:not([type=hidden]),textarea,[contenteditable=""],[contenteditable=true],[contenteditable=plaintext-only]');
  return inner.length === 1 ? inner[0] : null;
};

// T.fill({t, in, ms, text, clear}): makes a field ready to be typed into and
// gives {type: what to type, erase: whether to erase first}, or sets the value
// of a field that cannot be typed into. {click: point} asks for a click first.
T.fill = (a) => withFirst(a, async (host, why) => {
  if (!attached(host)) return undefined;
  const el = fieldIn(host);
  if (!el) return fail('invalid_value', `Element "${a.t.a}" is a ${nameOf(host)}: fill needs an input, a textarea or something editable`);
  const kind = is(el, 'input') ? dom.inputType(el) : '';
  if (is(el, 'select')) return fail('invalid_value', `Element "${a.t.a}" is a select: use selectOption`);
  if (kind === 'file') return fail('invalid_value', `Element "${a.t.a}" is a file input: use uploadFile`);
  if (kind === 'checkbox' || kind === 'radio') return fail('invalid_value', `Element "${a.t.a}" is a ${kind}: use check or uncheck`);
  if (kind && !typed.includes(kind) && !chosen.includes(kind)) return fail('invalid_value', `Element "${a.t.a}" is an input of type ${kind}, which holds no text`);
  why.e = hiddenBecause(el) || disabledBecause(el);
  if (why.e) return undefined;
  if (!isEditable(el) && el.readOnly) { why.e = 'is read-only'; return undefined; }
  intoView(el);
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
    changed(el);
    return { v: { set: true } };
  }
  if (kind === 'number' && a.text !== '' && !/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(a.text.trim())) {
    return fail('invalid_value', `"${a.text}" is no value for an input of type number: want a number`);
  }
  if (!focusOn(el)) {
    const list = points(el), o = offset(el);
    if (!a.clicked && list.length) return { v: { click: { x: o.x + list[0][0] * o.sx, y: o.y + list[0][1] * o.sy } } };
    why.e = 'does not take the focus';
    return undefined;
  }
  // What is marked is replaced by the first character typed.
  let full;
  if (isEditable(el)) {
    full = dom.text(el) !== '';
    const sel = viewOf(el).getSelection();
    sel.selectAllChildren(el);
    if (!a.clear) sel.collapseToEnd();
  } else {
    full = valueOf(el) !== '';
    if (a.clear) el.select();
    else {
      const n = valueOf(el).length;
      try { el.setSelectionRange(n, n); } catch { /* number and email have no selection: the caret is at the end after End */ return { v: { type: true, end: true } }; }
    }
  }
  return { v: { type: true, erase: a.clear && full, multi: isEditable(el) || is(el, 'textarea') } };
});
const sameChoice = (kind, got, text) => (kind === 'time' || kind === 'datetime-local') && got !== '' && (got.startsWith(text) || text.startsWith(got) || got === text.replace(' ', 'T'));
const wanted = {
  date: 'want yyyy-mm-dd', time: 'want hh:mm', 'datetime-local': 'want yyyy-mm-ddThh:mm', month: 'want yyyy-mm', week: 'want yyyy-Www',
  color: 'want #rrggbb', range: 'want a number',
};

// T.focus({t, in, ms}): the element that keys go to. {click} as in T.fill.
T.focus = (a) => withFirst(a, (el, why) => {
  if (!attached(el)) return undefined;
  why.e = hiddenBecause(el) || disabledBecause(el);
  if (why.e) return undefined;
  intoView(el);
  const target = is(el, 'label') && el.control ? el.control : el;
  if (activeIn(target) === target || focusOn(target)) return done;
  return done; // keys go to the document then, as they would for a person
});

// What check and uncheck work on: the control, of a label its control.
const checkable = (el) => {
  const c = is(el, 'label') && el.control ? el.control : el;
  if (is(c, 'input') && ['checkbox', 'radio'].includes(dom.inputType(c))) return c;
  if (['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio', 'option'].includes(dom.attribute(c, 'role'))) return c;
  const inner = query(c, 'css', 'input[type=checkbox],input[type=radio],[role=checkbox],[role=radio],[role=switch]');
  return inner.length === 1 ? inner[0] : null;
};
const isChecked = (c) => (is(c, 'input') ? c.checked : (dom.attribute(c, 'aria-checked') ?? dom.attribute(c, 'aria-selected')) === 'true');
const noCheckbox = (a, el) => fail('invalid_value', `Element "${a.t.a}" is a ${nameOf(el)}, not a checkbox, a radio button or a switch`);

// T.check({t, in, ms, want}): {done} when it is so already, else the point to
// click: on the control, or on its label when the control cannot be seen.
T.check = (a) => {
  const look = pointer(a);
  return withFirst(a, (el, why) => {
    const c = checkable(el);
    if (!c) return noCheckbox(a, el);
    if (isChecked(c) === a.want) return { v: { done: true } };
    if (!a.want && is(c, 'input') && dom.inputType(c) === 'radio') return fail('invalid_value', `Element "${a.t.a}" is a radio button: it is unchecked by checking another`);
    why.e = disabledBecause(c);
    if (why.e) return undefined;
    const seen = (n) => hiddenBecause(n) === '' && styleOf(n).opacity !== '0';
    const label = [...(c.labels || [])].find(seen);
    return look(seen(c) || !label ? c : label, why);
  });
};

// T.checked({t, in, ms, want}): waits until the click has had its effect.
T.checked = (a) => withFirst(a, (el, why) => {
  const c = checkable(el);
  if (!c) return noCheckbox(a, el);
  if (isChecked(c) === a.want) return done;
  why.e = a.want ? 'was clicked but is not checked' : 'was clicked but is still checked';
  return undefined;
});

const short = (s) => { s = s.trim().replace(/\s+/g, ' '); return s.length > 40 ? s.slice(0, 40) + '…' : s; };

// T.select({t, in, ms, by, value}): selects an option of a select element.
T.select = (a) => withFirst(a, (host, why) => {
  const el = is(host, 'label') && host.control ? host.control : host;
  if (!is(el, 'select')) return fail('invalid_value', `Element is not a SELECT element: "${a.t.a}" is a ${nameOf(el)}`);
  why.e = disabledBecause(el);
  if (why.e) return undefined;
  const options = [...el.options];
  const text = (o) => (o.label || o.text).trim().replace(/\s+/g, ' ');
  const wanted = a.value.trim().replace(/\s+/g, ' ');
  const o = a.by === 'index' ? options[Number(a.value)] : a.by === 'text'
    ? options.find((o) => text(o) === wanted || o.text.trim() === wanted) : options.find((o) => o.value === a.value);
  if (!o) {
    const has = options.slice(0, 10).map((x, i) => (a.by === 'index' ? i : a.by === 'text' ? short(text(x)) : x.value)).join(', ') + (options.length > 10 ? ', …' : '');
    why.c = 'invalid_value';
    why.e = `has no option with ${a.by} "${a.value}"; has ${has || 'none'}`;
    return undefined;
  }
  if (o.disabled || dom.matches(o, 'optgroup:disabled > option')) { why.c = 'invalid_value'; why.e = `has the option "${a.value}", but it is disabled`; return undefined; }
  intoView(el);
  focusOn(el);
  if (el.multiple) o.selected = true; else dom.setSelectIndex(el, o.index);
  changed(el);
  return done;
});

// T.fileInput({t, in, ms, count}): makes sure that files can be put there.
// T.element() gives that element itself, for the browser.
T.fileInput = (a) => withFirst(a, (el, why) => {
  const isFile = (n) => n && is(n, 'input') && dom.inputType(n) === 'file';
  const control = is(el, 'label') && el.control ? el.control : el;
  const inner = isFile(control) ? [control] : query(el, 'css', 'input[type=file]');
  if (inner.length !== 1) return fail('invalid_value', `Element "${a.t.a}" is a ${nameOf(el)}, not a file input`);
  why.e = disabledBecause(inner[0]);
  if (why.e) return undefined;
  if (a.count > 1 && !inner[0].multiple && !inner[0].webkitdirectory) return fail('invalid_value', `Element "${a.t.a}" takes one file, not ${a.count}`);
  chosenElement = inner[0];
  return done;
});
T.element = () => { const el = chosenElement; chosenElement = null; return el; };
