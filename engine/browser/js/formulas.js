// Formulas: their source in TeX, as the page has it beside what is drawn.

// formulasIn gives what stands for elements of a document or a root in place of what is in them:
// {tex, display}, or null for what only belongs to a formula. look has what is known (formulas),
// whether some lack their source (lacks), and what the page's own scripts said of it (tex): the
// latest MathJax keeps it to itself.
const formulaMarks = '.katex,mjx-container,script[type^="math/"],.mwe-math-element';
const formulasIn = (root, look) => {
  let known = look.formulas.get(root);
  if (known) return known;
  look.formulas.set(root, known = new Map());
  let number = -1;
  for (const el of all(root, formulaMarks)) {
    const tag = dom.tag(el);
    let tex = '', display = false, at = el;
    if (tag === 'script') {
      const id = attrText(el, 'id'), frame = id ? one(root, `#${CSS.escape(id)}-Frame`) : null;
      tex = /^math\/tex/i.test(attrText(el, 'type')) ? dom.text(el).replace(/^%\s*<!\[CDATA\[\s*|\s*%\s*\]\]>$/g, '') : frame ? texOfMath(one(frame, 'math')) : '';
      display = /mode\s*=\s*display/i.test(attrText(el, 'type'));
      if (frame && tex) known.set(frame, null);
      const preview = el.previousElementSibling?.previousElementSibling;
      for (const p of [preview, el.previousElementSibling]) if (tex && p && /\bMathJax_Preview\b/.test(attr(p, 'class') ?? '')) known.set(p, null);
    } else if (tag === 'mjx-container') {
      number++;
      const math = one(el, 'math'), own = one(el, 'mjx-math[data-latex],[data-mml-node=math][data-latex],math[data-latex]');
      tex = own ? attrText(own, 'data-latex') : (root === document && look.tex?.[number]) || annotated(math);
      display = attr(el, 'display') === 'true' || attr(math ?? el, 'display') === 'block';
      if (!tex && !look.tex && root === document) look.lacks = true;
      tex ||= texOfMath(math);
    } else {
      const parent = dom.parent(el);
      if (known.has(el) || isElement(parent) && dom.closest(parent, '.katex')) continue;
      tex = annotated(one(el, 'math'));
      if (isElement(parent) && /\bkatex-display\b/.test(attr(parent, 'class') ?? '')) { at = parent; display = true; }
      display ||= attr(one(el, 'math') ?? el, 'display') === 'block';
    }
    tex = oneLine(tex);
    if (tex && (!onlySeen || isDrawnToo(el, tex))) known.set(at, { tex, display });
  }
  return known;
};
// Comments of TeX end with their line.
const oneLine = (tex) => tidy(String(tex).replace(/(?<!\\)((?:\\\\)*)%.*$/gm, '$1'));
// annotated is the source that a formula in MathML has with it.
const annotated = (math) => {
  const note = math && [...all(math, 'annotation')].find((n) => /tex/i.test(attr(n, 'encoding') ?? ''));
  if (note) return dom.text(note);
  const alt = math ? attrText(math, 'alttext') : '';
  return /[\\^_{}=]/.test(alt) ? alt : '';
};
// A model takes the source for what a person reads, so its words have to be drawn, too.
const isDrawnToo = (el, tex) => {
  let drawn = null;
  return (tex.replace(/\\(?:begin|end)\s*\{[^}]*\}|\\[A-Za-z]+/g, ' ').match(/\p{L}{4,}/gu) ?? []).every((w) => {
    drawn ??= plainText([...all(el, '.katex-html,mjx-math,mi,mo,mn,mtext,text')].map((n) => dom.text(n)).join(' ')).normalize('NFKC');
    return drawn.includes(w);
  });
};

