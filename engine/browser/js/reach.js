// What the actions, and the parts after them, take from the prototypes: see core.js.
Object.assign(dom, {
  closest: own('Element', 'closest'),
  hasAttribute: own('Element', 'hasAttribute'),
  hasAttributes: own('Element', 'hasAttributes'),
  rects: own('Element', 'getClientRects'),
  scrollIntoView: own('Element', 'scrollIntoView'),
  first: get('Node', 'firstChild'),
  next: get('Node', 'nextSibling'),
  range: own('Document', 'createRange'),
  visible: own('Element', 'checkVisibility'),
  slot: get('Element', 'assignedSlot'),
  slotOfText: get('Text', 'assignedSlot'),
  assigned: own('HTMLSlotElement', 'assignedNodes'),
  active: get('Document', 'activeElement'),
  activeInShadow: get('ShadowRoot', 'activeElement'),
  command: ownOfMany('Document', 'execCommand'),
  at: ownOfMany('Document', 'elementFromPoint'),
  atInShadow: ownOfMany('ShadowRoot', 'elementFromPoint'),
  dispatch: own('EventTarget', 'dispatchEvent'),
  unlisten: ownOfMany('EventTarget', 'removeEventListener'),
  scroller: get('Document', 'scrollingElement'),
  scrollBy: ownOfMany('Element', 'scrollBy'),
  scrollTo: ownOfMany('Element', 'scrollTo'),
  scrollLeft: get('Element', 'scrollLeft'),
  scrollTop: get('Element', 'scrollTop'),
  scrollWidth: get('Element', 'scrollWidth'),
  scrollHeight: get('Element', 'scrollHeight'),
  clientWidth: get('Element', 'clientWidth'),
  clientHeight: get('Element', 'clientHeight'),
  focus: own('HTMLElement', 'focus'),
  blur: own('HTMLElement', 'blur'),
  focusInDrawing: own('SVGElement', 'focus'),
  clickByScript: own('HTMLElement', 'click'),
  setInputValue: set('HTMLInputElement', 'value'),
  inputType: get('HTMLInputElement', 'type'),
  checked: get('HTMLInputElement', 'checked'),
  indeterminate: get('HTMLInputElement', 'indeterminate'),
  optionSelected: get('HTMLOptionElement', 'selected'),
  setAreaValue: set('HTMLTextAreaElement', 'value'),
  setSelectIndex: set('HTMLSelectElement', 'selectedIndex'),
});

// slotOf is the slot that an element or a text is shown in. Of closed roots the browser
// does not tell it: they are looked through, once they are known.
const slotOf = (n) => {
  const type = dom.type(n), slot = type === 1 ? dom.slot(n) : type === 3 || type === 4 ? dom.slotOfText(n) : null;
  if (slot || !anyClosed || type === 11) return slot;
  const p = dom.parent(n), root = p && isElement(p) ? closedRoots.get(p) : null;
  return root ? [...all(root, 'slot')].find((s) => isHTML(s) && dom.assigned(s).includes(n)) ?? null : null;
};
// flatAbove is what something is in, as it is drawn: the flat tree.
const flatAbove = (n) => slotOf(n) || above(n);
