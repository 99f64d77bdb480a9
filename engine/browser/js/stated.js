// The states that an element says of itself, for selectors and for snapshots alike.

const rolesWithChecked = new Set('checkbox menuitemcheckbox option radio switch menuitemradio treeitem'.split(' '));
const rolesWithExpanded = new Set('application button checkbox combobox gridcell link listbox menuitem row rowheader tab treeitem columnheader menuitemcheckbox menuitemradio switch'.split(' '));
const rolesWithLevel = new Set(['heading', 'listitem', 'row', 'treeitem']);
const rolesWithSelected = new Set(['gridcell', 'option', 'row', 'tab', 'rowheader', 'columnheader', 'treeitem']);
const headingLevels = { h1: 1, h2: 2, h3: 3, h4: 4, h5: 5, h6: 6 };

// Each gives 'true', 'false' or 'mixed', or nothing where the role has no such state, or the
// element does not say it. expanded is also what a <summary> says by its <details>.
const ariaSaid = (el, name) => (attr(el, name) ?? '').trim().toLowerCase();
const checkedState = (el, role, tag) => {
  if (!rolesWithChecked.has(role)) return undefined;
  const native = tag === 'input' && ['checkbox', 'radio'].includes(dom.inputType(el));
  const v = tag === 'input' && dom.indeterminate(el) ? 'mixed' : native ? String(dom.checked(el)) : ariaSaid(el, 'aria-checked');
  return v === 'true' || v === 'mixed' ? v : 'false';
};
const expandedState = (el, role, tag) => {
  if (tag === 'summary' && role === 'button') return String(dom.hasAttribute(dom.parent(el), 'open'));
  const v = rolesWithExpanded.has(role) ? ariaSaid(el, 'aria-expanded') : '';
  return v === 'true' || v === 'false' ? v : undefined;
};
const pressedState = (el, role) => {
  const v = role === 'button' ? ariaSaid(el, 'aria-pressed') : undefined;
  return v === undefined || v === 'true' || v === 'mixed' ? v : 'false';
};
const selectedState = (el, role, tag) => (tag === 'option' ? String(dom.optionSelected(el)) : rolesWithSelected.has(role) ? String(ariaSaid(el, 'aria-selected') === 'true') : undefined);
const levelOf = (el, role, tag) => {
  if (headingLevels[tag] && role === 'heading') return headingLevels[tag];
  const n = rolesWithLevel.has(role) ? Number(attr(el, 'aria-level') ?? NaN) : NaN;
  return Number.isInteger(n) && n >= 1 ? n : 0;
};
const stateOf = { checked: checkedState, expanded: expandedState, pressed: pressedState, selected: selectedState };

// descriptionOf is the accessible description of an element.
const descriptionOf = (el, role) => {
  const by = referenced(el, 'aria-describedby');
  if (by.length) return tidy(by.map((r) => alternative(r, { top: el, seen: new Set(), refers: true, hidden: unperceived(r) })).map(tidy).join(' '));
  const said = attrText(el, 'aria-description');
  if (said) return tidy(said);
  const title = attrText(el, 'title');
  return title && tidy(title) !== accName(el, role) ? tidy(title) : '';
};
