// The tree of what a person would perceive: roles, names, states, texts and values, of a
// document with its shadow roots and the frames of its origin.

// What the tree of one look may hold: pages have no bound.
const mostNodes = 60000, mostLetters = 4e6, longestText = 20000, mostLevels = 900;

const neverShown = new Set([...unreadTags, 'area', 'map']);
const drawnByThemselves = new Set('canvas video audio object progress meter'.split(' ')); // what is in them is shown only where they cannot be
const usedByHand = new Set('button link textbox searchbox combobox checkbox radio switch slider spinbutton option menuitem menuitemcheckbox menuitemradio tab treeitem scrollbar'.split(' '));
// byHand is whether a person acts on such an element itself: also on a list of a form.
const byHand = (el, role) => usedByHand.has(role) || role === 'listbox' && is(el, 'select');
const rolesWithDisabled = new Set('application button gridcell group link menuitem scrollbar separator tab checkbox columnheader combobox grid listbox menu menubar menuitemcheckbox menuitemradio option radio radiogroup row rowheader searchbox slider spinbutton switch tablist textbox toolbar tree treegrid treeitem'.split(' '));
const rolesWithInvalid = new Set('application checkbox columnheader combobox gridcell listbox radiogroup rowheader searchbox slider spinbutton switch textbox tree'.split(' '));

// grow makes the tree below a node: a document or an element.
const lookAt = (a, whole) => ({ a, whole, plain: new Map(), labels: new Map(), nodes: 0, letters: 0, deep: 0, naming: false, mixed: false, gap: false, cut: false, host: false, active: new Set() });
const grow = (root, look) => {
  const top = { role: 'fragment', name: '', c: [] };
  const from = dom.type(root) === 9 ? one(root, 'body,frameset') ?? dom.rootElement(root) : root;
  if (from) {
    const view = viewOf(from), inFrame = view !== window && view.frameElement && hiddenBecause(view.frameElement) !== '';
    focusedIn(dom.doc(from), look);
    growElement(top, from, { look, view, down: view.scrollY, sheets: decorated(dom.root(from), look), rendered: !inFrame && drawnAround(from), shown: true, hidden: ariaHiddenAround(from), off: turnedOffAround(from), unseen: false, shut: 0, ask: false });
  }
  return top;
};
const ariaHiddenAround = (el) => { for (let n = above(el); n && isElement(n); n = above(n)) if (attr(n, 'aria-hidden')?.toLowerCase() === 'true') return true; return false; };
// focusedIn takes in which elements of a document have the focus: one, and one in each
// shadow root on the way to it.
const focusedIn = (doc, look) => {
  if (!doc.hasFocus()) return;
  for (let el = dom.active(doc); el && !look.active.has(el);) { look.active.add(el); const root = rootIn(el); el = root && dom.activeInShadow(root); }
};

const growText = (into, n, c) => {
  const t = dom.text(n);
  if (t === '' || !c.shown) return t;
  growWords(into, t, c);
  return t;
};
const growWords = (into, t, c) => {
  const look = c.look;
  look.letters += t.length;
  if (look.letters > mostLetters) look.cut = true;
  else if (!c.unseen && c.shut === 0 && !into.typed) into.c.push(t.length > longestText ? upTo(t, longestText) : t);
};

const growAround = (into, el, part, c) => {
  const t = aroundText(el, part, c.look.a.seen);
  if (t === '') return;
  c.look.letters += t.length;
  if (c.look.letters > mostLetters) c.look.cut = true;
  else if (!c.unseen && c.shut === 0) into.c.push(t.length > longestText ? upTo(t, longestText) : t);
};

// styleKept is the style of an element. The browser's answer stays true as the element
// changes, so the next snapshot needs no other.
const stylesKept = new WeakMap();
const styleKept = (el, view) => {
  let s = stylesKept.get(el);
  if (s === undefined) stylesKept.set(el, (s = view.getComputedStyle(el)));
  return s;
};

