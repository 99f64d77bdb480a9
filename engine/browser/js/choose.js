// Acting on controls in other ways than with a pointer that is aimed, and what has to
// be true of them before that.

// T.clickByScript({t, in, times, right, held}): the way out for an element that stays
// covered. held are the modifiers' bits.
T.clickByScript = (a) => withFirst(a, (el) => {
  const p = viewOf(el), held = (bit) => ((a.held || 0) & bit) !== 0;
  const send = (type, detail, more) => dom.dispatch(el, new p.MouseEvent(type, { bubbles: true, cancelable: true, composed: true, view: p, detail, altKey: held(1), ctrlKey: held(2), metaKey: held(4), shiftKey: held(8), ...more }));
  if (a.right) {
    for (const type of ['mousedown', 'contextmenu', 'mouseup', 'auxclick']) send(type, type === 'contextmenu' ? 0 : 1, { button: 2, buttons: type === 'mousedown' || type === 'contextmenu' ? 2 : 0 });
    return done;
  }
  for (let n = 1; n <= a.times; n++) {
    if (isHTML(el) && !a.held) dom.clickByScript(el);
    else send('click', n);
    if (n === 2) send('dblclick', n);
  }
  return done;
});

// leadsElsewhere reports whether a click at something in a label is not passed on
// to the label's control: a link to the terms does what it does.
const leadsElsewhere = (top, label) => {
  const n = is(label, 'label') && flatClosest(top, 'a[href],button,input,select,textarea,summary,[role=button],[role=link]');
  return !!n && n !== label.control && within(n, label);
};

// inReach reports whether some of an element is where it can be scrolled to.
const inReach = (el) => { intoView(el); return points(el).length > 0; };

// What check and uncheck work on: the control, of a label its control. What is in one of
// them, such as its text, stands for it.
const checkable = (el) => {
  const own = checkableIn(el), around = own ? null : wholeOf(el, 'label,[role=checkbox],[role=radio],[role=switch],[role=menuitemcheckbox],[role=menuitemradio],[role=option],[role=treeitem]');
  return own ?? (around && checkableIn(around));
};
// ownOf is what is in an item of a tree without the items below it.
const ownOf = (item) => [...dom.children(item)].filter((n) => !dom.matches(n, '[role=group],[role=treeitem]')).flatMap((n) => (one(n, '[role=treeitem]') ? ownOf(n) : [n]));
const tickIn = (n) => [n, ...query(n, 'css', 'input[type=checkbox],input[type=radio],[role=checkbox],[role=radio],[role=switch]')].find((x) => is(x, 'input') ? ['checkbox', 'radio'].includes(dom.inputType(x)) : ['checkbox', 'radio', 'switch'].includes(dom.attribute(x, 'role')));
const checkableIn = (el) => {
  const c = is(el, 'label') && el.control ? el.control : el;
  if (is(c, 'input') && ['checkbox', 'radio'].includes(dom.inputType(c))) return c;
  const role = dom.attribute(c, 'role'), branch = role === 'treeitem';
  // An item of a tree that says nothing of itself has a checkbox in it, and other items, too.
  if (['checkbox', 'radio', 'switch', ...items].includes(role) && !(branch && !dom.hasAttribute(c, 'aria-checked') && ownOf(c).some((n) => tickIn(n)))) return c;
  if (branch) return ownOf(c).map(tickIn).find(Boolean) ?? null;
  const inner = query(c, 'css', 'input[type=checkbox],input[type=radio],[role=checkbox],[role=radio],[role=switch]');
  return inner.length === 1 ? inner[0] : null;
};
// The item of a menu or a list that is clicked, which may close when it has been chosen.
const items = ['menuitemcheckbox', 'menuitemradio', 'option', 'treeitem'];
let item = null;
const said = (c) => (dom.attribute(c, 'aria-checked') ?? dom.attribute(c, 'aria-selected')) === 'true';
const isChecked = (c) => (is(c, 'input') && !speaking.has(c) ? c.checked : said(c));

