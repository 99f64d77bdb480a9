// A tree is made short: what says nothing, and what says again what stands around it, is
// left out.

// Names of these say which one it is, also where what is in them says the same.
const keepTheirNames = new Set('alertdialog dialog banner complementary contentinfo form main navigation region search application document figure group grid listbox menu menubar radiogroup tablist tabpanel toolbar tree treegrid table columnheader rowheader'.split(' '));

// namedFrom are the nodes whose texts make the name of a node, where its content does. Not those
// that are told of otherwise: a closed list, all of whose options are shown, and what is
// called after another element or the title in it.
const namedFrom = (node) => {
  if (node.name === '' || !node.el || onlyTexts(node) || !namedByContent.has(node.role) || !factsKnown.get(node.el)?.told) return noItems;
  const out = [];
  const visit = (n) => {
    for (const c of n.c) {
      if (typeof c === 'string') continue;
      const fact = factsKnown.get(c.el);
      if (fact?.text === undefined || tidy(fact.text) === '') continue;
      if (c.can && !toldOtherwise(c)) out.push(c);
      if (fact.told) visit(c);
    }
  };
  visit(node);
  return out;
};
const toldOtherwise = (c) => c.role === 'combobox' && is(c.el, 'select') || dom.hasAttribute(c.el, 'aria-labelledby') || !isHTML(c.el) && attrText(c.el, 'aria-label') === '' && childNamed(c.el, 'title') !== undefined;
const onlyTexts = (node) => node.c.every((c) => typeof c === 'string');
const oneText = (node) => (node.c.length === 1 && typeof node.c[0] === 'string' ? node.c[0] : undefined);
const hasProps = (node) => node.u !== undefined || node.h !== undefined || node.ghost;

// flush adds the text between two nodes to a list, and gives the empty text that follows.
const flush = (text, list) => {
  if (text !== '' && text !== ' ') { const t = tidy(text); if (t !== '') list.push(t); }
  return '';
};

// distil gives what replaces a node: the node itself, or a list of what was in it. said
// has the nodes with texts that so far appear only in the name of an element around them.
const distil = (node, parent, underPointer, said) => {
  const from = node.can ? namedFrom(node) : noItems;
  for (const n of from) said.add(n);
  if (node.can && !(node.role === 'generic' && onlyTexts(node))) said.delete(node);
  const clicked = node.pointer && node.can && !underPointer;
  const under = underPointer || clicked;
  let text = '';
  const list = [];
  for (const c of node.c) {
    if (typeof c === 'string') { text += c; continue; }
    const d = distil(c, node, under, said);
    if (!Array.isArray(d)) { text = flush(text, list); list.push(d); continue; }
    for (const one of d) if (typeof one === 'string') text += one; else { text = flush(text, list); list.push(one); }
  }
  flush(text, list);
  node.c = list.length === 1 && list[0] === node.name ? [] : list;
  node.full = node.name;
  if (!parent) return node;
  if (node.unseen) return node.c;
  if (node.role === 'img' && !node.name && !node.c.length && !clicked) return noItems;
  if (from.length) {
    if (!keepTheirNames.has(node.role) && from.every((n) => !said.has(n))) node.name = '';
    else for (const n of from) said.delete(n);
  }
  if (node.role === 'generic' && !hasProps(node) && node.c.length === 1 && typeof node.c[0] !== 'string') {
    const child = node.c[0];
    if (child.role === 'generic' && !child.name && !child.active && !hasProps(child) && oneText(child) !== undefined) node.c = [oneText(child)];
  }
  if (parent.name && node.role === 'generic' && !node.active && !hasProps(node)) {
    const says = node.name ? (node.c.length ? undefined : node.name) : oneText(node);
    if (says !== undefined && says === parent.name) { if (node.can) said.add(node); return noItems; }
  }
  if (node.role === 'generic' && !node.name && node.c.length <= 1 && node.c.every((c) => typeof c !== 'string' && c.can) && (node.c.length || !clicked)) return node.c;
  return node;
};

