// What a page says of itself, and where it leads.

// T.links({t, in, ms, visible}): the links of an element, or of the document where t says
// none, as [{url, text}], each address once, with the first text that it has.
T.links = async (a) => {
  const list = (root) => {
    const found = new Map();
    for (const el of peer(() => query(root, 'css', 'a[*|href],area[href]', false))) {
      if (!isHTML(el) && !isDrawing(el) || a.visible && !shows(el)) continue;
      const url = linkAddress(el);
      if (!url || /^javascript:/i.test(url)) continue;
      const known = found.get(url);
      if (known?.text) continue;
      const text = linkText(el);
      if (known) known.text = text; else found.set(url, { url, text });
    }
    return { v: [...found.values()] };
  };
  return a.t ? withFirst(a, (el) => { once(unlock); return list(el); }) : ofDocument(a, (doc) => { once(unlock); return list(doc); });
};
// shows reports whether an element can be seen, with all that it is in.
const shows = (el) => {
  if (hiddenBecause(el) !== '') return false;
  if (is(el, 'area')) { const p = pictureOf(el); return !!p && shows(p); }
  for (let n = el; n && isElement(n); n = flatAbove(n)) if (!drawnAs(n, styleOf(n))) return false;
  return true;
};
const areaHref = get('HTMLAreaElement', 'href');
// linkAddress is where a link leads, as a whole address: also one in a drawing, which has it in a
// name of its own or in that of XLink.
const linkAddress = (el) => {
  if (isHTML(el)) return is(el, 'a') ? anchorHref(el) : areaHref(el);
  const to = dom.attribute(el, 'href') ?? dom.attributeNS(el, xlink, 'href');
  try { return to === null ? '' : new URL(to, dom.base(el)).href; } catch { return ''; }
};
// The text of a link in a drawing is what is drawn, or else the title.
const drawnText = (el) => [...(is(el, 'text', 'tspan') ? [el] : all(el, 'text,foreignObject'))].map((n) => tidy(dom.text(n))).filter(Boolean).join(' ');
const titleIn = (el) => { const t = childNamed(el, 'title') ?? one(el, 'title'); return t ? tidy(dom.text(t)) : ''; };
const linkText = (el) => {
  if (isDrawing(el)) return drawnText(el) || attrText(el, 'aria-label') || titleIn(el) || tidy(dom.attributeNS(el, xlink, 'title') ?? '') || (dom.closest(el, 'text') ? tidy(dom.text(el)) : '');
  const t = tidy(dom.text(el)), picture = t ? null : one(el, 'img[alt],svg[aria-label]') ?? one(el, 'svg');
  return t || attrText(el, 'aria-label') || (picture ? attrText(picture, 'alt') || attrText(picture, 'aria-label') || titleIn(picture) : '') || attrText(el, 'alt') || attrText(el, 'title');
};

// T.facts({in, ms}): {url, title, description, canonical, language, openGraph, jsonLd}.
// What the page does not say is null.
T.facts = (a) => ofDocument(a, (doc) => {
  const meta = (name) => { const el = [...all(doc, 'meta[name][content]')].find((n) => attr(n, 'name').toLowerCase() === name); return el ? attrText(el, 'content') : null; };
  const link = [...all(doc, 'link[rel][href]')].find((n) => attr(n, 'rel').toLowerCase().split(/\s+/).includes('canonical'));
  const absolute = (s) => { try { return new URL(s, doc.baseURI).href; } catch { return s; } };
  const openGraph = {};
  for (const el of all(doc, 'meta[property][content],meta[name^="og:"][content]')) {
    const name = /^og:(.+)$/.exec(attr(el, 'property') ?? attr(el, 'name'))?.[1];
    if (!name) continue;
    const said = attrText(el, 'content'), v = /^(url|(image|video|audio)(:(url|secure_url))?)$/.test(name) && said ? absolute(said) : said;
    if (!Object.hasOwn(openGraph, name)) openGraph[name] = v;
    else openGraph[name] = [].concat(openGraph[name], v);
  }
  const jsonLd = [], broken = [];
  for (const el of query(doc, 'css', 'script[type]', false)) {
    if (!/^application\/ld\+json\s*(;|$)/i.test(attrText(el, 'type'))) continue;
    try { jsonLd.push(JSON.parse(dom.text(el))); } catch { broken.push(el); }
  }
  const root = dom.rootElement(doc);
  const v = {
    url: dom.view(doc).location.href, title: doc.title ?? '', description: meta('description'), canonical: link ? absolute(attr(link, 'href')) : null,
    language: (root && (attrText(root, 'lang') || attrText(root, 'xml:lang'))) || meta('content-language') || null, openGraph, jsonLd,
  };
  return broken.length ? { v, w: [`${broken.length} of the page's JSON-LD scripts ${broken.length === 1 ? 'is' : 'are'} no JSON`] } : { v };
});