// What controls said before they were clicked, and those that say something else
// since then: a page that switches them itself may keep the browser from doing so,
// and what it draws is what it says.
const saidBefore = new WeakMap(), speaking = new WeakSet();

const noCheckbox = (a, el, why) => {
  why.e = `is ${an(nameOf(el))}, not a checkbox, a radio button or a switch`;
  return unmade(el) ? undefined : fail('invalid_value', `Element "${a.t.a}" ${why.e}`);
};

// T.check({t, in, ms, want}): {done} when it is so already, else the point to
// click: on the control, or on its label when the control cannot be seen.
T.check = (a) => {
  const look = pointer(a);
  return withAimed(a, (el, why) => {
    const c = checkable(el);
    if (!c) return noCheckbox(a, el, why);
    if (isChecked(c) === a.want) return { v: { done: true } };
    if (!a.want && is(c, 'input') && dom.inputType(c) === 'radio') return fail('invalid_value', `Element "${a.t.a}" is a radio button: it is unchecked by checking another`);
    why.e = disabledBecause(c);
    if (why.e) return undefined;
    const label = [...(c.labels || [])].find(isSeen);
    saidBefore.set(c, said(c));
    item = items.includes(dom.attribute(c, 'role')) ? c : null;
    if (item && dom.attribute(c, 'role') === 'treeitem' && one(c, '[role=treeitem]')) { // its middle may be another's
      const row = ownOf(c).find((n) => isSeen(n) && !dom.matches(n, 'button,[role=button]'));
      if (row) return look(row, why, leadsElsewhere);
    }
    if (!label && hiddenBecause(c) !== '') return look(standsFor(c, el), why, leadsElsewhere);
    return look(!label || isSeen(c) && inReach(c) ? c : label, why, leadsElsewhere);
  });
};

// T.checked({t, in, ms, want}): waits until the click has had its effect, or the menu has
// closed that it was chosen in.
T.checked = (a) => {
  const missing = lasts();
  return withFirst(a, (el, why) => {
    const c = checkable(el);
    if (!c) return noCheckbox(a, el, why);
    if (isChecked(c) === a.want) return done;
    if (saidBefore.get(c) === !a.want && said(c) === a.want) { speaking.add(c); return done; }
    why.e = a.want ? 'was clicked but is not checked' : 'was clicked but is still checked';
    return undefined;
  }, () => {
    if (!item || attached(item) || missing() <= 300) return undefined; // it may be drawn anew
    return { ...done, w: [`"${a.t.a}" was clicked and is gone: whether it is ${a.want ? 'checked' : 'unchecked'} cannot be seen`] };
  });
};

const short = (s) => upTo(s.trim().replace(/\s+/g, ' '), 40);

// T.select({t, in, ms, by, values, list}): selects options of a select element: with list
// these and no others.
T.select = (a) => {
  const over = { focused: false, pressed: false, long: lasts() };
  return withFirst(a, (host, why) => selected(a, host, why, over));
};
const selected = (a, host, why, over) => {
  const el = wholeOf(host, 'label')?.control ?? host;
  if (!is(el, 'select')) return fail('invalid_value', `Element is not a SELECT element: "${a.t.a}" is ${an(nameOf(el))}${instead(el)}`);
  if (a.list && !el.multiple && a.values.length !== 1) return fail('invalid_value', `Element "${a.t.a}" takes one option, not ${a.values.length}: only a select with multiple takes a list`);
  why.e = disabledBecause(el);
  if (why.e) return undefined;
  const options = [...el.options];
  const clean = (t) => plainText(t).trim().replace(/\s+/g, ' '), text = (o) => clean(o.label || o.text);
  const chosen = [];
  for (const value of a.values) {
    const wanted = clean(value);
    const o = a.by === 'index' ? options[Number(value)] : a.by === 'text'
      ? options.find((o) => text(o) === wanted || clean(o.text) === wanted) : options.find((o) => o.value === value);
    if (!o) {
      pressFor(el, over);
      const has = options.slice(0, 10).map((x, i) => (a.by === 'index' ? i : JSON.stringify(a.by === 'text' ? short(text(x)) : x.value))).join(', ') + (options.length > 10 ? ', …' : '');
      why.c = 'invalid_value';
      const other = a.by === 'text' ? 'value' : 'text', like = options.some((o) => (other === 'value' ? o.value === value : text(o) === wanted));
      why.e = `has no option with ${a.by} "${value}"; has ${has || 'none'}${like ? `; one has this ${other}: use "by": "${other}"` : ''}`;
      return undefined;
    }
    if (o.disabled || dom.matches(o, 'optgroup:disabled > option')) { why.c = 'invalid_value'; why.e = `has the option "${value}", but it is disabled`; return undefined; }
    chosen.push(o);
  }
  intoView(el);
  focusOn(el);
  if (chosen.some((o) => !attached(o))) return undefined; // the page has put in others at the focus
  const was = chosenIn(el), values = chosen.map((o) => o.value);
  if (!el.multiple) dom.setSelectIndex(el, chosen[0].index);
  else for (const o of el.options) o.selected = chosen.includes(o) || !a.list && o.selected;
  changed(el);
  return chose(a, el, chosen, values, was);
};

