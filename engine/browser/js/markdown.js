// A document as Markdown, as a person sees it: what is hidden is not in it.

// T.markdown({t, in, ms, part, links, images, tables, room}): {url, title, part, text,
// frames, cut} of an element, or of the document where t says none. A frame of another
// origin leaves its number in the text between two characters of code 0, and in frames.
T.markdown = (a) => (a.t ? withFirst(a, (el) => ({ v: writtenOut(dom.doc(el), el, a) })) : ofDocument(a, (doc) => ({ v: writtenOut(doc, null, a) })));

// ofDocument calls f with the document that a place leads to, once it is there: of a frame that
// is coming not only a half, unless it takes long.
const ofDocument = async (a, f) => {
  if (!(await arrived(a))) return { n: true };
  const why = {}, since = now();
  const r = await until(a.ms, () => {
    delete why.e;
    const doc = enter(a.in, why);
    if (doc && doc !== document && dom.state(doc) === 'loading' && now() - since < Math.min(a.ms / 2, mostAsleep)) { why.e = 'Iframe not found: it is still loading'; return undefined; }
    return doc ? f(doc) : undefined;
  });
  return r ?? late('element_not_found', why.e + `, within ${a.of}ms`);
};

const writtenOut = (doc, el, a) => {
  onlySeen = a.seen === true;
  readAnew();
  const look = el ? lookAround(el) : { plain: new Map(), whole: true, each: false };
  Object.assign(look, { formulas: new Map(), tex: a.tex, lacks: false });
  const v = { url: dom.view(doc).location.href, title: doc.title ?? '', part: el ? 'selector' : 'all', text: '', frames: [], cut: false };
  const write = (root, prune, within) => {
    const m = { links: a.links, images: a.images, tables: a.tables, left: a.room, look, prune, frames: [], cut: false, pruned: false, closed: false };
    const out = fresh();
    if (root) writeNode(root, out, { depth: 0, nest: 0, within, mute: false, sheets: sheetsOf(root, look), formulas: formulasIn(dom.root(root), look) }, m);
    const text = joined(flushed(out));
    if (m.closed && !opened && all(document, '*').length < 50000) throw new Hop({ closed: true });
    return Object.assign(v, { text: text.slice(0, a.room).toWellFormed(), frames: m.frames, cut: m.cut || text.length > a.room, pruned: m.pruned });
  };
  if (el) write(el, '', false);
  else if (a.part === 'main') {
    const main = mainPart(doc);
    if (main) { write(main, 'nav', true); v.part = 'main'; }
    if (!v.text) { write(body(doc), 'landmarks', false); v.part = v.pruned && v.text ? 'main' : 'all'; }
    if (!v.text) write(body(doc), '', false);
  } else write(body(doc), '', false);
  delete v.pruned;
  if (look.lacks) v.lacks = true; // formulas whose source only the page's own scripts know
  return v;
};

// mainPart is what the page says is its main part, or its only article where that is most
// of the page.
const mainPart = (doc) => {
  const drawn = (css) => query(doc, 'css', css, false).filter((el) => isElement(el) && dom.visible(el));
  const longest = (list) => list.reduce((best, el) => (!best || dom.text(el).length > dom.text(best).length ? el : best), null);
  const mains = drawn('main,[role=main]');
  if (mains.length) return longest(mains);
  const articles = drawn('article,[role=article]').filter((el) => !above(el) || !dom.closest(dom.parent(el), 'article,[role=article]'));
  return articles.length === 1 && dom.text(articles[0]).length * 2 > dom.text(body(doc)).length ? articles[0] : null;
};

