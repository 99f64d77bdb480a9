// What everything else stands on. The world's own functions are not the page's,
// but a page can still name an element "querySelector" and hide the method of
// its form or document behind it; so methods and properties are taken from the
// prototypes, each when it is first used: a document needs few of them.
// Most methods are called with one value or none, and very often: they take no list of
// values, as those with more do (ownOfMany), for that would be made anew each time.
const described = (type, name) => Object.getOwnPropertyDescriptor(globalThis[type].prototype, name);
const own = (type, name) => { let f; return (n, v) => { f ??= globalThis[type].prototype[name]; return v === undefined ? f.call(n) : f.call(n, v); }; };
const ownOfMany = (type, name) => { let f; return (n, ...a) => (f ??= globalThis[type].prototype[name]).apply(n, a); };
const get = (type, name) => { let f; return (n) => (f ??= described(type, name).get).call(n); };
const set = (type, name) => { let f; return (n, v) => (f ??= described(type, name).set).call(n, v); };
const dom = {
  oneInDocument: own('Document', 'querySelector'),
  oneInElement: own('Element', 'querySelector'),
  oneInFragment: own('DocumentFragment', 'querySelector'),
  allInDocument: own('Document', 'querySelectorAll'),
  allInElement: own('Element', 'querySelectorAll'),
  allInFragment: own('DocumentFragment', 'querySelectorAll'),
  xpath: ownOfMany('Document', 'evaluate'),
  expression: ownOfMany('Document', 'createExpression'),
  attribute: own('Element', 'getAttribute'),
  shadow: get('Element', 'shadowRoot'),
  tag: get('Element', 'localName'),
  html: get('Element', 'innerHTML'),
  text: get('Node', 'textContent'),
  children: get('Element', 'children'),
  childrenOfFragment: get('DocumentFragment', 'children'),
  namespace: get('Element', 'namespaceURI'),
  doc: get('Node', 'ownerDocument'),
  connected: get('Node', 'isConnected'),
  type: get('Node', 'nodeType'),
  view: get('Document', 'defaultView'),
  rootElement: get('Document', 'documentElement'),
  state: get('Document', 'readyState'),
  listen: ownOfMany('EventTarget', 'addEventListener'),
  editable: get('HTMLElement', 'isContentEditable'),
  iframeDocument: get('HTMLIFrameElement', 'contentDocument'),
  frameDocument: get('HTMLFrameElement', 'contentDocument'),
  objectDocument: get('HTMLObjectElement', 'contentDocument'),
  objectWindow: get('HTMLObjectElement', 'contentWindow'),
};
const all = (root, css) => {
  const t = dom.type(root);
  return t === 9 ? dom.allInDocument(root, css) : t === 11 ? dom.allInFragment(root, css) : dom.allInElement(root, css);
};
const one = (root, css) => {
  const t = dom.type(root);
  return t === 9 ? dom.oneInDocument(root, css) : t === 11 ? dom.oneInFragment(root, css) : dom.oneInElement(root, css);
};
// Documents that somebody has waited for in vain: they may never end, and are taken as they are.
const vain = new WeakSet();
const body = (doc) => one(doc, 'body') || dom.rootElement(doc);
const viewOf = (el) => dom.view(dom.doc(el) || el);
const frameDocument = (el) => {
  try {
    if (is(el, 'embed')) return embedded(el)?.document ?? null;
    return is(el, 'frame') ? dom.frameDocument(el) : is(el, 'object') ? dom.objectDocument(el) : dom.iframeDocument(el);
  } catch { return null; }
};
// What an embed element shows is no property of it: of the windows in its document's, it is
// the one whose element it is. Those of other origins do not tell, but are known by what
// else they may belong to.
const embedded = (el) => {
  const v = viewOf(el);
  for (let i = 0; i < (v?.length ?? 0); i++) try { if (v[i].frameElement === el) return v[i]; } catch { /* of another origin */ }
  return null;
};
const foreignEmbed = (el) => {
  const v = viewOf(el), left = new Set();
  for (let i = 0; i < (v?.length ?? 0); i++) try { v[i].document; } catch { left.add(v[i]); }
  if (left.size) for (const f of all(dom.doc(el), 'iframe,frame,object')) left.delete(f.contentWindow);
  return left.size > 0 && dom.attribute(el, 'src') !== null;
};
// isFrame: an object or embed element is one where it shows a document.
const isFrame = (el) => isHTML(el) && (is(el, 'iframe', 'frame') || is(el, 'object') && dom.objectWindow(el) !== null || is(el, 'embed') && (embedded(el) !== null || foreignEmbed(el)));

// Replies: {v} a value, {c, e} a code and a sentence, {n} the page is leaving.
const fail = (c, e) => ({ c, e });
const done = { v: { success: true } };

