// Pointing at what a person perceives: {role, name, text, label, placeholder, testId,
// selector, exact, nth, visible, within, hasText, or}. All of it has to be true.

// says gives the question whether a text is, or contains, the one given.
const saysText = (wanted, exact) => {
  const w = tidy(wanted), low = w.toLowerCase();
  return (s) => { const t = tidy(s ?? ''); return exact ? t === w : t.toLowerCase().includes(low); };
};
// Where a name joins the texts of several elements, there may be a space between them
// or none: readers differ in that.
const saysName = (wanted, exact) => {
  const says = saysText(wanted, exact), close = (s) => s.replace(/\s+/g, ''), closeSays = saysText(close(wanted), exact);
  return (s) => says(s) || closeSays(close(s));
};
const testIds = ['data-testid', 'data-test-id', 'data-test', 'data-cy', 'data-qa'];

// pointedAt is the matches of a description below a node, in document order. With
// alternatives the first of those that matches counts, and which it was is told.
const pointedAt = (root, s) => {
  const bases = s.within ? targets(root, s.within) : [root];
  const own = ['role', 'text', 'label', 'placeholder', 'testId', 'selector'].some((k) => s[k] !== undefined);
  if (own) {
    const list = chosenOf(bases.flatMap((b) => ownMatches(b, s)), s);
    if (list.length || !s.or) return list;
  }
  for (const [i, t] of (s.or ?? []).entries()) {
    const list = chosenOf(bases.flatMap((b) => targets(b, t)), s);
    if (!list.length) continue;
    if (own || i > 0) noted.push(`${own ? "the selector itself" : `"${s.or[0].a}"`} matched nothing: the alternative "${t.a}" was taken`);
    return list;
  }
  return [];
};
const targets = (root, t) => {
  if (t.r === undefined) return query(root, t.k, t.s, false).filter(isElement);
  const el = resolve(t);
  return t.s ? query(el, t.k, t.s, false).filter(isElement) : [el];
};

// chosenOf is those of the matches that are meant. What cannot be seen counts only where
// nothing that matches can be seen, or where it is asked for.
const chosenOf = (found, s) => {
  let list = found.length > 1 ? [...new Set(found)] : found;
  if (s.hasText !== undefined) { const has = saysText(s.hasText); list = list.filter((el) => isSaid(el, has)); }
  if (list.length && s.visible !== false) {
    const seen = list.filter((el) => hiddenBecause(el) === ''), known = new Map();
    const best = seen.length > 1 ? seen.filter((el) => !shutIn(el, known)) : [];
    if (seen.length || s.visible) list = best.length ? best : seen;
  } else if (s.visible === false) list = list.filter((el) => hiddenBecause(el) !== '');
  if (s.nth === undefined) return list;
  const el = list.at(s.nth);
  return el ? [el] : [];
};

// ownMatches is what a description's own parts match below a node.
const ownMatches = (root, s) => {
  const tests = [];
  let list;
  const narrow = (candidates, test) => { if (list) tests.push(test); else list = candidates().filter(test); };
  if (s.selector) list = targets(root, s.selector);
  if (s.testId !== undefined) narrow(() => query(root, 'css', testIds.map((n) => `[${n}]`).join(), false), (el) => testIds.some((n) => attr(el, n) === s.testId));
  if (s.placeholder !== undefined) {
    const says = saysText(s.placeholder, s.exact);
    narrow(() => query(root, 'css', '[placeholder],[aria-placeholder]', false), (el) => ['placeholder', 'aria-placeholder'].some((n) => dom.hasAttribute(el, n) && says(attr(el, n))));
  }
  if (s.label !== undefined) {
    const says = saysText(s.label, s.exact);
    narrow(() => query(root, 'css', 'input,textarea,select,button,meter,output,progress,fieldset,[aria-label],[aria-labelledby]', false), (el) => labelsSaid(el).some(says));
  }
  if (s.role !== undefined) {
    const role = oneName[s.role] ?? s.role, says = s.name === undefined ? null : saysName(s.name, s.exact);
    const candidates = () => query(root, 'css', role === 'generic' ? '*' : [...tagsOfRole(role), '[role]'].join(), false);
    narrow(candidates, (el) => (roleOf(el) === role && (s.visible === false || !unperceived(el)) && (!says || says(accName(el, role)))));
  }
  if (s.text !== undefined) {
    const says = saysText(s.text, s.exact);
    if (list) tests.push((el) => isSaid(el, says));
    else list = withText(root, s.text, says, s.exact);
  }
  return tests.length ? list.filter((el) => tests.every((t) => t(el))) : list;
};