// growElement adds an element, and what is in it, to the node that it stands in. c says
// how it is there: whether what is around it is laid out (rendered) and its texts can
// be seen (shown), kept from readers (hidden), drawn so that nobody sees it (unseen), or in
// something without a size that cuts it off (shut: 1 if positioned things get out, else 2).
// It gives what is known of the element then, and nothing of one that is never shown. What
// stands for it in the name of something around it is among that, where that is what is in it.
const seenByPerson = { __proto__: null, opacityProperty: true, visibilityProperty: true };
const specialTags = new Set('img input select textarea area iframe frame meter progress output option optgroup slot details video audio canvas object embed br table'.split(' '));
const specialRoles = new Set('textbox searchbox spinbutton combobox listbox slider progressbar meter scrollbar none'.split(' '));
const growElement = (into, el, c) => {
  const look = c.look, tag = dom.tag(el), about = aboutTag(tag), never = about.never;
  if (never && tag !== 'area' && tag !== 'map') return undefined;
  const fact = factOf(el), gives = never ? undefined : fact;
  if (fact.seen) return gives;
  if (look.deep > mostLevels || ++look.nodes > mostNodes) { look.cut = true; fact.text = ''; return gives; }
  fact.seen = true;
  const bare = !dom.hasAttributes(el), says = bare ? 0 : saidBy(el), html = isHTML(el), s = styleKept(el, c.view), display = s.display;
  if (display === 'none') fact.blocky = true;
  if (display === 'none' && tag !== 'area') { fact.text = ''; fact.dim = s.visibility !== 'visible'; return gives; }
  const contents = display === 'contents';
  // What is in a closed list is not laid out; it is as seen as the list.
  const asAround = contents || tag === 'option' || tag === 'optgroup' || tag === 'area';
  const plainly = !asAround && c.rendered && dom.visible(el, seenByPerson);
  if (!plainly && s.visibility !== 'visible') fact.dim = true;
  const rendered = plainly || c.rendered && (asAround || !c.ask || dom.visible(el));
  const hidden = c.hidden || (says & saysAria) !== 0 && attr(el, 'aria-hidden')?.toLowerCase() === 'true';
  if (hidden && look.a.seen) { fact.text = ''; return gives; }
  let unseen = c.unseen, shown = plainly || rendered && s.visibility === 'visible';
  const kind = html && !(says & saysRole) ? roleByTag(el, tag, fact) : roleShown(el), role = kind === 'none' ? '' : kind;
  const filled = tag === 'slot' && dom.assigned(el).length > 0;
  const passes = role === '' || role === 'generic' && (display === 'inline' || contents && !filled) && saysOneText(el); // it is no node
  const rect = shown && !contents && !(passes && display === 'inline' && !hidden) ? dom.rect(el) : null;
  const wide = rect ? rect.width : 0, high = rect ? rect.height : 0, large = wide > 0 && high > 0; // each is asked of the browser once
  // What is not placed anywhere else is unseen only where it is transparent or has letters
  // without a size.
  if (rect && !unseen) {
    if (html && neverPlaced.has(display)) unseen = !plainly && s.opacity === '0' || high === 0 && s.fontSize === '0px' || display === 'inline-block' && farIndent(s);
    else unseen = !plainly && s.opacity === '0' || display !== 'inline' && farIndent(s) || (wide <= 1 || high <= 1 || rect.right <= 0 || rect.bottom + c.down <= 0 || !bare && s.clipPath !== 'none') && unseenHere(s, rect, c.view, el);
  }
  else if (passes && shown && !unseen) unseen = !plainly && s.opacity === '0' || s.fontSize === '0px';
  const inShut = c.shut === 0 ? 0 : stillShut(c.shut, s.position);
  let shut = inShut;
  if (rect && !large && tag !== 'body' && tag !== 'html' && shuts(el, s, wide, high)) shut = shut === 2 || s.position !== 'static' ? 2 : 1;
  if (shown && hidden) shown = contents || large;
  if (!look.host && (about.custom || about.host && large && dom.first(el) === null)) look.host = mayHost(el, tag);
  const off = says & saysAria ? turnedOff(el, c.off) : c.off;
  let node = null;
  if (shown && !passes) {
    node = nodeOf(el, role, tag, bare, says, hidden, unseen || shut !== 0, inShut, s, contents ? !filled : tag === 'area' || large, c, off);
    if (look.a.boxes && rect) node.b = boxIn(el, rect, look.a.at);
    into.c.push(node);
  }
  const at = node ?? into, block = display !== 'inline' || tag === 'br', laid = rendered && (bare || s.contentVisibility !== 'hidden');
  if (block) fact.blocky = true;
  const ask = !html, named = (says & saysTitle) !== 0 || (says & saysAria) !== 0 && hasNameAttribute(el), naming = namedByContent.has(role);
  if (block && (node ? node.typed : into.c.at(-1) !== ' ')) at.c.push(' '); // the texts of a node are apart from others anyway
  look.deep++;
  if (node?.role === 'iframe') growFrame(node, el, c);
  else {
    const inner = laid === c.rendered && (shown && laid) === c.shown && hidden === c.hidden && unseen === c.unseen && shut === c.shut && off === c.off && ask === c.ask ? c : { ...c, rendered: laid, shown: shown && laid, hidden, unseen, shut, off, ask };
    const was = look.naming, mixed = look.mixed, gap = look.gap;
    look.naming = plainly && !hidden && laid && (was || naming);
    look.mixed = look.gap = false;
    let text = growInside(at, el, tag, inner, about.host || anyClosed ? rootIn(el) : null, html, fact, (says & saysAria) !== 0);
    if (look.mixed && look.gap) text = null;
    look.naming = was; look.mixed = mixed; look.gap = gap;
    const special = text === null || hidden || !html || named || about.special || specialRoles.has(kind) || wordsForItself(kind) || (says & saysAria) !== 0 && dom.hasAttribute(el, 'aria-owns');
    if (hidden) fact.text = '';
    else if (!special) { fact.text = text; if (text !== '') fact.told = true; }
  }
  look.deep--;
  if (block && !node && into.c.at(-1) !== ' ') into.c.push(' ');
  if (tag === 'br' && node) into.c.splice(into.c.indexOf(node), 1, ' ');
  // What nothing says a name for has none.
  if (node && !hidden && !(bare && html && role === 'generic') && (naming || named || !html || ownNames.has(tag) || typedIn.has(role))) node.name = nameOfNode(el, role, tag, fact, look);
  if (node?.h !== undefined && tidy(node.h) === node.name) node.h = undefined;
  return gives;
};
const saysOneText = (el) => { const n = dom.first(el); return n !== null && dom.type(n) === 3 && dom.next(n) === null; };
// An element may have a closed shadow root that the browser was not asked for yet.
const mayHost = (el, tag) => !rootIn(el) && !askedAbout.has(el) && (tag.includes('-') || `${el.computedStyleMap().get('height')}` === 'auto');
// A name that comes from what is in the element alone is known by now.
const namedByPart = new Set(['fieldset', 'table', 'figure']);
const ownNames = new Set('area button fieldset figure img input meter optgroup option output progress select table textarea track'.split(' '));
// Whatever is taken out of the flow has another display than these.
const neverPlaced = new Set('inline inline-block inline-flex inline-grid inline-table table-cell table-row table-row-group table-header-group table-footer-group'.split(' '));
const nameOfNode = (el, role, tag, fact, look) => {
  const text = fact.text;
  if (text !== undefined && !namedByPart.has(tag) && (tag !== 'button' || labelsOf(el).length === 0)) return namedByContent.has(role) ? tidy(text.length > longestName ? text.slice(0, longestName) : text) : '';
  return calledAs(el, role, { look });
};
// unseenHere is what is drawn so that nobody sees it: cut down to a dot, too small to be
// read, or beside the page where nobody can scroll to.
const unseenHere = (s, r, w, el) => {
  if (r.height === 0 && s.fontSize === '0px') return true;
  const position = s.position;
  if (position !== 'absolute' && position !== 'fixed') return false;
  const fixed = position === 'fixed';
  return sized(r) && (r.right + (fixed ? 0 : w.scrollX) <= 0 || r.bottom + (fixed ? 0 : w.scrollY) <= 0) || invisible(el, s);
};
// What is positioned gets out of what does not hold it, unless something else does that is
// cut off with it.
const stillShut = (shut, position) => (position === 'static' ? shut : position === 'fixed' || position === 'absolute' && shut === 1 ? 0 : 2);
const boxIn = (el, r, at) => {
  const m = mappedRect(offset(el), r);
  return [m.left + (at?.[0] ?? 0), m.top + (at?.[1] ?? 0), m.width, m.height].map(Math.round);
};