// isElement and the like work for elements of every frame: each frame has
// constructors of its own.
const isElement = (n) => n && dom.type(n) === 1;
const isHTML = (el) => dom.namespace(el) === 'http://www.w3.org/1999/xhtml';
// isEditable is for text that is edited in place. What has a value of its own is a
// field, also where it is in such a text.
const isEditable = (el) => isHTML(el) && dom.editable(el) && !is(el, 'input', 'textarea', 'select');
const hostOf = (root) => (dom.type(root) === 11 ? root.host : undefined); // of a shadow root
const childrenOf = (n) => (isElement(n) ? dom.children(n) : dom.childrenOfFragment(n));
const is = (el, ...names) => names.includes(dom.tag(el));

// Whatever is cut says so by an ellipsis: secrets are looked for before it.
const upTo = (s, n) => (s.length > n ? s.slice(0, n) + '…' : s);

const now = () => performance.now();

// later calls f after so many milliseconds, and gives what calls that off; every
// does it again and again. A document that may run no scripts, by the sandbox of
// its content security policy, has silent timers in every world. The scheduler of
// tasks is not silent there; it stands behind each timer, a little later, until
// one is known to go off.
let timersGoOff = false;
const ours = { timers: 0, frames: 0 }; // how many of each this script has asked the window for
const later = (f, ms) => {
  let over = false;
  const go = () => { if (!over) { over = true; f(); } };
  ours.timers++;
  const id = setTimeout(() => { timersGoOff = true; go(); }, ms);
  if (!timersGoOff) scheduler.postTask(go, { delay: ms + 50 });
  return () => { over = true; clearTimeout(id); };
};
const every = (f, ms) => {
  let off;
  const go = () => { off = later(go, ms); f(); };
  off = later(go, ms);
  return () => off();
};
const drawn = (f) => { ours.frames++; requestAnimationFrame(f); };

// Whether the page is on its way to another document.
let leaving = null;
if (globalThis.navigation) {
  dom.listen(navigation, 'navigate', (e) => {
    if (!e.isTrusted || e.hashChange || e.downloadRequest !== null || e.destination.sameDocument) return;
    if (!/^(https?|about|blob|data|file|filesystem):/i.test(e.destination.url)) return;
    leaving = e;
    // A page that handles the navigation itself stays in its document; that is
    // known when all listeners have run.
    later(() => { if (leaving === e && (e.defaultPrevented || navigation.transition)) leaving = null; }, 0);
  });
  const over = (e) => { if (e.isTrusted) leaving = null; };
  dom.listen(navigation, 'navigateerror', over);
  dom.listen(navigation, 'navigatesuccess', over);
}
const gone = () => leaving !== null && !leaving.defaultPrevented;
// T.run(function, argument): what every call goes through. The reply is made
// into JSON here, which is much faster than letting the browser take it apart;
// half a character is replaced, as no JSON can carry it. In haste nobody waits
// for the page to settle: whoever asks learns otherwise whether it leaves.
T.run = async (fn, a, haste) => {
  if (haste) Object.assign(a, { haste, settle: false });
  alone = a.alone ?? false;
  opened = a.opened ?? false;
  noted.length = 0;
  let r;
  try { r = a.in && (await lead(fn, a)) || await T[fn](a); } catch (e) {
    if (!(e instanceof Hop)) throw e;
    r = e.reply;
  }
  tellNoted(r);
  return typeof r === 'string' ? r : encode(r);
};
// noted is what has come to light while something was looked for, and is told with
// what came of it.
const noted = [];
const tellNoted = (r) => { if (noted.length && r.v !== undefined && !r.c) r.w = [...(r.w ?? []), ...new Set(noted)]; noted.length = 0; };
// lead says that a call belongs into a frame of another origin. Before input goes to
// such a frame it is brought into view, for the browser lets those rest that are not.
const lead = async (fn, a) => {
  if (a.t?.s) try { proper(a.t.k, a.t.s); } catch (e) { return e.reply; }
  if (!hop(a.in)) return null;
  if (!(await settle(a))) return { n: true };
  const r = hop(a.in);
  if (r?.x.n) T.show?.(fn, T.numbered(r.x.n));
  return r;
};
const most = 16777216; // what one reply may hold, as the service has it
const bytesOf = (s) => {
  let n = s.length;
  if (s.length > most || !/[^\x00-\x7f]/.test(s)) return n;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c > 0x7f) n += c > 0x7ff ? 2 : 1;
  }
  return n;
};
const encode = (r) => {
  let s = JSON.stringify(r);
  if (bytesOf(s) > most) s = JSON.stringify(fail('invalid_value', `the result has ${bytesOf(s)} bytes, and ${most} are the limit`));
  return s.includes('\\ud') ? JSON.stringify(r, (k, v) => (typeof v === 'string' ? v.toWellFormed() : v)) : s;
};

// T.never() ends with the document; T.stay() says that it did not end after all.
T.never = () => new Promise(() => {});
T.stay = () => { leaving = null; return done; };
