// The text of an element as a person reads it.

// T.shown({t, in, ms}): only what can be seen, with shadow roots, a line for each block
// and for each <br>, a tab between the cells of a row, and the values of fields.
T.shown = (a) => withFirst(a, (el) => ({ v: shownText(el) }));

// look is what is known of the style sheets around it.
const shownText = (el, look = lookAround(el)) => {
  const out = { text: '', breaks: 0, space: false, look };
  onlySeen = false;
  faint = !dom.visible(el, orTransparent) && styleOf(el).opacity !== '0';
  showInto(el, out, { depth: 0, sheets: sheetsOf(el, look) });
  faint = false;
  return out.text.trim();
};
// What comes next begins a line, or as many as that after which lines are empty.
const breakLine = (out, n) => { if (out.text) out.breaks = Math.max(out.breaks, n); out.space = false; };
const addShown = (out, s) => {
  if (s === '') return;
  if (out.breaks) { out.text = out.text.replace(/[ \t]+$/, '') + '\n'.repeat(out.breaks); out.breaks = 0; }
  else if (out.space && !/[ \t\n]$/.test(out.text)) out.text += ' ';
  out.space = false;
  out.text += s;
};
const spaceShown = (out) => { out.space ||= out.text !== '' && !out.breaks; };
const showInto = (el, out, c) => {
  if (c.depth > 600) { addShown(out, tidy(dom.text(el))); return; } // no person nests so deep
  const tag = dom.tag(el), s = styleOf(el);
  if (tag === 'br') { if (dom.visible(el)) { out.breaks = 0; if (out.text) out.text = out.text.replace(/[ \t]+$/, '') + '\n'; out.space = false; } return; }
  const listed = tag === 'option' || tag === 'optgroup', display = listed ? (undrawn(el) ? '' : s.display) : never.has(tag) ? '' : drawnAs(el, s);
  if (!display) return;
  if (listed) shaded = s.visibility !== 'visible';
  const line = inTheLine(display), cell = display === 'table-cell', block = !cell && !inlineDisplay.test(display), paragraph = tag === 'p' ? 2 : 1;
  const inner = inElement(c, s, line), field = fieldShown(el), apart = !block && !cell && (field === undefined ? standsApart(el, display) : !line);
  if (block) breakLine(out, paragraph);
  if (cell && cellBefore(el)) { out.space = false; addShown(out, '\t'); }
  const spaced = out.space, length = out.text.length;
  if (apart) spaceShown(out);
  if (field !== undefined) { if (!muted(inner)) addShown(out, field); }
  else {
    const around = hasAround(el, c.sheets);
    inner.sheets = sheetsIn(el, c, out.look);
    if (around) showAround(el, '::before', out);
    eachIn(el, (n) => {
      const type = dom.type(n);
      if (type === 1) showInto(n, out, inner);
      else if ((type === 3 || type === 4) && !muted(inner)) showWords(dom.text(n), s, el, out);
    });
    if (around) showAround(el, '::after', out);
  }
  if (block) breakLine(out, paragraph);
  else if (apart) { if (out.text.length > length) spaceShown(out); else out.space = spaced; }
};
const showAround = (el, part, out) => {
  const g = putAround(el, part);
  if (!g) return;
  const line = inTheLine(g.s.display);
  if (!line) spaceShown(out);
  showWords(g.text, g.s, null, out);
  if (!line) spaceShown(out);
};
const cellBefore = (el) => { for (let n = el.previousElementSibling; n; n = n.previousElementSibling) if (styleOf(n).display === 'table-cell') return true; return false; };
// A text in the case in which it is drawn already comes without its element.
const showWords = (text, s, el, out) => {
  const t = plainText(el ? drawnCase(text, s, el) : text), keeps = s.whiteSpaceCollapse ?? 'collapse';
  if (keeps.startsWith('preserve') && keeps !== 'preserve-breaks' || keeps === 'break-spaces') { addShown(out, t); return; }
  const lines = keeps === 'preserve-breaks' ? t.split('\n') : [t];
  for (const [i, line] of lines.entries()) {
    if (i) { out.text += '\n'; out.space = false; }
    const words = line.replace(collapsing, ' ');
    if (words.startsWith(' ')) spaceShown(out);
    addShown(out, words.replace(/^ | $/g, ''));
    if (words.endsWith(' ') && words !== ' ') spaceShown(out);
  }
};
// onlySeen says that what no person reads is left out.
let onlySeen = false;
const never = new Set([...unreadTags, ...'basefont area map canvas portal fencedframe rp'.split(' ')]);
// drawnAs gives the display of an element, or nothing where it is kept, with all in it,
// from people who look. Styles are slow to read: of most elements two questions are enough.
const lookedFor = { opacityProperty: true, visibilityProperty: true }, orTransparent = { opacityProperty: true };
let shaded = false; // whether the last of them may have no visible text of its own
let faint = false; // what was asked for is in something transparent, as pages begin with that appear slowly
const byVisibility = { visibilityProperty: true };
const drawnAs = (el, s) => {
  if (onlySeen && keptFrom(el)) return '';
  const display = s.display;
  shaded = !dom.visible(el, faint ? byVisibility : lookedFor);
  if (display === 'none' || shaded && display !== 'contents' && !dom.visible(el, faint ? undefined : orTransparent) || faint && s.opacity === '0') return '';
  if (display === 'inline') return display; // what is positioned is a block
  const position = s.position;
  if (position === 'absolute' || position === 'fixed') {
    if (invisible(el, s)) return '';
    const r = dom.rect(el), v = viewOf(el), fixed = position === 'fixed', x = fixed ? 0 : v.scrollX, y = fixed ? 0 : v.scrollY;
    if (sized(r) && (r.right + x <= 0 || r.bottom + y <= 0 || fixed && (r.left >= v.innerWidth || r.top >= v.innerHeight))) return '';
  }
  if (inlineDisplay.test(display)) return display;
  return (dom.clientHeight(el) === 0 || dom.clientWidth(el) === 0) && !is(el, 'hr') && clips(s) || s.contentVisibility === 'hidden' ? '' : display;
};
// untold reports whether a text is one that no person reads.
const untold = (n) => onlySeen && illegible(dom.parent(n));
// muted reports whether the text right in an element cannot be read. It is asked of
// elements that have some. Indents are those of the block that it is in.
const muted = (c) => (c.mute ??= c.shaded && c.style.visibility !== 'visible' || c.style.fontSize === '0px' || (c.block.far ??= farIndent(c.block.style)));
const inElement = (c, s, inline) => ({ ...c, depth: c.depth + 1, style: s, shaded, mute: undefined, block: inline && c.block ? c.block : { style: s, far: undefined } });

