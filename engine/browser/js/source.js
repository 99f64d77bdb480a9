// The source of the page as it is now: [{url, html, cut, foreign}] for its document and
// for the frames of its own origin, objects among them, open shadow roots included; foreign says in the
// first that there are frames of other origins. It is evaluated as
// it stands, apart from the page script, which every page would have to carry.
((limit) => {
  const get = (proto, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(proto, name).get);
  const [root, shadow, outer, tag] = [get(Document.prototype, 'documentElement'), get(Element.prototype, 'shadowRoot'), get(Element.prototype, 'outerHTML'), get(Element.prototype, 'localName')];
  const all = Function.prototype.call.bind(Document.prototype.querySelectorAll), allIn = Function.prototype.call.bind(DocumentFragment.prototype.querySelectorAll);
  const inner = Function.prototype.call.bind(Element.prototype.getHTML), bare = Function.prototype.call.bind(Node.prototype.cloneNode);
  const inFrame = get(HTMLIFrameElement.prototype, 'contentDocument'), inOld = get(HTMLFrameElement.prototype, 'contentDocument');
  const inObject = get(HTMLObjectElement.prototype, 'contentDocument'), window = get(HTMLObjectElement.prototype, 'contentWindow');
  const inEmbed = (el) => {
    const v = view(el.ownerDocument);
    for (let i = 0; i < (v?.length ?? 0); i++) try { if (v[i].frameElement === el) return v[i].document; } catch { /* of another origin */ }
    return undefined;
  };
  // A document, null where it is of another origin, undefined where there is none.
  const frame = (el) => (tag(el) === 'iframe' ? inFrame(el) : tag(el) === 'frame' ? inOld(el) : tag(el) === 'embed' ? inEmbed(el) : window(el) ? inObject(el) : undefined);
  const view = get(Document.prototype, 'defaultView'), type = get(Document.prototype, 'doctype');
  const out = [];
  let left = limit;
  const visit = (doc, depth) => {
    const roots = [], frames = [];
    const walk = (list) => {
      for (const el of list) {
        if (['iframe', 'frame', 'object', 'embed'].includes(tag(el))) frames.push(el);
        const r = shadow(el);
        if (r) { roots.push(r); walk(allIn(r, '*')); }
      }
    };
    walk(all(doc, '*'));
    const html = root(doc);
    let text = '';
    if (html && roots.length) {
      const end = '</' + tag(html) + '>', begin = outer(bare(html, false));
      text = (begin.endsWith(end) ? begin.slice(0, -end.length) : begin) + inner(html, { shadowRoots: roots }) + end;
    } else if (html) text = outer(html);
    if (type(doc)) text = '<!DOCTYPE ' + type(doc).name + '>\n' + text;
    const cut = text.length > left;
    if (cut) text = text.slice(0, left);
    left -= text.length;
    out.push({ url: view(doc) ? String(view(doc).location.href) : '', html: text, cut });
    if (depth < 5) for (const f of frames) {
      if (out.length >= 50 || left <= 0) return;
      let d = null;
      try { d = frame(f); } catch { /* of another origin */ }
      if (d) visit(d, depth + 1); else if (d === null) out[0].foreign = true;
    }
  };
  visit(document, 0);
  return JSON.stringify(out);
})
