// What a page has in its texts that no person reads: for models, which would take it for
// what the page says.

// illegible reports whether the text right in an element cannot be read: in the colour of what
// is behind it, transparent, far too small, or cut off.
const leastContrast = 1.2, leastSize = 2;
let known = new WeakMap(); // what is behind elements, and how much of them is cut off
const readAnew = () => { known = new WeakMap(); };
const colours = new Map();
let inkpot;
const colourOf = (s) => {
  const c = colours.get(s);
  if (c) return c;
  inkpot ??= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  inkpot.clearRect(0, 0, 1, 1);
  inkpot.fillStyle = '#000';
  inkpot.fillStyle = s;
  inkpot.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = inkpot.getImageData(0, 0, 1, 1).data, made = [r, g, b, a / 255];
  if (colours.size < 1000) colours.set(s, made);
  return made;
};
const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1];
const light = ([r, g, b]) => {
  const part = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const differs = (a, b) => { const x = light(a), y = light(b); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05) >= leastContrast; };
const inColours = /(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color)\([^()]*\)/g;

// behind is what is around and behind what is in an element: the colours that may be there,
// none where nobody knows, how opaque it is, and whether it is cut off.
const behind = (el) => {
  const before = known.get(el);
  if (before) return before;
  const up = flatAbove(el), around = up && isElement(up) ? behind(up) : { colours: [[255, 255, 255, 1]], opaque: 1, cut: false };
  const s = styleOf(el), its = { colours: around.colours, opaque: around.opaque * Number(s.opacity), cut: around.cut || cutAway(el, s) };
  const picture = s.backgroundClip !== 'text' && s.backgroundImage !== 'none' ? s.backgroundImage : '';
  const own = s.backgroundClip === 'text' ? [0, 0, 0, 0] : colourOf(s.backgroundColor);
  if (own[3] > 0) its.colours = own[3] > 0.99 ? [own] : its.colours.map((c) => over(own, c));
  if (/url\(|image\(|element\(/.test(picture)) its.colours = [];
  else if (picture) its.colours = its.colours.flatMap((c) => (picture.match(inColours) ?? []).slice(0, 10).map((t) => over(colourOf(t), c))).slice(0, 50);
  known.set(el, its);
  return its;
};
const cutAway = (el, s) => {
  if (/^inset\((?:[5-9]\d|100)(?:\.\d+)?%|^(?:circle|ellipse)\(0|^polygon\(0(?:px|%)? 0(?:px|%)?(?:, 0(?:px|%)? 0(?:px|%)?)*\)$/.test(s.clipPath) || invisible(el, s)) return true;
  if (s.display === 'contents') return false;
  if (s.display !== 'inline' && s.contentVisibility === 'hidden') return true;
  const r = dom.rect(el), v = viewOf(el);
  if (s.display === 'inline') return sized(r) && r.right + v.scrollX < -1000;
  if (clips(s) && (dom.clientWidth(el) <= 1 || dom.clientHeight(el) <= 1)) return true;
  if ((r.width === 0 || r.height === 0) && el.offsetWidth > 0 && el.offsetHeight > 0) return true; // scaled away
  if (!sized(r)) return false;
  const fixed = s.position === 'fixed', x = fixed ? 0 : v.scrollX, y = fixed ? 0 : v.scrollY;
  if (fixed || s.position === 'absolute') return r.right + x <= 0 || r.bottom + y <= 0 || fixed && (r.left >= v.innerWidth || r.top >= v.innerHeight);
  // Elsewhere it may be scrolled away, but not so far.
  return (s.position === 'relative' || s.transform !== 'none' || s.marginLeft.startsWith('-')) && r.right + x < -1000;
};
// beside is what else may lie behind an element: what has its place beside it or what is
// around it. Of pictures nobody knows the colours.
const pictures = 'img,video,canvas,svg,iframe,object,embed';
const beside = (el) => {
  const at = dom.rect(el), x = (at.left + at.right) / 2, y = (at.top + at.bottom) / 2, found = [];
  for (let n = el, levels = 0; n && isElement(n) && levels < 8; n = above(n), levels++) {
    const up = above(n);
    if (!up || !isElement(up)) break;
    for (const sibling of [...dom.children(up)].slice(0, 50)) {
      if (sibling === n || within(el, sibling)) continue;
      for (const one of [sibling, ...[...all(sibling, '*')].slice(0, 50)]) {
        const r = dom.rect(one);
        if (r.left > x || r.right < x || r.top > y || r.bottom < y) continue;
        const s = styleOf(one), c = colourOf(s.backgroundColor);
        if (dom.matches(one, pictures) || s.backgroundImage !== 'none') return null;
        if (c[3] > 0.1) found.push(over(c, [255, 255, 255]));
      }
    }
  }
  return found;
};
// With the style of a part it is asked of what a style sheet puts around what is in the element.
const illegible = (el, part) => {
  if (!isElement(el)) el = hostOf(el);
  if (!el) return false;
  const around = part ? behindPart(behind(el), part) : behind(el), s = part ?? styleOf(el);
  if (around.cut || around.opaque < 0.1 || parseFloat(s.fontSize) < leastSize || parseFloat(s.textIndent) < -500) return true;
  if (!around.colours.length || s.backgroundClip === 'text') return false;
  const on = (colours) => (text) => { const c = colourOf(text); return c[3] * around.opaque > 0.1 && colours.some((b) => differs(over([c[0], c[1], c[2], c[3] * around.opaque], b), b)); };
  const ink = dom.namespace(el) === 'http://www.w3.org/2000/svg' && s.fill.includes('(') ? s.fill : s.webkitTextFillColor || s.color, seen = on(around.colours);
  if (seen(ink)) return false;
  if (parseFloat(s.webkitTextStrokeWidth) > 0 && seen(s.webkitTextStrokeColor)) return false;
  if ((s.textShadow.match(inColours) ?? []).some(seen)) return false;
  const others = beside(el);
  return others !== null && !on(others)(ink);
};
const behindPart = (its, s) => {
  const own = colourOf(s.backgroundColor), picture = s.backgroundImage !== 'none';
  return { colours: picture ? [] : own[3] > 0.99 ? [own] : own[3] > 0 ? its.colours.map((c) => over(own, c)) : its.colours, opaque: its.opaque * Number(s.opacity), cut: its.cut };
};
// keptFrom reports whether an element is kept from readers, or is in details that are closed.
const keptFrom = (el) => {
  if (attr(el, 'aria-hidden')?.toLowerCase() === 'true') return true;
  const p = dom.parent(el);
  return !!p && inClosed(p) && !(is(el, 'summary') && childNamed(p, 'summary') === el);
};
const inClosed = (p) => isElement(p) && is(p, 'details') && !dom.hasAttribute(p, 'open');