// pressFor does once what a person does first with a select that has not got its options yet:
// it gives it the focus, and tells the page of a press a little later. The press is not the
// pointer's, for that would open a list that only a person can close.
const pressFor = (el, over) => {
  if (!over.focused) { over.focused = true; over.long(); intoView(el); focusOn(el); return; }
  if (over.pressed || over.long() < 150) return;
  over.pressed = true;
  const p = viewOf(el), r = rectOf(el), at = { bubbles: true, cancelable: true, composed: true, view: p, clientX: r.left + r.width / 2, clientY: r.top + r.height / 2, button: 0 };
  for (const type of ['pointerover', 'mouseover', 'pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click']) {
    if (!attached(el)) return;
    const down = type.endsWith('down') ? 1 : 0;
    dom.dispatch(el, new p[type.startsWith('pointer') ? 'PointerEvent' : 'MouseEvent'](type, { ...at, buttons: down, detail: type.startsWith('mouse') || type === 'click' ? 1 : 0, ...(type.startsWith('pointer') && { pointerId: 1, pointerType: 'mouse', isPrimary: true, pressure: down / 2 }) }));
  }
};
const chosenIn = (el) => [...dom.selected(el)].map((o) => short(o.label || o.text)).join(', ');

// chose looks whether options stay selected: a framework may draw the select anew, and may
// put back what it had. A page gets three frames for that.
const chose = async (a, el, chosen, values, was) => {
  await undefined;
  for (let i = 0; ; i++) {
    if (gone()) return done;
    let now = attached(el) ? el : undefined;
    try { now ??= (search(a.t, a.in, {}, true) || []).find(isElement); } catch {}
    now &&= is(now, 'label') ? now.control : now;
    if (!now || !is(now, 'select')) return done; // it has done what it is for
    const has = [...dom.selected(now)];
    const stay = chosen.every((o, i) => has.includes(o) || has.some((x) => x.value === values[i]));
    if (stay && !(a.list && has.length !== new Set(chosen).size)) return done;
    const state = has.length ? `has "${chosenIn(now)}" selected` : 'has nothing selected';
    if (i === 3) return { ...done, w: [`"${a.t.a}" now ${state}: the page ${chosenIn(now) === was ? `has put that back after it was told of ${values.length ? values.map((v) => `"${v}"`).join(', ') : 'an empty selection'}` : 'has made that of the option' + (values.length > 1 ? 's' : '')}`] };
    await frame();
  }
};

// pressable reports whether an element is, or stands in or around, what people press.
const pressable = (el) => {
  const s = 'button,input,label,summary,a[href],[role=button],[role=link],[role=menuitem]';
  for (let n = el; n && isElement(n); n = above(n)) if (dom.matches(n, s)) return true;
  return query(el, 'css', s, true).length > 0;
};

