// Marking texts, and the clipboard.

// T.selectText({t, in, ms, text}): marks the text of an element, or the first place in
// it that has a text, and gives whether it takes what is typed.
T.selectText = (a) => withFirst(a, (host, why) => {
  const el = fieldIn(host) || host;
  why.e = hiddenFor(el);
  if (why.e) return undefined;
  intoView(el);
  if (is(el, 'input', 'textarea')) {
    focusOn(el);
    if (a.text === undefined) { el.select(); return { v: { takes: true } }; }
    const at = valueOf(el).indexOf(a.text);
    if (at < 0) { why.c = 'invalid_value'; why.e = 'does not contain that text'; return undefined; }
    try { el.setSelectionRange(at, at + a.text.length); } catch { return fail('invalid_value', `Element "${a.t.a}" is an input of type ${dom.inputType(el)}, of which only all can be selected`); }
    return { v: { takes: true } };
  }
  if (isEditable(el)) focusOn(editedAs(el));
  const range = textRange(el, a.text);
  if (!range) { why.c = 'invalid_value'; why.e = a.text === undefined ? 'has no text' : 'does not contain that text'; return undefined; }
  const selection = viewOf(el).getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  return { v: { takes: isEditable(el) } };
});

// editedAs is the whole that an editable element is a part of: that takes the focus.
const editedAs = (el) => { for (let p; (p = above(el)) && isElement(p) && isEditable(p);) el = p; return el; };

// textRange is the first range in an element with a text, or all of the element's text.
const textRange = (el, text) => {
  const doc = dom.doc(el), nodes = [];
  const walk = (n) => { for (const c of inside(n)) dom.type(c) === 3 ? nodes.push(c) : isElement(c) && walk(c); };
  walk(el);
  if (!nodes.length) return null;
  const range = dom.range(doc), all = nodes.map(dom.text).join('');
  const at = text === undefined ? 0 : all.indexOf(text), end = text === undefined ? all.length : at + text.length;
  if (at < 0 || all.trim() === '') return null;
  let seen = 0, begun = false;
  for (const n of nodes) {
    const length = dom.text(n).length;
    if (!begun && at < seen + length) { range.setStart(n, at - seen); begun = true; }
    if (begun && end <= seen + length) { range.setEnd(n, end - seen); return range; }
    seen += length;
  }
  return null;
};

// T.copy({text, html}): puts a text, and its form as HTML, into the clipboard, as
// copying does. The page is not told.
T.copy = (a) => {
  const put = (e) => {
    e.stopImmediatePropagation();
    e.preventDefault();
    e.clipboardData.setData('text/plain', a.text);
    if (a.html !== null) e.clipboardData.setData('text/html', a.html);
  };
  dom.listen(window, 'copy', put, true);
  const copied = dom.command(document, 'copy', false, null);
  dom.unlisten(window, 'copy', put, true);
  return { v: copied };
};
