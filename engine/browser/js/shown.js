// The text of an element as a person reads it.

// T.shown({t, in, ms}): only what can be seen, with shadow roots, a line for each block
// and for each <br>, a tab between the cells of a row, and the values of fields.
T.shown = (a) => withFirst(a, (el) => ({ v: shownText(el) }));

const shownText = (el) => {
  const out = { text: '', breaks: 0, space: false };
  showInto(el, out);
  return out.text.trim();
};
// What comes next begins a line, or as many as that after which lines are empty.
const breakLine = (out, n) => { if (out.text) out.breaks = Math.max(out.breaks, n); out.space = false; };
const addShown = (out, s) => {
  if (s === '') return;
  if (out.breaks) { out.text = out.text.replace(/[ \t]+$/, '') + '\n'.repeat(out.breaks); out.breaks = 0; }
  else if (out.space && !/\s$/.test(out.text)) out.text += ' ';
  out.space = false;
  out.text += s;
};
const blockLike = /^(block|flex|grid|list-item|flow-root|table|table-caption|table-row|table-row-group|table-header-group|table-footer-group)$/;
const showInto = (el, out, depth = 0) => {
  if (depth > 600) { addShown(out, tidy(dom.text(el))); return; } // no person nests so deep
  if (undrawn(el)) return;
  const s = styleOf(el), tag = dom.tag(el), field = fieldShown(el);
  if (invisible(el, s)) return;
  if (tag === 'br') { out.breaks = 0; if (out.text) out.text = out.text.replace(/[ \t]+$/, '') + '\n'; out.space = false; return; }
  const block = blockLike.test(s.display), paragraph = tag === 'p' ? 2 : 1;
  if (block) breakLine(out, paragraph);
  if (s.display === 'table-cell' && cellBefore(el)) { out.space = false; addShown(out, '\t'); }
  if (s.visibility !== 'visible') for (const n of inside(el)) { if (isElement(n)) showInto(n, out, depth + 1); }
  else if (field !== undefined) addShown(out, field);
  else if (is(el, 'details') && !dom.hasAttribute(el, 'open')) { const head = childNamed(el, 'summary'); if (head) showInto(head, out, depth + 1); }
  else {
    const assigned = is(el, 'slot') ? dom.assigned(el) : [];
    for (const n of assigned.length ? assigned : inside(el)) {
      const type = dom.type(n);
      if (type === 1) showInto(n, out, depth + 1);
      else if (type === 3) showWords(dom.text(n), s, out);
    }
  }
  if (block) breakLine(out, paragraph);
  else if (s.display !== 'inline' && s.display !== 'contents' && s.display !== 'table-cell') out.space = true;
};
const cellBefore = (el) => { for (let n = el.previousElementSibling; n; n = n.previousElementSibling) if (styleOf(n).display === 'table-cell') return true; return false; };
const cases = { uppercase: (t) => t.toUpperCase(), lowercase: (t) => t.toLowerCase(), capitalize: (t) => t.replace(/(^|[\s-])(\p{L})/gu, (all, at, c) => at + c.toUpperCase()) };
const showWords = (text, s, out) => {
  const t = (cases[s.textTransform] ?? ((x) => x))(text).replace(/[\u200b\u00ad]/g, '');
  const keeps = s.whiteSpaceCollapse ?? 'collapse';
  if (keeps.startsWith('preserve') && keeps !== 'preserve-breaks') { addShown(out, t); return; }
  const lines = keeps === 'preserve-breaks' ? t.split('\n') : [t];
  for (const [i, line] of lines.entries()) {
    if (i) out.text += '\n';
    if (/^[ \t\n\r\f]/.test(line)) out.space ||= out.text !== '' && !out.breaks;
    addShown(out, line.replace(/[ \t\n\r\f]+/g, ' ').trim());
    if (/\S[ \t\n\r\f]+$/.test(line)) out.space = true;
  }
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