// growChild adds a node in an element, and gives the element's text so far with that of
// the node; null where it is more than that. In what is named after its content (naming), a
// field or a picture gives what stands for it (mixed). There, an empty block sets texts apart
// (gap), which is left to contentName.
const growChild = (at, n, c, reads, text) => {
  const type = dom.type(n);
  if (type === 3) {
    if (!reads || c.look.a.seen && illegible(dom.parent(n))) return text;
    const t = growText(at, n, c);
    return text !== null && c.shown ? text + t : text;
  }
  if (type !== 1) return text;
  const fact = growElement(at, n, c);
  if (text === null) return null;
  if (fact === undefined) { c.look.gap = true; return text; }
  let t = fact.text;
  if (t === undefined) {
    if (!c.look.naming) return null;
    c.look.mixed = true;
    t = alternative(n, { top: null, seen: new Set(), inside: true, look: c.look, tree: true });
  }
  if (t !== '') return text + (fact.blocky ? ` ${t} ` : t);
  if (fact.blocky) c.look.gap = true;
  return text;
};

// growInside adds what is in an element, and gives its text as it stands in a name; null
// where that is more than its texts and those of the elements in it.
const growInside = (at, el, tag, c, root, html, fact, aria) => {
  const look = c.look;
  const styled = c.shown && c.sheets !== '' && isDecorated(el, c.sheets) && !(look.a.seen && illegible(el));
  if (c.shown) fact.plain = !styled;
  let text = root || styled ? null : '';
  if (styled) growAround(at, el, '::before', c);
  if (tag === 'details' && !dom.hasAttribute(el, 'open') && !root) { const head = childNamed(el, 'summary'); if (head) growElement(at, head, c); text = null; }
  else if (tag !== 'iframe' && tag !== 'frame' && tag !== 'textarea') {
    const inner = tag === 'slot' ? { ...c } : drawnByThemselves.has(tag) ? { ...c, ask: true, shown: c.shown && tag === 'object' && saysInstead(el) } : root ? { ...c, sheets: decorated(root, look) } : c;
    const assigned = tag === 'slot' ? dom.assigned(el) : noItems, reads = html || svgTexts.has(tag);
    if (html && !root && inner === c && dom.firstElement(el) === null) text = growTexts(at, el, c, text);
    else if (assigned.length) { inner.sheets = decorated(dom.root(assigned[0]), look); for (const n of assigned) text = growChild(at, n, inner, reads, text); }
    else for (let n = dom.first(root ?? el); n; n = dom.next(n)) text = growChild(at, n, inner, reads, text);
    if (tag === 'img' && dom.hasAttribute(el, 'usemap')) for (const n of areasOf(el)) growElement(at, n, c);
    if (aria && dom.hasAttribute(el, 'aria-owns')) for (const n of referenced(el, 'aria-owns')) growElement(at, n, c);
  }
  if (styled) growAround(at, el, '::after', c);
  return text;
};
// growTexts is growInside where there are only texts: then the browser puts them together,
// and need not make each a thing of this world first.
const growTexts = (at, el, c, text) => {
  if (!c.shown || c.look.a.seen && illegible(el)) return text;
  const t = dom.text(el);
  if (t === '') return text;
  if (t.length > longestText) { for (let n = dom.first(el); n; n = dom.next(n)) text = growChild(at, n, c, true, text); return text; }
  growWords(at, t, c);
  return text === null ? null : text + t;
};
const svgTexts = new Set(['text', 'tspan', 'textPath', 'a']);
// An object says what is in it where it has nothing of its own to show.
const saysInstead = (el) => { const r = dom.range(dom.doc(el)); r.selectNodeContents(el); return [...r.getClientRects()].some(sized); };
const areasOf = (img) => { const map = one(dom.root(img), `map[name="${CSS.escape(attr(img, 'usemap').replace(/^#/, ''))}"]`); return map ? [...all(map, 'area')] : []; };

