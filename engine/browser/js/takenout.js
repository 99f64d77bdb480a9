// Fields out of which a page takes the text while it is typed: chats, tags, and codes that the
// page draws in boxes of its own.

// takesOut notes with each character whether the page has emptied the field with it. What
// the field had until then is a piece. held is whether it had just that.
const takesOut = (w, has) => {
  const at = w.chars.length - w.left + 1; // so many characters have been typed
  if (has !== '' || at <= w.part || !byCharacters(w)) return;
  const text = w.chars.slice(w.part, at).join(''), one = at - w.part === 1;
  if (one ? activeIn(w.el) !== w.el && !isEditable(w.el) : w.last === '') return; // a key that has gone past it
  if (at === 1) w.stood = times(readsNear(w.el), squash(w.text));
  w.pieces.push({ text, held: one || w.last + w.chars[at - 1] === (w.part ? '' : w.base) + text });
  w.part = at;
};
const byCharacters = (w) => w.lines.length === 1 && w.keys === w.chars.length && !w.blind && !isPart(w.el);
const tookAll = (w) => {
  if (w.chars.length > 1 && w.part < w.chars.length && byCharacters(w) && !attached(w.el) && w.lost + w.fell + w.left === 0) { // the last of it was drawn anew
    w.pieces.push({ text: w.chars.slice(w.part).join(''), held: true });
    w.part = w.chars.length;
  }
  return w.chars.length > 1 && w.part === w.chars.length && w.pieces.length > 0;
};

// standsInPage reports whether what was taken out of a field is to be read elsewhere in the
// page. Of single characters the text as a whole has to have come: each of them may have
// been there before.
const standsInPage = (w, el, pieces = w.pieces) => {
  if (pieces.some((p) => !p.held)) return false;
  const page = readsNear(el);
  if (pieces.every((p) => [...p.text].length === 1)) return w.stood !== undefined && times(page, squash(w.text)) > w.stood;
  return pieces.every((p) => page.includes(squash(p.text.replace(/^[\s,;]+|[\s,;]+$/g, ''))));
};
const times = (all, part) => (part === '' ? 0 : all.split(part).length - 1);

// readsNear is what is written in the document of a field, and what its other fields hold.
const notRead = ['script', 'style', 'noscript', 'template', 'head'];
const readsNear = (field) => {
  let out = '', left = 200000;
  const read = (n) => {
    for (const c of inside(n)) {
      if (--left < 0) return;
      if (dom.type(c) === 3) out += dom.text(c);
      else if (!isElement(c) || c === field || is(c, ...notRead)) continue;
      else if (is(c, 'input', 'textarea')) out += valueOf(c);
      else read(c);
    }
  };
  const page = body(dom.doc(field));
  if (page) read(page);
  return squash(out);
};

// leftOfPieces is what is still to be typed where a page has taken pieces out of a field and
// then given the focus elsewhere, or drawn the field anew: what it has is not typed twice.
const leftOfPieces = (w, el, got) => {
  if (!byCharacters(w)) return '';
  if (w.part > 0 && attached(w.el)) {
    const rest = w.chars.slice(w.part).join('');
    return rest.startsWith(got) ? rest.slice(got.length) : '';
  }
  const at = w.chars.length - w.lost - w.fell; // drawn anew with the last character of a piece
  if (at - w.part < 2 || at >= w.chars.length) return '';
  const pieces = [...w.pieces, { text: w.chars.slice(w.part, at).join(''), held: true }];
  return standsInPage(w, el, pieces) ? w.chars.slice(at).join('') : '';
};