// labelsSaid are the labels of an element, each by itself.
const labelsSaid = (el) => {
  const by = referenced(el, 'aria-labelledby');
  const said = by.length ? [by.map((l) => labelText(l, el)).join(' ')] : is(el, 'fieldset') ? [nativeName(el, 'group', {})] : labelsOf(el).map((l) => labelText(l, el));
  if (dom.hasAttribute(el, 'aria-label')) said.push(attr(el, 'aria-label'));
  return said.filter((t) => tidy(t) !== '');
};

// isSaid asks the question about the text of an element: as it stands, with spaces between
// its blocks, and with what is in shadow roots below it and in the slots of its own.
const isSaid = (el, says) => {
  if (says(written(el)) || says(spaced(el).join(''))) return true;
  const kids = [rootsOf(el).length ? withRoots : null, inOneRoot(el) && (is(el, 'slot') || one(el, 'slot')) || shadowOf(el) ? asDrawn : null];
  return kids.some((of) => of && (says(spaced(el, [], of).join('')) || says(unspaced(el, of))));
};
// What is in an element with its shadow root, and what is drawn of it.
const withRoots = (el) => (shadowOf(el) ? [...dom.nodes(el), ...dom.nodes(shadowOf(el))] : dom.nodes(el));
const asDrawn = (el) => { const put = is(el, 'slot') && isHTML(el) ? dom.assigned(el) : noNodes; return put.length ? put : dom.nodes(shadowOf(el) || el); };
const unspaced = (el, of) => {
  if (is(el, ...unread)) return '';
  return [...of(el)].map((n) => (dom.type(n) === 1 ? unspaced(n, of) : dom.type(n) === 3 || dom.type(n) === 4 ? dom.text(n) : '')).join('');
};
const inOneRoot = (el) => dom.type(dom.root(el)) === 11;

// withText is the innermost elements that have a text, and buttons whose value it is. A host
// has what is in its root beside the elements there.
const withText = (root, text, says, exact) => {
  const rough = saying(text);
  const at = dom.type(root) === 9 ? body(root) : root;
  if (!at) return [];
  const roots = [at, ...rootsOf(root)];
  const list = roots.flatMap((n) => innermost(n, rough, exact)).filter((el) => says(written(el)) || says(spaced(el).join('')));
  const buttons = query(root, 'css', 'input[type=button],input[type=submit],input[type=reset]', false).filter((b) => says(dom.inputValue(b)));
  const found = new Set([...list, ...buttons]);
  if (roots.length > 1) for (const el of aroundRoots(root, roots)) if (!found.has(el) && isSaid(el, says) && !inwards(el).some((n) => found.has(n) || isSaid(n, says))) found.add(el);
  return roots.length > 1 || buttons.length ? inOrder(root, found) : [...found];
};
const inwards = (el) => [...dom.children(el), ...(shadowOf(el) ? dom.childrenOfFragment(shadowOf(el)) : [])];
// aroundRoots are the elements below a node that have a shadow root, or have one below them.
const aroundRoots = (root, roots) => {
  const out = new Set();
  for (const r of roots) for (let n = hostOf(r); n && n !== root && isElement(n) && !out.has(n); n = above(n)) out.add(n);
  return [...out].filter((el) => !is(el, 'html', 'body', ...unread));
};
