// What everything else stands on. The world's own functions are not the page's,
// but a page can still name an element "querySelector" and hide the method of
// its form or document behind it; so methods and properties are taken from the
// prototypes, once.
const own = (proto, name) => Function.prototype.call.bind(proto[name]);
const get = (proto, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(proto, name).get);
const set = (proto, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(proto, name).set);
const dom = {
  oneInDocument: own(Document.prototype, 'querySelector'),
  oneInElement: own(Element.prototype, 'querySelector'),
  oneInFragment: own(DocumentFragment.prototype, 'querySelector'),
  allInDocument: own(Document.prototype, 'querySelectorAll'),
  allInElement: own(Element.prototype, 'querySelectorAll'),
  allInFragment: own(DocumentFragment.prototype, 'querySelectorAll'),
  matches: own(Element.prototype, 'matches'),
  closest: own(Element.prototype, 'closest'),
  xpath: own(Document.prototype, 'evaluate'),
  attribute: own(Element.prototype, 'getAttribute'),
  hasAttribute: own(Element.prototype, 'hasAttribute'),
  rect: own(Element.prototype, 'getBoundingClientRect'),
  rects: own(Element.prototype, 'getClientRects'),
  scrollIntoView: own(Element.prototype, 'scrollIntoView'),
  animations: own(Document.prototype, 'getAnimations'),
  shadow: get(Element.prototype, 'shadowRoot'),
  tag: get(Element.prototype, 'localName'),
  id: get(Element.prototype, 'id'),
  html: get(Element.prototype, 'innerHTML'),
  text: get(Node.prototype, 'textContent'),
  nodes: get(Node.prototype, 'childNodes'),
  range: own(Document.prototype, 'createRange'),
  visible: own(Element.prototype, 'checkVisibility'),
  parent: get(Node.prototype, 'parentNode'),
  children: get(Element.prototype, 'children'),
  childrenOfFragment: get(DocumentFragment.prototype, 'children'),
  compare: own(Node.prototype, 'compareDocumentPosition'),
  namespace: get(Element.prototype, 'namespaceURI'),
  doc: get(Node.prototype, 'ownerDocument'),
  connected: get(Node.prototype, 'isConnected'),
  type: get(Node.prototype, 'nodeType'),
  contains: own(Node.prototype, 'contains'),
  root: own(Node.prototype, 'getRootNode'),
  slot: get(Element.prototype, 'assignedSlot'),
  view: get(Document.prototype, 'defaultView'),
  rootElement: get(Document.prototype, 'documentElement'),
  state: get(Document.prototype, 'readyState'),
  active: get(Document.prototype, 'activeElement'),
  activeInShadow: get(ShadowRoot.prototype, 'activeElement'),
  command: own(Document.prototype, 'execCommand'),
  at: own(Document.prototype, 'elementFromPoint'),
  atInShadow: own(ShadowRoot.prototype, 'elementFromPoint'),
  dispatch: own(EventTarget.prototype, 'dispatchEvent'),
  listen: own(EventTarget.prototype, 'addEventListener'),
  unlisten: own(EventTarget.prototype, 'removeEventListener'),
  scroller: get(Document.prototype, 'scrollingElement'),
  scrollBy: own(Element.prototype, 'scrollBy'),
  scrollTo: own(Element.prototype, 'scrollTo'),
  scrollLeft: get(Element.prototype, 'scrollLeft'),
  scrollTop: get(Element.prototype, 'scrollTop'),
  scrollWidth: get(Element.prototype, 'scrollWidth'),
  scrollHeight: get(Element.prototype, 'scrollHeight'),
  clientWidth: get(Element.prototype, 'clientWidth'),
  clientHeight: get(Element.prototype, 'clientHeight'),
  editable: get(HTMLElement.prototype, 'isContentEditable'),
  focus: own(HTMLElement.prototype, 'focus'),
  focusInDrawing: own(SVGElement.prototype, 'focus'),
  clickByScript: own(HTMLElement.prototype, 'click'),
  iframeDocument: get(HTMLIFrameElement.prototype, 'contentDocument'),
  frameDocument: get(HTMLFrameElement.prototype, 'contentDocument'),
  inputValue: get(HTMLInputElement.prototype, 'value'),
  setInputValue: set(HTMLInputElement.prototype, 'value'),
  inputType: get(HTMLInputElement.prototype, 'type'),
  areaValue: get(HTMLTextAreaElement.prototype, 'value'),
  setAreaValue: set(HTMLTextAreaElement.prototype, 'value'),
  selectValue: get(HTMLSelectElement.prototype, 'value'),
  selectMultiple: get(HTMLSelectElement.prototype, 'multiple'),
  setSelectIndex: set(HTMLSelectElement.prototype, 'selectedIndex'),
  selected: get(HTMLSelectElement.prototype, 'selectedOptions'),
};
const all = (root, css) => {
  const t = dom.type(root);
  return t === 9 ? dom.allInDocument(root, css) : t === 11 ? dom.allInFragment(root, css) : dom.allInElement(root, css);
};
const one = (root, css) => {
  const t = dom.type(root);
  return t === 9 ? dom.oneInDocument(root, css) : t === 11 ? dom.oneInFragment(root, css) : dom.oneInElement(root, css);
};
const body = (doc) => one(doc, 'body') || dom.rootElement(doc);
const viewOf = (el) => dom.view(dom.doc(el) || el);
const frameDocument = (el) => {
  try { return is(el, 'frame') ? dom.frameDocument(el) : dom.iframeDocument(el); } catch { return null; }
};