// T.fileInput({t, in, ms, count}): makes sure that files can be put there.
// T.element() gives that element itself, for the browser. What is no field, but
// might ask for files in another way, is named: {is}, and whether it is made to be
// pressed: {button}.
T.fileInput = (a) => withFirst(a, (el, why) => {
  const isFile = (n) => n && is(n, 'input') && dom.inputType(n) === 'file';
  const control = is(el, 'label') && el.control ? el.control : el;
  const inner = isFile(control) ? [control] : query(el, 'css', 'input[type=file]');
  if (inner.length !== 1) {
    const field = is(control, 'select', 'textarea') || is(control, 'input') && !['button', 'submit', 'image'].includes(dom.inputType(control));
    if (!inner.length && !field) return { v: { is: an(nameOf(el)), button: pressable(el) } };
    return fail('invalid_value', `Element "${a.t.a}" is ${an(nameOf(el))}, not a file input` + (inner.length ? `: ${inner.length} of them are in it` : ''));
  }
  why.e = disabledBecause(inner[0]);
  if (why.e) return undefined;
  if (a.count > 1 && !inner[0].multiple && !inner[0].webkitdirectory) return fail('invalid_value', `Element "${a.t.a}" takes one file, not ${a.count}`);
  chosenElement = inner[0];
  attendFiles(inner[0]);
  return { v: { folder: !!inner[0].webkitdirectory } };
});

// What a file input had when the page was told of its files: pages empty it then.
let putting = null;
let unattendFiles = () => {};
const filesOf = get('HTMLInputElement', 'files');
const attendFiles = (el) => {
  unattendFiles();
  const w = putting = { el, n: -1 }, view = viewOf(el);
  const on = (e) => { if (e.isTrusted && e.composedPath()[0] === el || attached(el) && rootIn(e.target)) w.n = Math.max(w.n, filesOf(el).length); };
  dom.listen(view, 'input', on, true);
  dom.listen(view, 'change', on, true);
  unattendFiles = () => { dom.unlisten(view, 'input', on, true); dom.unlisten(view, 'change', on, true); unattendFiles = () => {}; };
};

// T.put({count}): how many files have arrived in the input that T.fileInput has found:
// those of a folder come a little later. A page that has left has had them.
T.put = async (a) => {
  const w = putting;
  if (!w) return { v: { gone: true } };
  const over = now() + 5000;
  for (;;) {
    if (w.n < 0) w.n = filesOf(w.el).length || -1;
    if (w.n >= a.count || !attached(w.el) || gone() || now() > over) break;
    await passed(20);
  }
  unattendFiles();
  const left = attached(w.el) ? filesOf(w.el).length : 0; // none: pages empty it once they have them
  return { v: { n: Math.max(0, w.n), left, gone: !attached(w.el) || gone() } };
};

// T.scrollTo({t, in, ms, block}): scrolls an element into view, in all that scrolls
// around it.
T.scrollTo = (a) => withFirst(a, async (el, why) => {
  why.e = notShown(el); // the mark at the end of an endless list has no height
  if (why.e) return undefined;
  scrollAll(el, a.block);
  await frame(); // what the page loads when it is scrolled there is asked for by then
  return done;
});
const scrollAll = (el, block) => {
  for (let n = el; n; n = viewOf(n) === window ? null : viewOf(n).frameElement) {
    dom.scrollIntoView(boxOf(n), { block: n === el ? block : 'nearest', inline: 'nearest', behavior: 'instant' });
  }
};

// T.bring({t, in, ms}): scrolls the first match into view if it can be seen by now. What is
// not there is not waited for.
T.bring = async (a) => {
  const r = await looksAt(a, ([el]) => { if (el && notShown(el) === '') scrollAll(el, 'nearest'); });
  await frame(); // the page has heard of it by then
  return r;
};

// T.hasFocus(): the name of what the keys go to, or null where nothing has the focus.
T.hasFocus = async (a) => {
  if (!(await settle(a))) return { n: true };
  let el = dom.active(document);
  for (let inner = el; inner; el = inner || el) {
    const doc = isFrame(inner) && frameDocument(inner), shadow = rootIn(inner);
    inner = doc ? dom.active(doc) : shadow ? dom.activeInShadow(shadow) : null;
  }
  return { v: !el || is(el, 'body', 'html') && !isEditable(el) ? null : nameOf(el) };
};
