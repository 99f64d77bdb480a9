// What things are and what they are called: the role and the name of an element, as
// WAI-ARIA, HTML-AAM and accname compute them from the document. Nothing here acts or
// waits, and nothing knows of selectors.

const ariaRoles = new Set(('alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox comment complementary ' +
  'contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell group heading image img insertion ' +
  'link list listbox listitem log main mark marquee math menu menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option ' +
  'paragraph presentation progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox sectionfooter sectionheader ' +
  'separator slider spinbutton status strong subscript suggestion superscript switch tab table tablist tabpanel term textbox time timer toolbar ' +
  'tooltip tree treegrid treeitem graphics-document graphics-object graphics-symbol ' +
  'doc-abstract doc-acknowledgments doc-afterword doc-appendix doc-backlink doc-biblioentry doc-bibliography doc-biblioref doc-chapter doc-colophon ' +
  'doc-conclusion doc-cover doc-credit doc-credits doc-dedication doc-endnote doc-endnotes doc-epigraph doc-epilogue doc-errata doc-example ' +
  'doc-footnote doc-foreword doc-glossary doc-glossref doc-index doc-introduction doc-noteref doc-notice doc-pagebreak doc-pagefooter doc-pageheader ' +
  'doc-pagelist doc-part doc-preface doc-prologue doc-pullquote doc-qna doc-subtitle doc-tip doc-toc').split(' '));
const oneName = { image: 'img', presentation: 'none', directory: 'list' }; // roles that are another by another name
const attr = (el, name) => dom.attribute(el, name);
const attrText = (el, name) => (dom.attribute(el, name) ?? '').trim();

// What is called after its content, and what may have no name at all.
const namedByContent = new Set('button cell checkbox columnheader doc-backlink doc-biblioref doc-glossref doc-noteref gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row rowheader switch tab tooltip treeitem'.split(' '));
const nameless = new Set('caption code definition deletion emphasis generic insertion mark none paragraph strong subscript suggestion superscript term time'.split(' '));
const typedIn = new Set(['textbox', 'searchbox', 'spinbutton']);

// An attribute that says something of an element, so that it cannot be none.
const globals = ['aria-atomic', 'aria-busy', 'aria-controls', 'aria-current', 'aria-describedby', 'aria-description', 'aria-details', 'aria-dropeffect', 'aria-errormessage', 'aria-flowto',
  'aria-grabbed', 'aria-keyshortcuts', 'aria-label', 'aria-labelledby', 'aria-live', 'aria-owns', 'aria-relevant', 'aria-roledescription'];
const canFocus = (el) => {
  if (is(el, 'button', 'input', 'select', 'textarea') && dom.matches(el, ':disabled') || is(el, 'input') && dom.inputType(el) === 'hidden') return false;
  if (is(el, 'button', 'input', 'select', 'textarea', 'iframe', 'summary') || is(el, 'a', 'area') && dom.hasAttribute(el, 'href')) return true;
  return /^\s*-?\d/.test(attr(el, 'tabindex') ?? '') || isHTML(el) && ['', 'true', 'plaintext-only'].includes(attr(el, 'contenteditable')) || is(el, 'audio', 'video') && dom.hasAttribute(el, 'controls');
};

const explicitRole = (el, unnamed = false) => {
  const said = attrText(el, 'role');
  if (said !== '') for (const token of said.toLowerCase().split(/\s+/)) {
    const role = oneName[token] ?? token;
    if (!ariaRoles.has(role)) continue;
    if (role === 'none' && (canFocus(el) || globals.some((a) => attrText(el, a) !== ''))) return '';
    if (role === 'region' && !unnamed && !authorName(el)) continue; // without a name it is none
    return role;
  }
  return '';
};
const roleOf = (el) => {
  const known = factsKnown?.get(el);
  if (known?.role) return known.role;
  const role = dom.hasAttributes(el) && explicitRole(el) || implicitRole(el);
  if (factsKnown) (known ?? factOf(el)).role = role;
  return role;
};
// What is known of an element while a whole page is looked at and nothing else runs: its
// role, what stands for it in the names of others (text), whether that is its own content
// (told), whether it was passed (seen), stands apart (blocky), cannot be seen
// (dim), has nothing put around it by style sheets (plain), and what the table is that what
// is in it is a part of.
let factsKnown = null;
const factOf = (el) => {
  let fact = factsKnown.get(el);
  if (!fact) factsKnown.set(el, (fact = { role: '', text: undefined, told: false, seen: false, blocky: false, dim: false, plain: undefined, table: undefined }));
  return fact;
};