// Replies: {v} a value, {c, e} a code and a sentence, {n} the page is leaving.
const fail = (c, e) => ({ c, e });
const done = { v: { success: true } };

// isElement and the like work for elements of every frame: each frame has
// constructors of its own.
const isElement = (n) => n && dom.type(n) === 1;
const isHTML = (el) => dom.namespace(el) === 'http://www.w3.org/1999/xhtml';
const isEditable = (el) => isHTML(el) && dom.editable(el);
const hostOf = (root) => (dom.type(root) === 11 ? root.host : undefined); // of a shadow root
const childrenOf = (n) => (isElement(n) ? dom.children(n) : dom.childrenOfFragment(n));
const is = (el, ...names) => names.includes(dom.tag(el));

// A short name of an element for people: tag, id, classes.
const nameOf = (el) => {
  let s = dom.tag(el);
  const id = dom.attribute(el, 'id'), cls = dom.attribute(el, 'class'), name = dom.attribute(el, 'name');
  if (id) s += '#' + id;
  else if (cls && cls.trim()) s += '.' + cls.trim().split(/\s+/).slice(0, 3).join('.');
  else if (name) s += `[name="${name}"]`;
  return s.length > 100 ? s.slice(0, 100) + '…' : s;
};

const an = (s) => (/^([aeiou]|h(tml|r|\d)\b)/.test(s) ? 'an ' : 'a ') + s;

const now = () => performance.now();
const frame = () => new Promise((r) => { const t = setTimeout(r, 100); requestAnimationFrame(() => { clearTimeout(t); setTimeout(r, 0); }); });

// Whether the page is on its way to another document. A submitted form leaves
// in a task of its own, so whoever comes after input lets that task run first.
let leaving = null;
if (globalThis.navigation) {
  dom.listen(navigation, 'navigate', (e) => {
    if (!e.isTrusted || e.hashChange || e.downloadRequest !== null || e.destination.sameDocument) return;
    if (!/^(https?|about|blob|data|file|filesystem):/i.test(e.destination.url)) return;
    leaving = e;
    // A page that handles the navigation itself stays in its document; that is
    // known when all listeners have run.
    setTimeout(() => { if (leaving === e && (e.defaultPrevented || navigation.transition)) leaving = null; }, 0);
  });
  const over = (e) => { if (e.isTrusted) leaving = null; };
  dom.listen(navigation, 'navigateerror', over);
  dom.listen(navigation, 'navigatesuccess', over);
}
const gone = () => leaving !== null && !leaving.defaultPrevented;
const settle = async (a) => {
  inLoop(a);
  if (a.settle) await new Promise((r) => setTimeout(r, 0));
  return !gone();
};

// T.run(function, argument): what every call goes through. The reply is made
// into JSON here, which is much faster than letting the browser take it apart;
// half a character is replaced, as no JSON can carry it. In haste nobody waits
// for the page to settle: whoever asks learns otherwise whether it leaves.
T.run = async (fn, a, haste) => {
  if (haste) Object.assign(a, { haste, settle: false });
  const r = await T[fn](a);
  return typeof r === 'string' ? r : encode(r);
};
const most = 16777216; // what one reply may hold, as the service has it
const encode = (r) => {
  let s = JSON.stringify(r);
  if (s.length > most) s = JSON.stringify(fail('invalid_value', `the result has ${s.length} characters, and ${most} bytes are the limit`));
  return s.includes('\\ud') ? JSON.stringify(r, (k, v) => (typeof v === 'string' ? v.toWellFormed() : v)) : s;
};

// T.never() ends with the document; T.stay() says that it did not end after all.
T.never = () => new Promise(() => {});
T.stay = () => { leaving = null; return done; };