// writeTree gives the tree as the service takes it, with numbers. Of an interactive one only
// what can be acted upon is there, with headings, dialogs and frames.
const actsOn = (node) => node.can && (byHand(node.el, node.role) || node.clicks || /^\s*\d/.test(attr(node.el, 'tabindex') ?? '') || isEditable(node.el) && !isEditable(above(node.el) ?? node.el));
const orients = new Set(['heading', 'dialog', 'alertdialog', 'iframe', 'alert', 'status']);
const writeTree = (top, a) => {
  const alike = new Map(); // by place, role and name: how often that is there
  const at = (of, key) => { let m = of.get(key); if (!m) of.set(key, (m = new Map())); return m; };
  const count = (n, under, where, here) => {
    n.clicks = n.pointer && !under;
    n.where = where;
    if (n.can && n.full) {
      const so = at(here, n.role), known = so.get(n.full);
      if (known) { known.times++; n.alike = known; } else so.set(n.full, (n.alike = { times: 1 }));
    }
    const list = n.c;
    if (list.length === 0 || list.length === 1 && typeof list[0] === 'string') return;
    const part = n.el ? placePart(n.el, n.role, n.full) : '', inner = where + part, there = part === '' ? here : at(alike, inner);
    for (let i = 0; i < list.length; i++) if (typeof list[i] !== 'string') count(list[i], under || n.clicks, inner, there);
  };
  count(top, false, '', at(alike, ''));
  // Texts of an interactive tree are not shown; they say what has changed.
  let lines = 0; // elements so far
  const write = (list, deep) => {
    let out = '';
    for (const n of list) {
      if (typeof n === 'string') out += a.interactive ? `|${deep}?${inLine(upTo(n, 500))}` : `|${deep}'${inLine(n)}`;
      else if (!a.interactive || n.role === 'iframe' || orients.has(n.role) && (n.full || n.c.length) || actsOn(n)) out += line(n, deep);
      else out += write(n.c, deep);
    }
    return out;
  };
  const line = (n, deep) => {
    lines++;
    const acts = actsOn(n), name = a.interactive ? n.full : n.name;
    let out = `|${deep}.${n.role}`;
    if (name) out += lineField('n', cutName(name));
    if (!name && n.full && a.depth !== undefined) out += lineField('f', cutName(n.full));
    if (n.s || n.active || n.ghost) {
      const s = [...(n.s ?? [])];
      if (n.active) s.splice(s.filter((x) => /^(checked|disabled|expanded)/.test(x)).length, 0, 'active');
      if (n.ghost) s.push('aria-hidden');
      out += lineField('s', s.join(' '));
    }
    if (n.can) {
      out += `^e${referTo(n.el, n.role, n.full, n.where, n.alike?.times === 1, acts)}`;
      if (n.clicks) out += '^p';
      if (n.full && !name) out += lineField('k', cutName(n.full));
    }
    if (n.u !== undefined) out += lineField('u', n.u);
    if (n.h !== undefined) out += lineField('h', n.h);
    if (n.b !== undefined) out += lineField('b', n.b.map(finite).join());
    if (n.x !== undefined) out += lineField('x', `${n.x}`) + lineField('o', frameOrigin(n.el, a.at).map(finite).join());
    if (acts) out += '^i';
    if (!a.interactive) return out + write(n.c, deep + 1);
    const before = lines, c = write(acts ? n.c.filter((x) => typeof x !== 'string') : n.c, deep + 1);
    return out + withOwnWords(n, c, lines === before, deep + 1, line);
  };
  return write(top.c, 0);
};
// The tree goes to the service as one text, not as JSON: with a text for each field, most of
// it would be quotes, which are escaped and taken apart several times on the way. Each line
// begins with | and how many levels down it is. Then ' is a text and ? one that is shown only
// where it has changed; a dot is an element, with its role and fields: ^, a letter, and what it
// is, as treeNode in the service has them. These marks are written otherwise in texts.
const lineMarks = /[|^~]/, inLine = (s) => (lineMarks.test(s) ? s.replace(/[|^~]/g, (c) => (c === '|' ? '~1' : c === '^' ? '~2' : '~0')) : s);
const lineField = (name, s) => `^${name}${inLine(s)}`;
const finite = (x) => (Number.isFinite(x) ? x : 0);
// A field says its value, and what has no name its words, also where texts are left out. c is
// what is in the node, as it is written, and quiet whether that has no elements.
const fewOptions = 10;
const optionsIn = (n) => n.c.flatMap((c) => (typeof c === 'string' ? [] : c.role === 'option' ? [c] : optionsIn(c)));
const withOwnWords = (n, c, quiet, deep, line) => {
  const t = n.c.filter((x) => typeof x === 'string').join(' ');
  if (is(n.el, 'select')) {
    const options = optionsIn(n), value = tidy([...dom.selected(n.el)].map((o) => dom.text(o)).join(', '));
    return options.length <= fewOptions ? options.map((o) => line(o, deep)).join('') : value ? `|${deep}'${inLine(value)}` : '';
  }
  return quiet && t && (typedIn.has(n.role) || !n.full || n.role === 'slider') ? `|${deep}'${inLine(upTo(t, 200))}` : c;
};
const foreignIn = (n, a) => n.c.flatMap((c) => (typeof c === 'string' ? [] : c.x !== undefined ? [{ e: referTo(c.el, c.role, c.full, placeOfElement(c.el), false, false), o: frameOrigin(c.el, a.at) }] : foreignIn(c, a)));
const cutName = (s) => (s.length > 900 ? upTo(s, 100) : s);
const frameOrigin = (el, at) => {
  const o = mapped(contentOf(el), 0, 0), p = mapped(offset(el), o.x, o.y);
  return [p.x + (at?.[0] ?? 0), p.y + (at?.[1] ?? 0)];
};
const birth = `${performance.timeOrigin}`;