// texOfMath is a formula in MathML as TeX, where the page has no source of it.
const texSigns = {
  '\u222b': '\\int', '\u222c': '\\iint', '\u222e': '\\oint', '\u2211': '\\sum', '\u220f': '\\prod', '\u2192': '\\to', '\u2190': '\\leftarrow', '\u21d2': '\\Rightarrow', '\u21d4': '\\Leftrightarrow', '\u21a6': '\\mapsto',
  '\u2264': '\\le', '\u2265': '\\ge', '\u2260': '\\ne', '\u2248': '\\approx', '\u2261': '\\equiv', '\u223c': '\\sim', '\u221d': '\\propto', '\u00d7': '\\times', '\u22c5': '\\cdot', '\u00b7': '\\cdot', '\u00b1': '\\pm', '\u2213': '\\mp', '\u00f7': '\\div',
  '\u221e': '\\infty', '\u2202': '\\partial', '\u2207': '\\nabla', '\u2208': '\\in', '\u2209': '\\notin', '\u2282': '\\subset', '\u2286': '\\subseteq', '\u222a': '\\cup', '\u2229': '\\cap', '\u2205': '\\emptyset', '\u2200': '\\forall', '\u2203': '\\exists', '\u00ac': '\\neg', '\u2227': '\\land', '\u2228': '\\lor',
  '\u2212': '-', '\u2026': '\\ldots', '\u22ef': '\\cdots', '\u27e8': '\\langle', '\u27e9': '\\rangle', '\u2016': '\\|', '\u2032': "'", '{': '\\{', '}': '\\}', '%': '\\%', '#': '\\#', '&': '\\&', '_': '\\_', '$': '\\$', '\u2061': '', '\u2062': '', '\u2063': '', '\u2064': '',
};
for (const [i, name] of 'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi o pi rho varsigma sigma tau upsilon phi chi psi omega'.split(' ').entries()) texSigns[String.fromCharCode(0x3b1 + i)] = '\\' + name;
for (const [c, name] of Object.entries({ '\u0393': 'Gamma', '\u0394': 'Delta', '\u0398': 'Theta', '\u039b': 'Lambda', '\u039e': 'Xi', '\u03a0': 'Pi', '\u03a3': 'Sigma', '\u03a6': 'Phi', '\u03a8': 'Psi', '\u03a9': 'Omega', '\u03d5': 'phi', '\u03b5': 'varepsilon', '\u03f5': 'epsilon', '\u03c6': 'varphi' })) texSigns[c] = '\\' + name;
const functions = new Set('arccos arcsin arctan arg cos cosh cot csc deg det dim exp gcd inf ker lim liminf limsup ln log max min Pr sec sin sinh sup tan tanh'.split(' '));
const texOfMath = (n, deep = 0) => {
  if (!n || deep > 100) return '';
  const kids = [...dom.children(n)].filter((k) => !is(k, 'annotation', 'annotation-xml', 'mphantom')), tag = dom.tag(n);
  const tex = (k) => texOfMath(k, deep + 1), group = (k) => `{${tex(k)}}`, base = (k) => { const t = tex(k); return /^(\\?\w+|\\?.)$/u.test(t) ? t : `{${t}}`; };
  const row = () => kids.map(tex).reduce((s, t) => s + (/\\[A-Za-z]+$/.test(s) && /^[A-Za-z0-9]/.test(t) ? ' ' : '') + t, '');
  switch (tag) {
    case 'mi': case 'mo': case 'mn': {
      const s = tidy(dom.text(n).normalize('NFKC'));
      if (functions.has(s)) return '\\' + s;
      return tag === 'mi' && /^\p{L}{2,}$/u.test(s) ? `\\mathrm{${s}}` : [...s].map((c) => texSigns[c] ?? c).join('');
    }
    case 'mtext': case 'ms': return `\\text{${dom.text(n)}}`;
    case 'mspace': return ' ';
    case 'mfrac': return `\\frac${group(kids[0])}${group(kids[1])}`;
    case 'msqrt': return `\\sqrt{${row()}}`;
    case 'mroot': return `\\sqrt[${tex(kids[1])}]${group(kids[0])}`;
    case 'msub': case 'munder': return `${base(kids[0])}_${group(kids[1])}`;
    case 'msup': case 'mover': return `${base(kids[0])}^${group(kids[1])}`;
    case 'msubsup': case 'munderover': return `${base(kids[0])}_${group(kids[1])}^${group(kids[2])}`;
    case 'mtable': return `\\begin{matrix}${kids.map((r) => [...dom.children(r)].map(tex).join(' & ')).join(' \\\\ ')}\\end{matrix}`;
    case 'semantics': return tex(kids[0]);
    case 'mfenced': return `${attr(n, 'open') ?? '('}${kids.map(tex).join(',')}${attr(n, 'close') ?? ')'}`;
  }
  return row();
};

// writeFormula writes one: that with a line of its own has two signs around it.
const writeFormula = (f, out, c, m) => {
  if (!f || muted(c)) return;
  m.left -= f.tex.length;
  if (m.left < 0) { m.cut = true; return; }
  if (!f.display || c.link) { out.run += `$${f.tex}$`; return; }
  flushRun(out);
  out.blocks.push({ k: 'p', t: `$$${f.tex}$$` });
};
