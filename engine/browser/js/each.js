// What is asked of each element of a page has code of its own, which the engine then
// compiles for it alone: see core.js.
let fMatches, fAttribute, fHasAttribute, fHasAttributes, fAttributeNames, fRect, fVisible, fRoot, gTag, gText, gFirst, gNext, gParent, gType, gShadow, gNamespace, gDoc, gSlot, gConnected, gInputType, gFirstElement;
Object.assign(dom, {
  matches: (n, a) => (fMatches ??= Element.prototype.matches).call(n, a),
  attribute: (n, a) => (fAttribute ??= Element.prototype.getAttribute).call(n, a),
  hasAttribute: (n, a) => (fHasAttribute ??= Element.prototype.hasAttribute).call(n, a),
  hasAttributes: (n) => (fHasAttributes ??= Element.prototype.hasAttributes).call(n),
  attributeNames: (n) => (fAttributeNames ??= Element.prototype.getAttributeNames).call(n),
  rect: (n) => (fRect ??= Element.prototype.getBoundingClientRect).call(n),
  shadow: (n) => (gShadow ??= described('Element', 'shadowRoot').get).call(n),
  tag: (n) => (gTag ??= described('Element', 'localName').get).call(n),
  text: (n) => (gText ??= described('Node', 'textContent').get).call(n),
  first: (n) => (gFirst ??= described('Node', 'firstChild').get).call(n),
  firstElement: (n) => (gFirstElement ??= described('Element', 'firstElementChild').get).call(n),
  next: (n) => (gNext ??= described('Node', 'nextSibling').get).call(n),
  visible: (n, a) => (fVisible ??= Element.prototype.checkVisibility).call(n, a),
  parent: (n) => (gParent ??= described('Node', 'parentNode').get).call(n),
  namespace: (n) => (gNamespace ??= described('Element', 'namespaceURI').get).call(n),
  doc: (n) => (gDoc ??= described('Node', 'ownerDocument').get).call(n),
  connected: (n) => (gConnected ??= described('Node', 'isConnected').get).call(n),
  type: (n) => (gType ??= described('Node', 'nodeType').get).call(n),
  root: (n) => (fRoot ??= Node.prototype.getRootNode).call(n),
  slot: (n) => (gSlot ??= described('Element', 'assignedSlot').get).call(n),
  inputType: (n) => (gInputType ??= described('HTMLInputElement', 'type').get).call(n),
  control: get('HTMLLabelElement', 'control'),
});
