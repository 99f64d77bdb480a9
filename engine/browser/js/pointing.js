// Pointing at what a person perceives: {role, name, text, label, placeholder, testId, alt,
// title, description, level, states, selector, exact, nth, visible, within, has, hasNot,
// hasText, hasNotText, or}. All of it has to be true. A regular expression in the place of a
// text is in re.

// wants is whether a text or an expression is given, and asks the question whether another
// text is or contains it.
const wants = (s, field) => s[field] !== undefined || s.re?.[field] !== undefined;
const asks = (s, field, exact = s.exact, says = saysText) => (s.re?.[field] ? saysExpression(s.re[field]) : says(s[field], exact));

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
  const own = ['role', 'text', 'label', 'placeholder', 'testId', 'alt', 'title', 'selector'].some((k) => wants(s, k));
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
  if (wants(s, 'hasText')) { const has = asks(s, 'hasText', false); list = list.filter((el) => isSaid(el, has)); }
  if (wants(s, 'hasNotText')) { const has = asks(s, 'hasNotText', false); list = list.filter((el) => !isSaid(el, has)); }
  if (s.has) list = list.filter((el) => hasIn(el, s.has));
  if (s.hasNot) list = list.filter((el) => !hasIn(el, s.hasNot));
  if (list.length && s.visible !== false) {
    const seen = list.filter((el) => hiddenBecause(el) === ''), known = new Map();
    const best = seen.length > 1 ? seen.filter((el) => !shutIn(el, known)) : [];
    if (seen.length || s.visible) list = best.length ? best : seen;
  } else if (s.visible === false) list = list.filter((el) => hiddenBecause(el) !== '');
  if (s.nth === undefined) return list;
  const el = list.at(s.nth);
  return el ? [el] : [];
};

// hasIn is whether something that matches is in an element.
const hasIn = (el, t) => {
  const was = noted.length, list = t.r === undefined ? targets(el, t) : targets(el, t).filter((n) => n !== el && within(n, el));
  noted.length = was; // which alternative it was is no news of each element
  return list.length > 0;
};

// ownMatches is what a description's own parts match below a node.
const ownMatches = (root, s) => {
  const tests = [];
  let list;
  const narrow = (candidates, test) => { if (list) tests.push(test); else list = candidates().filter(test); };
  if (s.selector) list = targets(root, s.selector);
  if (wants(s, 'testId')) {
    const says = s.re?.testId ? asks(s, 'testId') : (v) => v === s.testId;
    narrow(() => query(root, 'css', testIds.map((n) => `[${n}]`).join(), false), (el) => testIds.some((n) => dom.hasAttribute(el, n) && says(attr(el, n))));
  }
  for (const name of ['alt', 'title']) if (wants(s, name)) {
    const says = asks(s, name);
    narrow(() => query(root, 'css', `[${name}]`, false), (el) => dom.hasAttribute(el, name) && says(attr(el, name)));
  }
  if (wants(s, 'placeholder')) {
    const says = asks(s, 'placeholder');
    narrow(() => query(root, 'css', '[placeholder],[aria-placeholder]', false), (el) => ['placeholder', 'aria-placeholder'].some((n) => dom.hasAttribute(el, n) && says(attr(el, n))));
  }
  if (wants(s, 'label')) {
    const says = asks(s, 'label');
    narrow(() => query(root, 'css', 'input,textarea,select,button,meter,output,progress,fieldset,[aria-label],[aria-labelledby]', false), (el) => labelsSaid(el).some(says));
  }
  if (s.role !== undefined) {
    const role = oneName[s.role] ?? s.role, says = wants(s, 'name') ? asks(s, 'name', s.exact, saysName) : null, described = wants(s, 'description') ? asks(s, 'description') : null;
    const candidates = () => query(root, 'css', role === 'generic' ? '*' : [...tagsOfRole(role), '[role]'].join(), false);
    narrow(candidates, (el) => (roleOf(el) === role && (s.visible === false || !unperceived(el)) && inStates(el, role, s) && (!says || says(accName(el, role))) && (!described || described(descriptionOf(el, role)))));
  }
  if (wants(s, 'text')) {
    const says = asks(s, 'text');
    if (list) tests.push((el) => isSaid(el, says));
    else list = withText(root, s, says);
  }
  return tests.length ? list.filter((el) => tests.every((t) => t(el))) : list;
};

const inStates = (el, role, s) => {
  const tag = dom.tag(el);
  if (s.level && levelOf(el, role, tag) !== s.level) return false;
  return !s.states || Object.entries(s.states).every(([name, v]) => stateOf[name](el, role, tag) === v);
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
const withText = (root, s, says) => {
  const rough = s.re?.text ? null : saying(s.text), p = s.re?.text;
  const at = dom.type(root) === 9 ? body(root) : root;
  if (!at) return [];
  const roots = [at, ...rootsOf(root)];
  const list = p ? roots.flatMap((n) => innermostThat(n, says, p.b)) : roots.flatMap((n) => innermost(n, rough, s.exact)).filter((el) => says(written(el)) || says(spaced(el).join('')));
  const buttons = query(root, 'css', 'input[type=button],input[type=submit],input[type=reset]', false).filter((b) => says(dom.inputValue(b)));
  const found = new Set([...list, ...buttons]);
  if (roots.length > 1) for (const el of aroundRoots(root, roots)) if (!found.has(el) && isSaid(el, says) && !inwards(el).some((n) => found.has(n) || isSaid(n, says))) found.add(el);
  return roots.length > 1 || buttons.length ? inOrder(root, found) : [...found];
};
// innermostThat is innermost for an expression. One that asks where it stands may match in an
// element and not in what that is in: it is tried at each, but for those with more text than
// somebody reads.
const innermostThat = (root, says, bound) => {
  const out = [];
  const visit = (el) => {
    if (is(el, ...unread)) return false;
    const t = written(el), yes = !(bound && t.length > longestName) && (says(t) || t.length < longestName && dom.children(el).length > 0 && says(spaced(el).join('')));
    if (!yes && !bound) return false;
    let deeper = false;
    for (const c of dom.children(el)) deeper = visit(c) || deeper;
    if (yes && !deeper) out.push(el);
    return yes || deeper;
  };
  for (const c of childrenOf(root)) visit(c);
  return out;
};
const inwards = (el) => [...dom.children(el), ...(shadowOf(el) ? dom.childrenOfFragment(shadowOf(el)) : [])];
// aroundRoots are the elements below a node that have a shadow root, or have one below them.
const aroundRoots = (root, roots) => {
  const out = new Set();
  for (const r of roots) for (let n = hostOf(r); n && n !== root && isElement(n) && !out.has(n); n = above(n)) out.add(n);
  return [...out].filter((el) => !is(el, 'html', 'body', ...unread));
};
