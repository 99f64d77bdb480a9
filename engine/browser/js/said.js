// What an element says of itself in a snapshot, by its tag and its attributes: its role and
// its states. All of it is asked of each element of a page.

// What is known of a tag is looked up once for each element.
const tagsKnown = new Map();
const aboutTag = (tag) => {
  let about = tagsKnown.get(tag);
  if (!about) {
    about = { never: neverShown.has(tag), custom: tag.includes('-'), host: hostTag.test(tag), special: specialTags.has(tag) };
    if (tagsKnown.size < 500) tagsKnown.set(tag, about); // pages invent tags
  }
  return about;
};
// What the attributes of an element may say, at one look. Most have only such as say nothing
// here, and are not asked for each by its name.
const saysAria = 1, saysRole = 2, saysTitle = 4, attributesKnown = new Map([['role', saysRole], ['title', saysTitle], ...'class id style href src type value name for width height alt'.split(' ').map((n) => [n, 0])]);
const saidBy = (el) => {
  let says = 0;
  for (const name of dom.attributeNames(el)) says |= attributesKnown.get(name) ?? (name.startsWith('aria-') ? saysAria : 0);
  return says;
};
// The role of an element that says none is that of its tag, or one that its tag asks for.
const tagRoles = new Map();
const hardRoles = new Set(['iframe', 'frame', 'object', 'embed', 'svg', 'math']);
const roleByTag = (el, tag, fact) => {
  let role = tagRoles.get(tag);
  if (role === undefined) {
    role = hardRoles.has(tag) ? roleShown : Object.hasOwn(shownByTag, tag) ? shownByTag[tag] : Object.hasOwn(dependent, tag) ? dependent[tag] : Object.hasOwn(plainRoles, tag) ? plainRoles[tag] : 'generic';
    if (tagRoles.size < 500) tagRoles.set(tag, role);
  }
  if (typeof role === 'string') return (fact.role = role);
  if (role === roleShown) return roleShown(el);
  role = role(el);
  return role === '' || role === 'sectionheader' || role === 'sectionfooter' ? 'generic' : role;
};

// Without attributes of ARIA little can be said of an element.
const statesOfBare = (el, role, tag, off) => {
  const level = headingLevels[tag], is = rolesWithDisabled.has(role) && isDisabled(el, tag, off);
  return level !== undefined && role === 'heading' ? [`level=${level}`] : is ? ['disabled'] : null;
};
const statesOf = (el, role, tag, off) => {
  const out = [];
  const checked = tag === 'input' || dom.hasAttributes(el) ? checkedState(el, role, tag) : undefined;
  if (checked === 'mixed') out.push('checked=mixed'); else if (checked === 'true') out.push('checked');
  if (rolesWithDisabled.has(role) && isDisabled(el, tag, off)) out.push('disabled');
  if (expandedState(el, role, tag) === 'true') out.push('expanded');
  if (rolesWithInvalid.has(role)) {
    const v = ariaSaid(el, 'aria-invalid');
    if (v === 'grammar' || v === 'spelling') out.push('invalid=' + v); else if (v !== '' && v !== 'false') out.push('invalid');
  }
  const level = levelOf(el, role, tag), pressed = pressedState(el, role);
  if (level) out.push('level=' + level);
  if (pressed === 'mixed') out.push('pressed=mixed'); else if (pressed === 'true') out.push('pressed');
  if (selectedState(el, role, tag) === 'true') out.push('selected');
  return out;
};
// off is whether aria-disabled says so, of the element or of what is around it.
const isDisabled = (el, tag, off) => off || ['button', 'input', 'select', 'textarea'].includes(tag) && dom.matches(el, ':disabled') || ['option', 'optgroup'].includes(tag) && optionDisabled(el);
const optionDisabled = (el) => dom.closest(el, 'option[disabled],optgroup[disabled]') !== null || (el = dom.closest(el, 'select')) !== null && dom.matches(el, ':disabled') && (!dom.hasAttribute(el, 'disabled') || dom.closest(el, 'fieldset[disabled]') !== null);
const turnedOff = (el, off) => { const v = attr(el, 'aria-disabled')?.toLowerCase(); return v === 'true' || v !== 'false' && off; };
const turnedOffAround = (el) => { for (let n = above(el); n && isElement(n); n = above(n)) { const v = attr(n, 'aria-disabled')?.toLowerCase(); if (v === 'true' || v === 'false') return v === 'true'; } return false; };