// T.snapshot({t, in, ms, free, interactive, depth, boxes, urls, at, find, limit}): the
// tree of the page, of a frame, or of what is in an element, and the next free number.
// With find the elements that are most like some words.
T.snapshot = async (a) => {
  freeNumber = Math.max(freeNumber, a.free);
  if (a.t) return asText(await withFirst(a, (el) => pictureOfTree(el, a)));
  if (!(await arrived(a))) return { n: true };
  const why = {};
  const r = await until(a.ms, () => {
    const doc = enter(a.in, why);
    return doc && dom.rootElement(doc) ? pictureOfTree(doc, a) : undefined;
  });
  return r ? asText(r) : late('element_not_found', (why.e ?? 'There is no document') + `, within ${a.of}ms`);
};
// asText is a reply as T.run gives it, which counts its bytes only where they may be too many.
const asText = (r) => {
  if (r.v === undefined) return r;
  tellNoted(r);
  const s = JSON.stringify(r);
  return s.length * 3 > most || s.includes('\\ud') ? r : inASCII(s);
};
// inASCII writes other characters of JSON as escapes where there are few: on its way to the
// service, a text with one of them takes more than twice as long as one without.
const beyond = /[^\x00-\x7f]/g;
const inASCII = (s) => {
  let left = s.length / 50;
  beyond.lastIndex = 0;
  while (left-- > 0) if (!beyond.test(s)) return s.replace(beyond, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return s;
};
// pictureOfTree is the reply to it. Closed shadow roots that may be there are opened first.
const pictureOfTree = (root, a) => {
  const began = now();
  readAnew();
  const look = lookAt(a, dom.type(root) === 9), sheets = (el) => decorated(dom.root(el), look);
  factsKnown = new Map();
  labelsKnown = labelsIn(look);
  undecorated = (el) => { const plain = factsKnown.get(el)?.plain; if (plain !== undefined) return plain; const by = sheets(el); return by === '' || !isDecorated(el, by); };
  try {
    const top = grow(root, look);
    if (look.host && !a.opened && look.nodes < 50000) return { x: { closed: true } };
    distil(top, null, false, new Set());
    return toldOf(top, look, a, began);
  } finally { factsKnown = labelsKnown = undecorated = null; }
};
const toldOf = (top, look, a, began) => {
  const out = { d: birth, url: upTo(location.href, 500), title: upTo(tidy(titleOf(document)), 200), cut: look.cut };
  if (a.find !== undefined) { out.found = mostLike(top, a); out.foreign = foreignIn(top, a); } else out.tree = writeTree(top, a);
  out.free = freeNumber;
  out.took = now() - began;
  return { v: out };
};

// mostLike are the nodes that are most like some words: by their names, and by what
// stands around them.
const roleWords = { textbox: 'text field input', searchbox: 'search field input', combobox: 'select dropdown list field', checkbox: 'checkbox tick', link: 'link', button: 'button', radio: 'radio choice option', spinbutton: 'number field', slider: 'slider', heading: 'heading title', iframe: 'frame', img: 'image picture icon' };
const wordList = (s) => { const low = tidy(s).toLowerCase(); return low.split(/[^\x00-\x7f]/.test(low) ? /[^\p{L}\p{N}]+/u : /[^a-z0-9]+/).filter(Boolean); };
// sayingWords gives the question whether a word is in what a node says. Most say none of the
// words, so its text is taken apart at last.
const inWord = (c) => c >= 48 && c <= 57 || c >= 97 && c <= 122;
const sayingWords = (n) => {
  const raw = dom.text(n.el), short = raw.length < 2000, low = tidy(n.full + ' ' + (short ? raw : '')).toLowerCase();
  let text, words;
  const said = () => (text ??= n.full + ' ' + (short ? spaced(n.el).join('') : ''));
  if (/[^\x00-\x7f]/.test(low)) return (w) => (words ??= new Set(wordList(said()))).has(w);
  return (w) => {
    if (!low.includes(w)) return false;
    words ??= tidy(said()).toLowerCase();
    for (let i = words.indexOf(w); i >= 0; i = words.indexOf(w, i + 1)) if (!inWord(words.charCodeAt(i - 1)) && !inWord(words.charCodeAt(i + w.length))) return true;
    return false;
  };
};
const mostLike = (top, a) => {
  const wanted = wordList(a.find), best = [], items = [];
  const visit = (n, around, under) => {
    n.clicks = n.pointer && !under;
    const item = namelessItems.has(n.role) || n.role === 'dialog' || n.role === 'form' || n.role === 'region' || n.role === 'navigation' ? n : around;
    if (n.can && n.role !== 'iframe') items.push([n, around]);
    for (const c of n.c) if (typeof c !== 'string') visit(c, item, under || n.clicks);
  };
  visit(top, null, false);
  const near = new Map(), isNear = (n, w) => { let says = near.get(n); if (!says) near.set(n, (says = sayingWords(n))); return says(w); };
  // Many elements of a page say the same: each text is looked at once.
  const likeWords = likeTo(a.find), likes = new Map(), like = (t) => { let v = likes.get(t); if (v === undefined) likes.set(t, (v = likeWords(t))); return v; };
  const lists = new Map(), wordsOfText = (t) => { let v = lists.get(t); if (!v) { const w = wordList(t); lists.set(t, (v = { all: new Set(w), long: w.filter((x) => x.length > 3) })); } return v; };
  const ofRoles = new Map(), wordsOfRole = (r) => { let v = ofRoles.get(r); if (!v) ofRoles.set(r, (v = wordsOfText(`${r} ${roleWords[r] ?? ''}`))); return v; };
  const has = (p, w) => p.all.has(w) || w.length > 3 && p.long.some((h) => h.startsWith(w) || w.startsWith(h));
  for (const [n, around] of items) {
    const acts = actsOn(n), text = n.full || n.h || oneText(n) || '';
    if (text === '' && !acts) continue;
    const own = Math.max(like(text), n.h ? like(n.h) : 0);
    const ofText = wordsOfText(text), ofRole = wordsOfRole(n.role), ofHint = n.h ? wordsOfText(n.h) : null;
    let hits = 0;
    for (const w of wanted) hits += has(ofText, w) || has(ofRole, w) || ofHint && has(ofHint, w) ? 1 : around && isNear(around, w) ? 0.7 : 0;
    const covered = wanted.length ? hits / wanted.length : 0;
    const score = own * 0.45 + covered * 0.4 + (acts ? 0.15 : n.role === 'heading' ? 0.05 : 0);
    if (own > 0.2 || covered >= 0.5) best.push([score, n, around, acts, covered]);
  }
  best.sort((x, y) => y[0] - x[0]);
  // Where the best has all the words, those that lack some are something else.
  const enough = best.length && best[0][4] >= 0.8 ? best[0][4] - 0.2 : 0;
  return best.filter(([score, , , , covered]) => score >= 0.35 && score >= best[0][0] * 0.5 && covered >= enough)
    .filter(([, n], i, all) => !all.slice(0, i).some(([, , around]) => around === n)) // an earlier one says that it is in it
    .slice(0, a.limit).map(([score, n, around, acts]) => {
    let line = `|0.${n.role}^e${referTo(n.el, n.role, n.full, placeOfElement(n.el), false, acts)}`;
    if (n.full) line += lineField('n', cutName(n.full));
    if (n.s) line += lineField('s', n.s.join(' '));
    if (n.clicks) line += '^p';
    if (n.h) line += lineField('h', n.h);
    if (n.u) line += lineField('u', n.u);
    const t = oneText(n);
    if (t !== undefined && t !== n.full) line += `|1'${inLine(upTo(t, 200))}`;
    const out = { q: Math.round(score * 100) / 100, tree: line };
    if (around) { out.ar = around.role; out.an = around.full && around.full.length <= 80 ? around.full : a.seen ? upTo(tidy(wordsIn(around)), 60) : aroundWords(around); }
    return out;
  });
};
// wordsIn are the words that the tree has of a node, without what was left out.
const wordsIn = (n) => n.c.map((c) => (typeof c === 'string' ? c : c.full || wordsIn(c))).join(' ');
const aroundWords = (n) => { const h = peer(() => query(n.el, 'css', 'h1,h2,h3,h4,h5,h6,th', false))[0]; return upTo(tidy(dom.text(h && isElement(h) ? h : n.el).slice(0, 500)), 60); };
