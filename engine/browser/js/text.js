// The rules by which texts are read. The three readers have them in common: visible text
// (shown.js), Markdown (markdown.js) and snapshots (tree.js) with the names in them (roles.js).
// So has whatever looks for a text. The table of docs/texts.md has a row for each rule, and
// says where innerText differs.

// Nobody sees these characters, and they are not typed when somebody looks for a text. What
// joins letters and emoji stays.
const unseenSigns = /[\u0000-\u0008\u000b\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu;
const anyUnseen = /[\u0000-\u0008\u000b\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\udb40]/;
const plainText = (s) => (anyUnseen.test(s) ? s.replace(unseenSigns, '') : s);
// A no-break space, and others that the page has set on purpose, do not go with these.
const collapsing = /[ \t\n\r\f]+/g;

// Of these nothing is read, wherever they are.
const unreadTags = 'script style noscript template head title meta link base param source track datalist'.split(' ');

// What stands apart from the text beside it, by a line or by a space, and what is a part of the line.
const inlineDisplay = /^(inline|ruby|contents|none|math|block math)/;
const inTheLine = (display) => display === 'inline' || display === 'contents' || display.endsWith('math');
// A box in a line stands apart, but not where each letter of a word is one.
const standsApart = (el, display) => !inTheLine(display) && (dom.text(el).trim().length > 1 || rootIn(el) !== null);

// farIndent is whether a block begins its text far outside of itself, to put a picture there.
const farIndent = (s) => s.textIndent !== '0px' && parseFloat(s.textIndent) < -500;

// drawnCase is a text in the upper or lower case in which a style has it drawn.
const cases = {
  uppercase: (t, lang) => t.toLocaleUpperCase(lang), lowercase: (t, lang) => t.toLocaleLowerCase(lang),
  capitalize: (t, lang) => t.replace(/(^|[\s\u2010-\u2015-])([^\p{L}\p{N}\s]*)(\p{L})/gu, (all, at, signs, c) => at + signs + c.toLocaleUpperCase(lang)),
};
const drawnCase = (t, s, el) => {
  const f = s.textTransform === 'none' ? undefined : cases[s.textTransform];
  if (!f) return t;
  const lang = dom.closest(isElement(el) ? el : hostOf(el), '[lang]')?.lang;
  try { return f(t, lang || undefined); } catch { return f(t); }
};

// What style sheets put before and after what is in an element: {text, s: its style}, or null.
// It counts by its alternative text where it has one, and never with the private
// characters that are pictures in a font of the page's. marks is whether quotation marks
// count, which the browser draws also where no style sheet of the page asks for them.
const privateSigns = /[\ue000-\uf8ff]|[\u{f0000}-\u{ffffd}]|[\u{100000}-\u{10fffd}]/gu;
const contentParts = /"([^"\\]*(?:\\[^][^"\\]*)*)"|\/|[\w-]+\((?:[^()"]|"[^"\\]*(?:\\[^][^"\\]*)*"|\([^()]*\))*\)|(open|close)-quote|[\w-]+/g;
const unescaped = (css) => css.replace(/\\(?:([0-9a-f]{1,6})\s?|([^]))/gi, (all, code, c) => (code ? String.fromCodePoint(Math.min(parseInt(code, 16), 0x10ffff)) : c));
const generated = (el, part, marks) => {
  const s = viewOf(el).getComputedStyle(el, part), content = s.content;
  if (!content || content === 'none' || content === 'normal' || unseenPart(s)) return null;
  let text = '', other; // other: instead of all before it
  for (const [sign, said, quote] of content.matchAll(contentParts)) {
    if (sign === '/') { other = ''; continue; }
    const t = said !== undefined ? unescaped(said) : quote && marks ? quotationMark(el, s, quote === 'open' ? 0 : 1) : '';
    if (other === undefined) text += t; else other += t;
  }
  text = plainText((other ?? text).replace(privateSigns, ''));
  return text === '' ? null : { text, s };
};
// Tips and counters of style sheets are often there all the time, so that nobody sees them.
const unseenPart = (s) => {
  if (s.display === 'none' || s.visibility !== 'visible' || s.opacity === '0' || s.fontSize === '0px' || /^matrix\(0, 0, 0, 0,/.test(s.transform) || s.scale === '0') return true;
  if (s.display === 'inline') return false;
  if (s.overflowX !== 'visible' && (parseFloat(s.width) <= 1 || parseFloat(s.height) <= 1) || parseFloat(s.textIndent) < -500) return true;
  if (s.position !== 'absolute' && s.position !== 'fixed') return false;
  return parseFloat(s.left) < -500 || parseFloat(s.top) < -500 || /^inset\((50|100)%/.test(s.clipPath) || /^rect\((0px|1px),? (0px|1px),? (0px|1px),? (0px|1px)\)$/.test(s.clip);
};
const quotationMark = (el, s, side) => {
  const pairs = [...s.quotes.matchAll(/"([^"\\]*(?:\\[^][^"\\]*)*)"/g)].map((m) => unescaped(m[1]));
  if (!pairs.length) return s.quotes === 'none' ? '' : '"';
  let deep = 0;
  for (let n = above(el); n && isElement(n); n = above(n)) if (is(n, 'q')) deep++;
  return pairs[Math.min(deep * 2, pairs.length - 2) + side] ?? '';
};

// decorated gives what style sheets of a document or a root put texts around: a set of its
// elements, or a selector where only a part of it is looked at, or where it has another
// meaning for a root; empty for nothing. Where sheets of other origins cannot be read, that
// may be anything (*). look has what is known (plain), and whether all of it is looked at (whole).
const saysSomething = /[^\s"'\ue000-\uf8ff]/;
const decorated = (root, look) => {
  const known = look.plain.get(root);
  if (known !== undefined) return known;
  let left = 30000;
  const out = new Set();
  const some = (rules) => {
    for (const r of rules) {
      if (--left < 0) { out.add('*'); return; }
      const text = r.selectorText;
      if (text !== undefined && /:(before|after)\b/.test(text) && saysSomething.test((r.style?.content ?? '').replace(/^(none|normal)$/, ''))) {
        for (const one of commas(text)) if (/:(before|after)\b/.test(one)) { const el = one.replace(/::?(before|after)\b.*$/, ''); out.add(el === '' || /[\s>+~&]$/.test(el) || text.includes('&') ? '*' : el); }
      }
      if (r.cssRules?.length) some(r.cssRules);
    }
  };
  for (const sheet of [...(root.styleSheets ?? []), ...(root.adoptedStyleSheets ?? [])]) { try { some(sheet.cssRules); } catch { out.add('*'); } }
  let css = out.has('*') || out.size > 300 ? '*' : [...out].join();
  try { if (css !== '' && css !== '*') dom.matches(document.documentElement, css); } catch { css = '*'; }
  const found = css === '' || css === '*' || !look.whole || /:(host|scope)/.test(css) ? css : new Set(all(root, css));
  look.plain.set(root, found);
  return found;
};
const isDecorated = (el, by) => by === '*' || (typeof by === 'string' ? dom.matches(el, by) : by.has(el));
// What is put around a few elements is asked of each: style sheets may be long.
const fewElements = 100;
const lookAround = (el) => ({ plain: new Map(), whole: is(el, 'html', 'body'), each: all(el, '*').length < fewElements });
const sheetsOf = (n, look) => (look.each ? '*' : decorated(dom.root(n), look));
// Quotations have marks by the browser's own style sheet.
const hasAround = (el, by) => by !== '' && isDecorated(el, by) || is(el, 'q');