// authorName is whether the page says a name by an attribute.
const authorName = (el) => attrText(el, 'aria-label') !== '' || attrText(el, 'title') !== '' || referenced(el, 'aria-labelledby').length > 0;
const noItems = Object.freeze([]);
const referenced = (el, name) => {
  const ids = attrText(el, name);
  if (ids === '') return noItems;
  const root = dom.root(el);
  return [...new Set(ids.split(/\s+/).filter(Boolean).map((id) => one(root, '#' + CSS.escape(id))).filter(Boolean))];
};
// The nearest element around one that has one of these tags or roles.
const around = (el, tags, roles) => {
  for (let n = flatAbove(el); n && isElement(n); n = flatAbove(n)) {
    const role = dom.hasAttributes(n) ? attrText(n, 'role').toLowerCase().split(/\s+/)[0] : '';
    if (role ? roles.includes(role) : tags.includes(dom.tag(n))) return n;
  }
  return null;
};
const inSection = (el) => around(el, ['article', 'aside', 'main', 'nav', 'section'], ['article', 'complementary', 'main', 'navigation', 'region']) !== null;
const tableOf = (el) => around(el, ['table'], ['table', 'grid', 'treegrid', 'none', 'presentation']);
const tableRole = (el) => { const table = tableOf(el); return table ? explicitRole(table) || (is(table, 'table') ? 'table' : '') : ''; };
const inTable = (el, role) => {
  // What has the same parent is in the same table.
  const p = factsKnown && !dom.slot(el) ? dom.parent(el) : null, fact = isElement(p) ? factOf(p) : null;
  const as = fact ? fact.table ??= tableRole(el) : tableRole(el);
  return as === '' || as === 'none' ? 'generic' : as !== 'table' && (role === 'cell') ? 'gridcell' : role;
};
const headerRole = (el) => {
  const scope = attrText(el, 'scope').toLowerCase();
  if (scope === 'row' || scope === 'rowgroup') return 'rowheader';
  if (scope === 'col' || scope === 'colgroup') return 'columnheader';
  // A header with nothing but headers beside it is one of its column.
  const row = dom.parent(el), cells = row && isElement(row) ? [...dom.children(row)] : [];
  if (cells.length && cells.every((c) => is(c, 'th'))) return 'columnheader';
  return cells.some((c) => is(c, 'td')) ? 'rowheader' : 'columnheader';
};
const inputRoles = { button: 'button', image: 'button', reset: 'button', submit: 'button', file: 'button', checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton', hidden: '' };
const plainRoles = {
  address: 'group', article: 'article', blockquote: 'blockquote', button: 'button', caption: 'caption', code: 'code', datalist: 'listbox', dd: 'definition', del: 'deletion', details: 'group', dfn: 'term',
  dialog: 'dialog', dt: 'term', em: 'emphasis', fieldset: 'group', figure: 'figure', form: 'form', h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading', h5: 'heading', h6: 'heading', hgroup: 'group', hr: 'separator',
  html: 'document', ins: 'insertion', main: 'main', mark: 'mark', math: 'math', menu: 'list', meter: 'meter', nav: 'navigation', ol: 'list', optgroup: 'group', option: 'option', output: 'status', p: 'paragraph',
  progress: 'progressbar', s: 'deletion', search: 'search', strong: 'strong', sub: 'subscript', sup: 'superscript', table: 'table', textarea: 'textbox', time: 'time', ul: 'list', svg: 'img',
};
const dependent = {
  a: (el) => (dom.hasAttribute(el, 'href') ? 'link' : 'generic'),
  area: (el) => (dom.hasAttribute(el, 'href') ? 'link' : 'generic'),
  aside: (el) => (!inSectionOnly(el) || authorName(el) ? 'complementary' : 'generic'),
  footer: (el) => (inSection(el) ? 'sectionfooter' : 'contentinfo'),
  header: (el) => (inSection(el) ? 'sectionheader' : 'banner'),
  section: (el) => (authorName(el) ? 'region' : 'generic'),
  img: (el) => (attr(el, 'alt') === '' && !authorName(el) && !canFocus(el) ? 'none' : 'img'),
  input: (el) => {
    const type = dom.inputType(el), listed = el.list && ['text', 'search', 'tel', 'url', 'email'].includes(type);
    return listed ? 'combobox' : type === 'search' ? 'searchbox' : type === 'checkbox' && dom.hasAttribute(el, 'switch') ? 'switch' : inputRoles[type] ?? 'textbox';
  },
  li: (el) => (around(el, ['ul', 'ol', 'menu'], ['list', 'none', 'presentation']) === dom.parent(el) && roleOf(dom.parent(el)) === 'list' ? 'listitem' : 'generic'),
  select: (el) => (dom.selectMultiple(el) || el.size > 1 ? 'listbox' : 'combobox'),
  summary: (el) => (dom.parent(el) && isElement(dom.parent(el)) && is(dom.parent(el), 'details') && one(dom.parent(el), ':scope > summary') === el ? 'button' : 'generic'),
  tbody: (el) => inTable(el, 'rowgroup'), tfoot: (el) => inTable(el, 'rowgroup'), thead: (el) => inTable(el, 'rowgroup'), tr: (el) => inTable(el, 'row'),
  td: (el) => inTable(el, 'cell'), th: (el) => inTable(el, headerRole(el)),
};
// An aside is one of the page also in its main part.
const inSectionOnly = (el) => around(el, ['article', 'aside', 'nav', 'section'], ['article', 'complementary', 'navigation', 'region']) !== null;
const implicitRole = (el) => {
  const tag = dom.tag(el);
  if (!isHTML(el) && tag !== 'svg' && tag !== 'math') return tag === 'a' && (dom.hasAttribute(el, 'href') || dom.hasAttribute(el, 'xlink:href')) ? 'link' : 'generic';
  return (Object.hasOwn(dependent, tag) ? dependent[tag](el) : Object.hasOwn(plainRoles, tag) ? plainRoles[tag] : 'generic') || 'generic';
};

// Which tags can have a role without saying so: what else has it says so.
const tagsOfRole = (role) => [...Object.keys(plainRoles).filter((t) => plainRoles[t] === role), ...(dependentTags[role] ?? [])];
const dependentTags = {
  link: ['a', 'area'], complementary: ['aside'], contentinfo: ['footer'], sectionfooter: ['footer'], banner: ['header'], sectionheader: ['header'], region: ['section'], none: ['img'], img: ['img'],
  combobox: ['input', 'select'], searchbox: ['input'], textbox: ['input'], spinbutton: ['input'], slider: ['input'], checkbox: ['input'], switch: ['input'], radio: ['input'], button: ['input', 'summary'],
  listitem: ['li'], listbox: ['select'], rowgroup: ['tbody', 'tfoot', 'thead'], row: ['tr'], cell: ['td'], gridcell: ['td'], columnheader: ['th'], rowheader: ['th'],
};

// unperceived reports whether an element is kept from everybody: not drawn, or hidden
// from readers by aria-hidden. What is transparent, inert or out of view is not.
const undrawn = (el) => {
  if (is(el, ...unreadTags)) return true;
  if (is(el, 'option', 'optgroup')) { const s = dom.closest(el, 'select'); return s ? undrawn(s) || styleOf(el).display === 'none' : !dom.visible(el); }
  if (is(el, 'area')) { const p = pictureOf(el); return !p || undrawn(p); }
  if (dom.visible(el)) return false;
  return styleOf(el).display !== 'contents' || !drawnAround(el);
};
// What has no box of its own is as drawn as what it is in.
const drawnAround = (el) => {
  let n = flatAbove(el);
  while (n && isElement(n) && styleOf(n).display === 'contents') n = flatAbove(n);
  return !n || !isElement(n) || dom.visible(n);
};
const unseenStyle = (el) => styleOf(el).visibility !== 'visible';
const unperceived = (el) => {
  if (undrawn(el) || unseenStyle(el)) return true;
  for (let n = el; n && isElement(n); n = flatAbove(n)) if (attr(n, 'aria-hidden')?.toLowerCase() === 'true') return true;
  return false;
};

// tidy is a text as it is compared and shown.
const tidy = (s) => (untidy.test(s) ? plainText(s).replace(/\s+/g, ' ').trim() : s);
const untidy = new RegExp(`${anyUnseen.source}|\\s\\s|[^\\S ]|^ | $`); // most texts are tidy, and nothing is made anew for them

// accName is the name of an element; empty where it has none, or may have none. A name
// is cut where it is longer than any that somebody reads.
const longestName = 100000;
const accName = (el, role = roleOf(el)) => (nameless.has(role) ? '' : tidy(alternative(el, { top: el, seen: new Set(), hidden: unperceived(el) })));

// alternative is the text that stands for an element. c.top is whose name it is for;
// c.label and c.refers say that it is found by a label or by aria-labelledby, c.inside
// that it is in the content of something, c.hidden that hidden things count, as the
// whole of it is hidden. A look at a whole page (c.look) keeps what stands for each element
// in the content of others. The names of a snapshot (c.tree) leave out what has its words for itself.
const alternative = (el, c) => {
  const fact = c.look && c.inside && !c.hidden && !c.refers && !c.label && el !== c.top ? factOf(el) : undefined;
  if (fact?.text !== undefined) return fact.text;
  const text = alternativeOf(el, c);
  if (fact) fact.text = text;
  return text;
};
const alternativeOf = (el, c) => {
  if (c.seen.has(el) || c.seen.size > 5000 || c.depth > 300) return '';
  if (!c.hidden && el !== c.top && c.inside && dimmed(el, c.look) && !undrawn(el)) return contentName(el, c); // what is in it may be seen
  const ghost = !c.hidden && el !== c.top && c.inside && (attr(el, 'aria-hidden')?.toLowerCase() === 'true' || undrawn(el));
  if (ghost || is(el, 'script', 'style', 'noscript', 'template')) return '';
  if (!c.refers) {
    const list = referenced(el, 'aria-labelledby');
    const t = list.map((r) => alternative(r, { top: c.top, seen: new Set(), refers: true, hidden: unperceived(r), tree: c.tree })).map(tidy).filter(Boolean).join(' ');
    if (t) return t;
  }
  c.seen.add(el);
  const role = c.tree ? roleShown(el) : roleOf(el), embedded = (c.label || c.refers || c.inside) && el !== c.top;
  if (embedded) {
    if (el === c.control) return '';
    const value = valueFor(el, role, c);
    if (value !== undefined) return value;
  }
  const label = attrText(el, 'aria-label');
  if (label !== '' && !(role === 'none')) return label;
  const native = nativeName(el, role, c);
  if (native) return native;
  if (!is(el, 'input', 'select', 'textarea', 'meter', 'progress') && (namedByContent.has(role) || c.refers || c.label || c.inside && !(c.tree && keepsItsWords(el)))) {
    const t = contentName(el, c);
    if (tidy(t) !== '') { if (c.look) factOf(el).told = true; return t; }
  }
  const title = attrText(el, 'title');
  if (title !== '' && role !== 'none') return title;
  const shows = is(el, 'textarea') || is(el, 'input') && ['text', 'search', 'tel', 'url', 'email', 'password', 'number'].includes(dom.inputType(el));
  return shows && attrText(el, 'placeholder') || (typedIn.has(role) ? attrText(el, 'aria-placeholder') : '');
};

// valueFor is the value of a control inside the label of another.
const valueFor = (el, role, c) => {
  if (typedIn.has(role)) return is(el, 'input') ? dom.inputType(el) === 'password' ? '' : dom.inputValue(el) : is(el, 'textarea') ? dom.areaValue(el) : dom.text(el);
  if (role === 'combobox' || role === 'listbox') {
    if (is(el, 'select')) return [...dom.selected(el)].map((o) => tidy(dom.text(o))).join(' ');
    if (is(el, 'input')) return dom.inputValue(el);
    return query(el, 'css', '[aria-selected=true]').filter((o) => roleOf(o) === 'option').map((o) => contentName(o, { ...c, inside: true })).join(' ');
  }
  if (role === 'slider' || role === 'spinbutton' || role === 'progressbar' || role === 'meter' || role === 'scrollbar') {
    return attrText(el, 'aria-valuetext') || attrText(el, 'aria-valuenow') || (is(el, 'input') ? dom.inputValue(el) : is(el, 'progress', 'meter') && dom.hasAttribute(el, 'value') ? String(el.value) : '');
  }
  return undefined;
};

// nativeName is the name that HTML gives an element by itself.
const labelsOf = (el) => (is(el, 'button', 'input', 'select', 'textarea', 'meter', 'output', 'progress') ? labelsKnown?.(el) ?? [...(el.labels ?? [])] : noItems);
let labelsKnown = null; // the labels of an element, while a whole page is looked at: the browser looks through all of it for each list
const labelText = (label, el, refers, tree) => tidy(alternative(label, { top: null, seen: new Set(), label: true, refers, control: el, hidden: unperceived(label), tree }));
const childNamed = (el, tag) => [...dom.children(el)].find((n) => is(n, tag));
// partName is the text of a part that names the whole, where that is asked for by itself.
const partName = (el, tag, c) => {
  const part = !c.tree && (c.inside || c.refers || c.label) ? undefined : childNamed(el, tag);
  return part && (c.tree || !unperceived(part)) ? labelText(part, el, false, c.tree) : '';
};
const nativeName = (el, role, c) => {
  if (!isHTML(el)) {
    const title = is(el, 'a') && !childNamed(el, 'title') ? attrText(el, 'xlink:title') : (childNamed(el, 'title') ? dom.text(childNamed(el, 'title')) : '');
    return title;
  }
  const labels = c.inside || c.label ? [] : labelsOf(el);
  const labelled = labels.map((l) => labelText(l, el, c.refers, c.tree)).filter(Boolean).join(' ');
  if (labelled) return labelled;
  switch (dom.tag(el)) {
    case 'input': {
      const type = dom.inputType(el);
      if (type === 'submit' || type === 'reset' || type === 'button') return dom.inputValue(el).trim() || (attrText(el, 'title') && !c.tree ? '' : { submit: 'Submit', reset: 'Reset' }[type] ?? '');
      if (type === 'file') return c.tree ? 'Choose File' : attrText(el, 'title') ? '' : el.multiple ? 'Choose Files' : 'Choose File';
      if (type === 'image') return attrText(el, 'alt') || attrText(el, 'title') || 'Submit';
      return '';
    }
    case 'img': case 'area': return attrText(el, 'alt');
    case 'fieldset': return role === 'none' ? '' : partName(el, 'legend', c);
    case 'table': return role === 'none' ? '' : partName(el, 'caption', c);
    case 'figure': return role === 'none' ? '' : partName(el, 'figcaption', c);
    case 'optgroup': case 'track': return attrText(el, 'label');
    case 'option': return attrText(el, 'label');
  }
  return '';
};

// contentName is the text of what is in an element, with what style sheets put around it.
const contentName = (el, c) => {
  const out = [], within = { ...c, inside: true, depth: (c.depth ?? 0) + 1 };
  const silent = !c.hidden && dimmed(el, c.look);
  const bare = silent || undecorated?.(el) === true;
  if (!silent) out.push(bare ? '' : styledText(el, '::before', c.look?.a.seen));
  const assigned = is(el, 'slot') ? dom.assigned(el) : [];
  for (const n of assigned.length ? assigned : inside(el)) {
    const type = dom.type(n);
    if (type === 3 || type === 4) { if (!silent && !(c.look?.a.seen && illegible(el))) out.push(dom.text(n)); }
    else if (type === 1) {
      const t = alternative(n, within);
      out.push(apart(n, c) ? ` ${t} ` : t);
    }
    if (out.length > 20000) break;
  }
  for (const n of referenced(el, 'aria-owns')) out.push(' ', alternative(n, within));
  if (!bare) out.push(styledText(el, '::after', c.look?.a.seen));
  const t = out.join('');
  return t.length > longestName ? t.slice(0, longestName) : t;
};
// apart is whether the text of an element stands apart from what is beside it. A look at a
// whole page knows that of what it has passed, and what cannot be seen of it (dimmed).
const apart = (el, c) => {
  const fact = c.look && factsKnown.get(el);
  if (fact?.seen) return fact.blocky;
  const display = styleOf(el).display;
  return is(el, 'br') || display !== 'inline' && (c.tree || display !== 'contents');
};
const dimmed = (el, look) => { const fact = look && factsKnown.get(el); return fact?.seen ? fact.dim : unseenStyle(el); };
let undecorated = null; // whether an element has nothing put around it, where that is known
const styledText = (el, part, seen) => (undecorated?.(el) ? '' : aroundText(el, part, seen));
const aroundText = (el, part, seen) => {
  const g = generated(el, part, false);
  return !g || seen && illegible(el, g.s) ? '' : inTheLine(g.s.display) ? g.text : ` ${g.text} `;
};