// eachIn goes through what is drawn in an element: its shadow root, or what is put into
// its slot. Of details that are closed only the summary is.
const firstChild = get('Node', 'firstChild'), nextSibling = get('Node', 'nextSibling');
const eachIn = (el, f) => {
  const assigned = is(el, 'slot') ? dom.assigned(el) : [];
  if (assigned.length) { for (const x of assigned) f(x); return; }
  const root = rootIn(el);
  if (!root && inClosed(el)) { const head = childNamed(el, 'summary'); if (head) f(head); return; }
  for (let x = firstChild(root || el); x; x = nextSibling(x)) f(x);
};
// putAround gives what style sheets put before or after what is in an element, as far as people see it.
const putAround = (el, part) => {
  const g = generated(el, part, true);
  return g && !(onlySeen && (keptFrom(el) || illegible(el, g.s))) ? { text: drawnCase(g.text, g.s, el), s: g.s } : null;
};
// sheetsIn is what is put around what is in an element, where another tree of the document begins there.
const sheetsIn = (el, c, look) => {
  const assigned = is(el, 'slot') ? dom.assigned(el)[0] : undefined, root = assigned ?? rootIn(el);
  return root ? sheetsOf(root, look) : c.sheets;
};

// What a field shows; undefined for what is none. Passwords are shown to nobody.
const fieldShown = (el) => {
  if (is(el, 'input')) {
    const type = dom.inputType(el);
    return ['password', 'hidden', 'checkbox', 'radio', 'range', 'color', 'file', 'image'].includes(type) ? '' : dom.inputValue(el) || (['submit', 'reset'].includes(type) ? { submit: 'Submit', reset: 'Reset' }[type] : '');
  }
  if (is(el, 'textarea')) return dom.areaValue(el);
  if (is(el, 'select') && closedSelect(el)) return [...dom.selected(el)].map((o) => tidy(o.label || o.text)).join(', ');
  return is(el, 'img', 'video', 'audio', 'canvas', 'iframe', 'object', 'embed') ? '' : undefined;
};
const closedSelect = (el) => !dom.selectMultiple(el) && !(el.size > 1);