// An output is made of blocks, {k: kind, t: text}, and a run of inline text that is to be
// the next. c says what it stands in: {depth, nest, strong, em, gone, link, heading, cell, within, style}.
const fresh = () => ({ blocks: [], run: '' });
const mdBreak = '\u0001'; // of a line, until it is known what the line is in
const flushed = (out) => { flushRun(out); return out.blocks; };
const flushRun = (out) => {
  const t = tidyRun(out.run);
  out.run = '';
  if (t) out.blocks.push({ k: 'p', t: t.split(mdBreak).map(lineStart).join('  \n') });
};
const tidyRun = (s) => emphasized(s.replace(/[ \t\n\r\f\u00a0]+/g, ' ').replace(/ ?\u0001 ?/g, mdBreak).replace(/^[ \u0001]+|[ \u0001]+$/g, ''));
const joined = (blocks) => {
  let s = '';
  for (const [i, b] of blocks.entries()) s += (i ? b.near ? '\n' : '\n\n' : '') + b.t;
  return s;
};

// What would mean something at the start of a line, or anywhere, is escaped.
const lineStart = (s) => s.replace(/^(#{1,6}(?=\s|$)|[-+*](?=\s|$)|>|=+$|~~~|[-*_](?:\s*[-*_]){2,}$)/, '\\$1').replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2').replace(/^(\[[^\]]*\])(?=:)/, '$1\\');
const special = /[\\\x60*_[\]<&~]/;
const escaped = (s, link) => {
  if (!special.test(s)) return s;
  s = s.replace(/\\(?=[!-/:-@[-`{-~]|$)/g, '\\\\').replace(/[`[]/g, '\\$&').replace(/\*/g, (x, i) => (/\s/.test(s[i - 1] ?? 'x') && /\s/.test(s[i + 1] ?? 'x') ? x : '\\*'));
  if (link) s = s.replace(/]/g, '\\]');
  return s.replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_').replace(/<(?=[a-z/!?]|$)/gi, '\\<').replace(/&(?=#?\w+;)/g, '\\&').replace(/~(?=~)|(?<=\S)~/g, '\\~');
};

const strongTags = new Set(['b', 'strong']), emTags = new Set(['em', 'i', 'cite', 'dfn', 'var']), codeTags = new Set(['code', 'kbd', 'samp', 'tt']), goneTags = new Set(['del', 's', 'strike']);
const deepest = 400, deepestMarks = 20; // each list and quote around a line makes it longer

const drawnIn = (el) => { const list = []; eachIn(el, (x) => list.push(x)); return list; };

const landmark = new Set(['navigation', 'banner', 'contentinfo', 'complementary', 'search']);
// pruned reports whether an element is no part of the main part.
const prunes = (el, tag, c, m) => {
  if (m.prune === '') return false;
  const role = attrText(el, 'role');
  const is = role === '' ? tag === 'nav' || m.prune === 'landmarks' && !c.within && (tag === 'header' || tag === 'footer' || tag === 'aside' || tag === 'search') : m.prune === 'landmarks' ? landmark.has(role) : role === 'navigation';
  if (is) m.pruned = true;
  return is;
};

const writeNode = (n, out, c, m) => {
  const type = dom.type(n);
  if (type === 3 || type === 4) { if (!muted(c) && !untold(n)) writeWords(n, out, c, m); return; }
  if (type !== 1 || m.cut) return;
  const tag = dom.tag(n), formulas = c.formulas;
  if (formulas.size && formulas.has(n) && (tag === 'script' || drawnAs(n, styleOf(n)))) return void writeFormula(formulas.get(n), out, c, m);
  if (never.has(tag)) return;
  if (tag === 'br') { if (dom.visible(n)) out.run += mdBreak; return; }
  const s = styleOf(n), display = drawnAs(n, s);
  if (!display || prunes(n, tag, c, m)) return;
  const line = inlineDisplay.test(display), before = out.run;
  if (!line || !standsApart(n, display)) return void writeElement(n, tag, s, line, out, c, m);
  const written = out.blocks.length, begun = (out.run += ' ');
  writeElement(n, tag, s, line, out, c, m);
  if (out.run !== begun || out.blocks.length !== written) out.run += ' '; else out.run = before;
};
const writeElement = (n, tag, s, line, out, c, m) => {
  const inner = inElement(c, s, line && inTheLine(s.display));
  inner.within = c.within || tag === 'article' || tag === 'section' || tag === 'main';
  if (c.depth > deepest) { if (!muted(inner)) out.run += ' ' + escaped(plainText(dom.text(n)), c.link); return; }
  if (!m.closed && (tag.includes('-') || !firstChild(n)) && hostTag.test(tag) && !rootIn(n) && !askedAbout.has(n)) m.closed = tag.includes('-') || sized(dom.rect(n));
  const f = Object.hasOwn(writers, tag) ? writers[tag] : /^h[1-6]$/.test(tag) ? writeHeading : undefined;
  if (f && (isHTML(n) || tag === 'math' || tag === 'svg')) { if (f(n, out, inner, m, s) !== false) return; }
  const role = f ? '' : attrText(n, 'role');
  if (role === 'heading') return void writeHeading(n, out, inner, m);
  if ((role === 'table' || role === 'grid' || role === 'treegrid') && writers.table(n, out, inner, m) !== false) return;
  if (role === 'img' && attrText(n, 'aria-label')) return void (muted(inner) || image(out, m, attrText(n, 'aria-label'), ''));
  const mark = strongTags.has(tag) ? 'strong' : emTags.has(tag) ? 'em' : goneTags.has(tag) ? 'gone' : '';
  if (mark) return void writeMarked(n, out, inner, m, mark);
  if (codeTags.has(tag)) return void writeCode(n, out, inner, m, s);
  if (line) return void writeInside(n, out, inner, m);
  flushRun(out);
  writeInside(n, out, inner, m);
  flushRun(out);
};
const writeInside = (n, out, c, m) => {
  const around = hasAround(n, c.sheets), inner = inTree(n, c, m);
  if (around) writeAround(n, '::before', out, c, m);
  eachIn(n, (x) => { if (!m.cut) writeNode(x, out, inner, m); });
  if (around) writeAround(n, '::after', out, c, m);
};
// inTree is c for what is in an element, where another tree of the document begins there.
const inTree = (n, c, m) => {
  const assigned = is(n, 'slot') ? dom.assigned(n)[0] : undefined, root = assigned ? dom.root(assigned) : rootIn(n);
  return root ? { ...c, sheets: sheetsOf(root, m.look), formulas: formulasIn(root, m.look) } : c;
};
const writeAround = (n, part, out, c, m) => {
  const g = putAround(n, part);
  if (!g || m.cut) return;
  const gap = inTheLine(g.s.display) ? '' : ' ';
  out.run += gap;
  addWords(g.text, out, c, m);
  out.run += gap;
};
const part = (n, c, m) => { const o = fresh(); writeInside(n, o, c, m); return o; };

// writeBeside is that of a list or a table, which stands before or after it.
const writeBeside = (n, part, out, c, m) => {
  if (!hasAround(n, c.sheets)) return;
  writeAround(n, part, out, c, m);
  flushRun(out);
};

const keepsLines = (p) => { const el = isElement(p) ? p : hostOf(p); return !!el && /^(preserve|break)/.test(styleOf(el).whiteSpaceCollapse); };
const writeWords = (n, out, c, m) => {
  let t = plainText(dom.text(n));
  if (/\S/.test(t)) t = drawnCase(t, c.style, dom.parent(n));
  if (/\S\s*\n\s*\S/.test(t) && keepsLines(dom.parent(n))) t = t.replace(/\r?\n/g, mdBreak);
  addWords(t, out, c, m);
};
const addWords = (t, out, c, m) => {
  if (t.length > m.left) { m.cut = true; t = t.slice(0, m.left).toWellFormed(); }
  m.left -= t.length;
  out.run += escaped(t, c.link);
};

// Emphasis, where it is not around blocks and not in itself. Its signs are set once it is
// known what stands beside them: next to some characters they would be read as such.
const marks = { strong: ['\u000e', '\u000f', '**'], em: ['\u0010', '\u0011', '*'], gone: ['\u0012', '\u0013', '~~'] };
const opens = Object.fromEntries(Object.values(marks).map(([open, close, sign]) => [open, { close, sign }]));
const isMark = /[\u000e-\u0013]/, punctuation = /[\p{P}\p{S}]/u;
const writeMarked = (n, out, c, m, mark) => {
  const p = part(n, { ...c, [mark]: true }, m);
  if (p.blocks.length) { flushRun(out); out.blocks.push(...flushed(p)); return; }
  const [, before, text, after] = /^([\s\u0001]*)([^]*?)([\s\u0001]*)$/.exec(p.run), [open, close] = marks[mark];
  if (!text || c[mark] || c.heading && mark === 'strong') out.run += p.run;
  else if (!before && out.run.endsWith(close)) out.run = out.run.slice(0, -1) + text + close + after;
  else out.run += before + open + text + close + after;
};
const emphasized = (s) => {
  if (!isMark.test(s)) return s;
  const chars = [...s], open = [];
  const near = (i, step) => { do i += step; while (isMark.test(chars[i] ?? '')); return chars[i] ?? ' '; };
  for (let i = 0; i < chars.length; i++) {
    if (opens[chars[i]]) { open.push(i); continue; }
    const at = open[open.length - 1], pair = opens[chars[at]];
    if (!pair || pair.close !== chars[i]) continue;
    open.pop();
    const apart = (inner, outer) => !/\s/.test(inner) && (!punctuation.test(inner) || /\s/.test(outer) || punctuation.test(outer));
    const well = apart(near(at, 1), near(at, -1)) && apart(near(i, -1), near(i, 1));
    chars[at] = chars[i] = well ? pair.sign : '';
  }
  return chars.join('').replace(/[\u000e-\u0013]/g, '');
};

// Code in a line. Links in it stay links.
const writeCode = (n, out, c, m, s) => {
  const raw = rawText(n, m);
  if (raw.includes('\n') && /^preserve$/.test(s.whiteSpaceCollapse) && raw.trim().includes('\n') && !c.link && !c.cell) { flushRun(out); out.blocks.push(fenced(raw, n)); return; }
  const pieces = [{ t: '' }];
  const gather = (x) => {
    const type = dom.type(x);
    if (type === 3 && !untold(x)) pieces[pieces.length - 1].t += plainText(dom.text(x));
    if (type !== 1 || never.has(dom.tag(x)) || !drawnAs(x, styleOf(x))) return;
    const to = is(x, 'a') && m.links && !c.link ? address(x) : '';
    if (to) { pieces.push({ t: rawText(x, m), to }, { t: '' }); return; }
    if (is(x, 'br')) pieces[pieces.length - 1].t += ' ';
    eachIn(x, gather);
  };
  eachIn(n, gather);
  for (const p of pieces) {
    if (!p.t.trim()) { out.run += p.t; continue; }
    const [, before, text, after] = /^(\s*)([^]*?)(\s*)$/.exec(p.t);
    const span = codeSpan(text);
    if (!before && !p.to && out.ticked === out.run.length && out.run.endsWith(tick)) {
      // Two spans side by side would be read as one with other ends, so they are one.
      out.run = /[^`]`$/.test(out.run) && /^`[^`]/.test(span) ? out.run.slice(0, -1) + span.slice(1) : out.run + ' ' + span;
    } else out.run += before + (p.to ? `[${span}](${p.to})` : span);
    out.ticked = out.run.length;
    out.run += after;
    m.left -= p.t.length;
  }
  if (m.left < 0) m.cut = true;
};
const tick = '\x60';
const longestTicks = (s) => Math.max(0, ...[...s.matchAll(/\x60+/g)].map((x) => x[0].length));
const codeSpan = (s) => {
  const ticks = tick.repeat(longestTicks(s) === 0 ? 1 : longestTicks(s) + 1), gap = /^\x60|\x60$/.test(s) ? ' ' : '';
  return ticks + gap + s + gap + ticks;
};

// rawText is the text of code: lines as they are, and one for each block in it.
const rawText = (el, m) => {
  let s = '';
  const go = (n, depth) => {
    const type = dom.type(n);
    if (type === 3) { if (!untold(n)) s += plainText(dom.text(n)); return; }
    if (type !== 1 || depth > deepest) return;
    const tag = dom.tag(n);
    if (never.has(tag) || tag === 'button' || tag === 'svg') return;
    if (tag === 'br') { s += '\n'; return; }
    const st = styleOf(n), display = drawnAs(n, st);
    if (!display || shaded && st.visibility !== 'visible') return;
    const block = !inlineDisplay.test(display) && n !== el && display !== 'table-cell';
    if (block && s && !s.endsWith('\n')) s += '\n';
    for (let x = firstChild(rootIn(n) || n); x; x = nextSibling(x)) go(x, depth + 1);
    if (block && s && !s.endsWith('\n')) s += '\n';
  };
  go(el, 0);
  if (s.length > m.left) { m.cut = true; s = s.slice(0, m.left).toWellFormed(); }
  return s;
};
const languageOf = (el) => {
  for (let n = el, i = 0; n && isElement(n) && i < 4; n = above(n), i++) {
    const said = attrText(n, 'data-lang') || attrText(n, 'data-language') || attrText(n, 'data-code-lang');
    if (/^[\w+#.-]{1,30}$/.test(said)) return said.toLowerCase();
    for (const re of [/(?:^|\s)(?:language|lang|highlight-source|sourceCode|prettyprint lang)-([\w+#.-]{1,30})/i, /(?:^|\s)brush:\s*([\w+#-]{1,30})/i, /(?:^|\s)highlight-([a-z][\w+#]{0,29})(?=\s|$)/i, /(?:^|\s)(?:hljs|sourceCode|shiki)\s+([a-z][\w+#]{0,29})(?=\s|$)/i]) {
      const m = re.exec(attr(n, 'class') ?? '');
      if (m && !/^(none|text|plaintext|default|notranslate|copy|wrapper|light|dark)$/i.test(m[1])) return m[1].toLowerCase();
      if (m && re.source.includes('language')) return '';
    }
    if (i === 0) { const code = one(n, 'code[class],code[data-lang],code[data-language]'); if (code && n !== code) { const l = languageOf(code); if (l) return l; } }
    if (dom.tag(n) === 'code' && !is(dom.parent(n) ?? n, 'pre')) break;
  }
  return '';
};
const fenced = (raw, el) => {
  const t = raw.replace(/\r\n?/g, '\n').replace(/^\n+|\s+$/g, ''), ticks = tick.repeat(Math.max(3, longestTicks(t) + 1));
  return { k: 'code', t: `${ticks}${languageOf(el)}\n${t}\n${ticks}`, raw: t };
};

const anchorHref = get('HTMLAnchorElement', 'href');
const xlink = 'http://www.w3.org/1999/xlink';
const isDrawing = (el) => dom.namespace(el) === 'http://www.w3.org/2000/svg';
// Addresses are absolute. A link to a script leads nowhere.
const address = (el) => {
  const to = isHTML(el) ? is(el, 'a') && dom.hasAttribute(el, 'href') ? anchorHref(el) : '' : is(el, 'a') ? linkAddress(el) : '';
  if (!to) return '';
  return /^(javascript|data|blob):/i.test(to) ? '' : mdAddress(to);
};
const mdAddress = (s) => s.replace(/[()\\<>\s]/g, (x) => '%' + x.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase());
const image = (out, m, alt, src) => {
  if (m.images) { if (out.run.endsWith('!')) out.run = out.run.slice(0, -1) + '\\!'; out.run += `![${escaped(tidy(plainText(alt)), true)}](${src})`; } else if (alt) out.run += escaped(tidy(plainText(alt)), true);
  m.left -= alt.length + src.length;
};
const permalink = /^[#\u00b6\u00a7\u{1f517}\u221e]?$/u;

const writeHeading = (n, out, c, m) => {
  const tag = dom.tag(n), level = /^h[1-6]$/.test(tag) ? +tag[1] : Math.min(6, Math.max(1, parseInt(attr(n, 'aria-level') ?? '2', 10) || 2));
  flushRun(out);
  const p = part(n, { ...c, heading: true }, m);
  flushRun(p);
  const t = p.blocks.map((b) => b.t.replace(/ *\n/g, ' ')).join(' ').replace(/(?<!\\)(#+)$/, '\\$1');
  if (t) out.blocks.push({ k: 'h', t: '#'.repeat(level) + ' ' + t, head: level + 1 });
};

// The lists, with numbers as the page shows them.
const nests = (n, out, c, m) => {
  flushRun(out);
  if (++c.nest <= deepestMarks) return true;
  writeInside(n, out, c, m);
  flushRun(out);
  return false;
};
const writeList = (n, out, c, m) => {
  if (!nests(n, out, c, m)) return;
  const items = [], ordered = is(n, 'ol'), reversed = ordered && dom.hasAttribute(n, 'reversed'), loose = looseIn(items);
  let number = ordered ? n.start : 0;
  writeBeside(n, '::before', out, c, m);
  for (const x of drawnIn(n)) {
    if (!isElement(x) || !is(x, 'li')) { writeNode(x, loose.out, c, m); continue; }
    const s = styleOf(x);
    if (!drawnAs(x, s) || prunes(x, 'li', c, m)) continue;
    loose.take();
    if (ordered && dom.hasAttribute(x, 'value')) number = x.value;
    const p = part(x, inElement(c, s), m);
    flushRun(p);
    if (p.blocks.length) items.push({ blocks: p.blocks, number });
    number += reversed ? -1 : 1;
    if (m.cut) break;
  }
  loose.take();
  pushList(out, items, ordered);
  writeBeside(n, '::after', out, c, m);
};
// looseIn takes what stands in a list and in no item: it goes on with the item before.
const looseIn = (items) => {
  const out = fresh();
  return { out, take: () => {
    const blocks = flushed(out).splice(0);
    if (!blocks.length) return;
    if (items.length) items[items.length - 1].blocks.push(...blocks); else items.push({ blocks, number: 1 });
  } };
};
const pushList = (out, items, ordered) => {
  if (!items.length) return;
  const last = out.blocks[out.blocks.length - 1], other = last?.k === 'list' && last.ordered === ordered && !last.other;
  const tight = items.every((i) => i.blocks.every((b, k) => k === 0 && b.k === 'p' || b.k === 'list'));
  const texts = items.map((i) => {
    const mark = ordered ? Math.max(0, i.number) + (other ? ') ' : '. ') : other ? '* ' : '- ', pad = ' '.repeat(mark.length);
    if (tight) for (const b of i.blocks) b.near = true;
    return mark + joined(i.blocks).replace(/\n(?=[^\n])/g, '\n' + pad);
  });
  out.blocks.push({ k: 'list', ordered, other, t: texts.join(tight ? '\n' : '\n\n') });
};
const writeTerms = (n, out, c, m) => {
  if (!nests(n, out, c, m)) return;
  const items = [], loose = looseIn(items);
  const go = (list) => {
    for (const x of list) {
      if (!isElement(x)) { writeNode(x, loose.out, c, m); continue; }
      if (is(x, 'div')) { go(drawnIn(x)); continue; }
      if (!is(x, 'dt', 'dd')) { writeNode(x, loose.out, c, m); continue; }
      const s = styleOf(x);
      if (!drawnAs(x, s)) continue;
      loose.take();
      const p = part(x, { ...inElement(c, s), strong: is(x, 'dt') }, m), term = is(x, 'dt') && !p.blocks.length;
      flushRun(p);
      if (!p.blocks.length) continue;
      if (term && !p.blocks[0].t.includes('\n')) p.blocks[0].t = `**${p.blocks[0].t}**`;
      if (is(x, 'dt') || !items.length) items.push({ blocks: p.blocks }); else items[items.length - 1].blocks.push(...p.blocks);
    }
  };
  writeBeside(n, '::before', out, c, m);
  go(drawnIn(n));
  loose.take();
  pushList(out, items, false);
  writeBeside(n, '::after', out, c, m);
};

// drawnWithin reports whether a part of a drawing can be seen: the browser says so also of what is in
// something that is not laid out.
const drawnWithin = (el, drawing) => {
  if (!dom.visible(el, lookedFor)) return false;
  for (let n = el; n !== drawing && isElement(n); n = dom.parent(n)) if (styleOf(n).display === 'none' || is(n, 'defs', 'symbol', 'clipPath', 'mask', 'pattern', 'marker')) return false;
  return true;
};

const writers = {
  ul: writeList, ol: writeList, menu: writeList, dl: writeTerms,
  a: (n, out, c, m) => {
    const to = m.links && !c.link ? address(n) : '';
    const p = part(n, { ...c, link: c.link || to !== '' }, m);
    const local = /^#/.test(attrText(n, 'href'));
    if (local && permalink.test(plainText(dom.text(n)).trim()) && !one(n, 'img') && (c.heading || tidyRun(p.run) !== '')) return;
    let bare = tidyRun(p.run);
    if (!bare && !p.blocks.length && !muted(c) && to && !c.heading) bare = escaped(tidy(attrText(n, 'aria-label') || attrText(n, 'title')), true); // a picture of the style sheet's
    if (!to) { if (p.blocks.length) { flushRun(out); out.blocks.push(...flushed(p)); } else out.run += p.run; return; }
    m.left -= to.length;
    if (!p.blocks.length) {
      if (!bare) { out.run += p.run; return; }
      if (out.run.endsWith('!')) out.run = out.run.slice(0, -1) + '\\!';
      out.run += (/^\s/.test(p.run) ? ' ' : '') + `[${bare.replaceAll(mdBreak, ' ')}](${to})` + (/\s$/.test(p.run) ? ' ' : '');
      return;
    }
    // A link around blocks is one of the first of them that has text.
    flushRun(p);
    const first = p.blocks.find((b) => b.k === 'h' || b.k === 'p');
    if (first) { const at = first.head ?? 0; first.t = first.t.slice(0, at) + `[${first.t.slice(at).replace(/ *\n/g, ' ')}](${to})`; }
    flushRun(out);
    out.blocks.push(...p.blocks);
  },
  img: (n, out, c, m) => {
    const alt = attr(n, 'alt'), src = n.currentSrc || n.src || '';
    if (muted(c) || alt !== null && !alt.trim() || !src && !alt) return; // decoration
    image(out, m, alt ?? '', /^https?:/i.test(src) ? mdAddress(src) : '');
  },
  svg: (n, out, c, m) => {
    const title = attrText(n, 'aria-label') || (childNamed(n, 'title') ? dom.text(childNamed(n, 'title')).trim() : '');
    if (!muted(c) && title && attr(n, 'aria-hidden') !== 'true') image(out, m, title, '');
    if (muted(c) || title && attr(n, 'aria-hidden') !== 'true' && !one(n, 'a')) return;
    for (const t of all(n, 'text')) {
      if (!drawnWithin(t, n)) continue;
      const a = dom.closest(t, 'a') ?? one(t, 'a'), to = m.links && !c.link && a && isDrawing(a) ? address(a) : '', text = escaped(tidy(dom.text(t)), c.link || to !== '');
      if (text && (to || !title)) { out.run += to ? ` [${text}](${to}) ` : ` ${text} `; m.left -= text.length + to.length; }
    }
  },
  math: (n, out, c, m) => {
    const tex = oneLine(annotated(n));
    if (!tex || onlySeen && !isDrawnToo(n, tex)) return false;
    writeFormula({ tex, display: attr(n, 'display') === 'block' }, out, c, m);
  },
  video: (n, out, c, m) => writeMedia(n, out, c, m), audio: (n, out, c, m) => writeMedia(n, out, c, m),
  hr: (n, out) => { flushRun(out); out.blocks.push({ k: 'hr', t: '---' }); },
  pre: (n, out, c, m) => {
    const raw = muted(c) ? '' : rawText(n, m);
    if (!raw.trim()) return;
    m.left -= raw.length;
    flushRun(out);
    out.blocks.push(fenced(raw, n));
  },
  blockquote: (n, out, c, m) => {
    if (!nests(n, out, c, m)) return;
    const t = joined(flushed(part(n, c, m)));
    if (t) out.blocks.push({ k: 'quote', t: t.replace(/^/gm, '> ').replace(/^> $/gm, '>') });
  },
  sup: (n, out, c, m) => raised(n, out, c, m, 'sup'), sub: (n, out, c, m) => raised(n, out, c, m, 'sub'),
  rt: (n, out, c, m) => { const p = part(n, c, m); if (tidyRun(p.run)) out.run += `(${tidyRun(p.run)})`; },
  table: (n, out, c, m) => writeTable(n, out, c, m),
  object: (n, out, c, m) => writeFrame(n, out, c, m), embed: (n, out, c, m) => writeFrame(n, out, c, m),
  iframe: (n, out, c, m) => writeFrame(n, out, c, m), frame: (n, out, c, m) => writeFrame(n, out, c, m),
  input: (n, out, c) => {
    const type = dom.inputType(n);
    if (muted(c)) return;
    if (type === 'checkbox' || type === 'radio') { out.run += n.checked ? '[x] ' : '[ ] '; return; }
    const v = fieldShown(n);
    if (v) out.run += ' ' + escaped(plainText(v), c.link) + ' ';
  },
  textarea: (n, out, c) => { if (!muted(c) && dom.areaValue(n)) out.run += ' ' + escaped(plainText(dom.areaValue(n)), c.link).replace(/\n/g, mdBreak) + ' '; },
  select: (n, out, c) => {
    if (muted(c)) return;
    const list = closedSelect(n) ? [...dom.selected(n)] : [...n.options];
    out.run += ' ' + escaped(plainText(list.map((o) => tidy(o.label || o.text)).join(', ')), c.link) + ' ';
  },
};
const raised = (n, out, c, m, tag) => {
  const p = part(n, c, m), t = tidyRun(p.run);
  if (p.blocks.length) { flushRun(out); out.blocks.push(...flushed(p)); return; }
  out.run += !t || /[[<]/.test(t) ? p.run : `<${tag}>${t}</${tag}>`;
};
const writeMedia = (n, out, c, m) => {
  const src = n.currentSrc || n.src || '', name = attrText(n, 'aria-label') || attrText(n, 'title') || dom.tag(n);
  if (muted(c) || !/^https?:/i.test(src)) return;
  out.run += m.links && !c.link ? ` [${escaped(plainText(name), true)}](${mdAddress(src)}) ` : ` ${escaped(plainText(name), c.link)} `;
};

// A frame is read where it stands; those of other origins by the browser.
const maxWrittenFrames = 100;
const writeFrame = (n, out, c, m) => {
  if (!showsPage(n)) return;
  const r = dom.rect(n);
  if (muted(c) || r.width < 3 || r.height < 3 || m.frames.length + (m.entered ?? 0) >= maxWrittenFrames) return;
  const d = frameDocument(n);
  flushRun(out);
  if (d) {
    m.entered = (m.entered ?? 0) + 1;
    const root = body(d);
    if (root) { writeNode(root, out, { depth: c.depth + 1, nest: c.nest, within: true, mute: false, sheets: sheetsOf(d, m.look), formulas: formulasIn(d, m.look) }, m); flushRun(out); }
    return;
  }
  const number = numberOf(n);
  m.frames.push(number);
  out.blocks.push({ k: 'frame', t: `\u0000${number}\u0000` });
};