// labelsIn gives the labels of an element, in the order of the page: each root is looked
// through once.
const labelsIn = (look) => (el) => {
  const root = dom.root(el);
  let of = look.labels.get(root);
  if (!of) {
    look.labels.set(root, (of = new Map()));
    for (const label of all(root, 'label')) {
      const control = isHTML(label) ? dom.control(label) : null;
      if (control) { const list = of.get(control); if (list) list.push(label); else of.set(control, [label]); }
    }
  }
  return of.get(el) ?? noItems;
};

// Frames of the same origin are a part of the tree; of others the service asks
// their own scripts.
const growFrame = (node, el, c) => {
  const doc = frameDocument(el);
  if (!doc) { if (node.can) node.x = numberOf(el); return; }
  const from = one(doc, 'body,frameset') ?? dom.rootElement(doc);
  if (!from || !node.can) return;
  focusedIn(doc, c.look);
  growElement(node, from, { look: c.look, view: dom.view(doc), down: dom.view(doc).scrollY, sheets: decorated(doc, c.look), rendered: true, shown: true, hidden: false, off: false, unseen: c.unseen || c.shut !== 0, shut: 0, ask: false });
};

// nodeOf is the node of an element, without its name and what is in it.
const nodeOf = (el, role, tag, bare, says, hidden, unseen, inShut, s, box, c, off) => {
  // All nodes have the same fields from the beginning: the engine reads them faster so.
  const look = c.look, node = {
    el, role, name: '', full: '', c: [], can: box && (role === 'iframe' || s.pointerEvents !== 'none'), pointer: false, active: false, ghost: false, unseen: false, typed: false, clicks: false,
    s: undefined, u: undefined, h: undefined, b: undefined, x: undefined, where: '', alike: undefined,
  };
  if (hidden && (says & saysAria) !== 0 && attr(el, 'aria-hidden')?.toLowerCase() === 'true') node.ghost = true;
  node.pointer = node.can && s.cursor === 'pointer';
  // Pages keep the fields in such places that they draw anew.
  if (inShut !== 0 ? !is(el, 'input', 'select', 'textarea', 'iframe', 'object', 'embed') : unseen && !byHand(el, role) && role !== 'iframe') { node.can = false; node.unseen = true; }
  node.active = look.active.has(el);
  const states = !(says & saysAria) && tag !== 'input' && tag !== 'option' && tag !== 'summary' ? statesOfBare(el, role, tag, off) : statesOf(el, role, tag, off);
  if (states?.length) node.s = states;
  if (tag === 'input' || tag === 'textarea') {
    const type = tag === 'input' ? dom.inputType(el) : '';
    node.typed = true;
    if (type === 'password') node.c = dom.inputValue(el) ? ['\u2022\u2022\u2022\u2022'] : [];
    else if (!['checkbox', 'radio', 'file', 'hidden'].includes(type)) node.c = [upTo(tag === 'textarea' ? dom.areaValue(el) : dom.inputValue(el), longestText)];
    look.letters += node.c[0]?.length ?? 0;
  }
  if (bare) return node;
  if (role === 'link' && look.a.urls) { const href = attr(el, 'href') ?? attr(el, 'xlink:href'); if (href !== null) node.u = upTo(href.startsWith('data:') ? href.replace(/,.*/s, ',\u2026') : href, 2000); }
  if (typedIn.has(role)) { const p = attr(el, 'placeholder') ?? attr(el, 'aria-placeholder'); if (p !== null && p !== '') node.h = upTo(p, 500); }
  return node;
};
