// Finding by what an element says.

const written = (el) => plainText(is(el, 'input') && ['button', 'submit', 'reset'].includes(dom.inputType(el)) ? dom.inputValue(el) : dom.text(el));
const unread = ['script', 'style', 'noscript', 'template', 'head', 'title'];

// The text of an element with a space for each <br> and around each block. of gives what is
// in an element.
const blocks = 'address article aside blockquote dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li main nav ol p pre section summary table tbody td tfoot th thead tr ul'.split(' ');
const spaced = (el, out = [], of = dom.nodes) => {
  for (const n of of(el)) {
    const type = dom.type(n), tag = type === 1 && dom.tag(n);
    if (type === 3 || type === 4) out.push(plainText(dom.text(n)));
    else if (tag === 'br') out.push(' ');
    else if (tag && !unread.includes(tag)) {
      const space = blocks.includes(tag) ? ' ' : '';
      out.push(space);
      spaced(n, out, of);
      out.push(space);
    }
  }
  return out;
};

// saying gives three questions about a text: is it in an element, is it all that
// the element says, and could either be, in upper or lower case and with any white
// space; a line break of the page is such. A page may have many megabytes, so its
// text is looked through as it is, where lines may follow each other without a
// space: only of a small element that this leaves open is the text copied.
const saying = (text) => {
  const words = plainText(text).trim().split(/\s+/).map((w) => w.replace(/[\\^$.*+?()[\]{}|\/]/g, '\\$&'));
  const strict = words.join('\\s+'), loose = words.join('\\s*');
  const test = (s) => { const r = new RegExp(s, 'iu'); return (t) => r.test(t); };
  const within = test(strict), all = test(`^\\s*${strict}\\s*$`), maybe = test(loose), maybeAll = test(`^\\s*${loose}\\s*$`);
  const either = (asIs, open) => (el) => {
    const t = written(el);
    return asIs(t) || words.length > 1 && t.length < 1e5 && open(t) && asIs(spaced(el).join(''));
  };
  return { maybe: (el) => maybe(written(el)), within: either(within, maybe), all: either(all, maybeAll) };
};

// The innermost elements below a node whose text is, or contains, the one given.
const innermost = (root, says, exact) => {
  const out = [];
  const visit = (el) => {
    if (is(el, ...unread)) return false;
    if (!says.maybe(el)) return false;
    let inside = false;
    for (const c of dom.children(el)) inside = visit(c) || inside;
    if (inside || !(exact ? says.all(el) : says.within(el))) return inside;
    out.push(el);
    return true;
  };
  for (const c of childrenOf(root)) visit(c);
  return out;
};

// What has no size and cuts off what is in it shows nothing of that, wherever it is
// scrolled to: panels that are closed, and lists for programs that read pages aloud. A panel
// that is being opened is about to get a size.
const shuts = (el, s, width, height) => (width < 1 && s.overflowX !== 'visible' || height < 1 && s.overflowY !== 'visible') && clips(s) &&
  !dom.animations(dom.doc(el)).some((x) => x.playState === 'running' && x.effect?.target === el);
// shutIn reports whether an element is in such a thing. known says of which elements that is
// so of what is in them: those around many elements are looked at once.
const shutIn = (el, known) => {
  const passed = [];
  let shut = false;
  for (let n = el, p; ; n = p) {
    const position = styleOf(n).position;
    if (position === 'absolute' || position === 'fixed') { shut = cutBy(n, (around, s, r) => shuts(around, s, r.width, r.height)) !== null; break; }
    p = flatAbove(n);
    if (!p || !isElement(p) || is(p, 'html', 'body')) break;
    if (known.has(p)) { shut = known.get(p); break; }
    passed.push(p);
    const s = styleOf(p), r = clips(s) && dom.rect(p);
    if (r && shuts(p, s, r.width, r.height)) { shut = true; break; }
  }
  for (const p of passed) known.set(p, shut);
  return shut;
};

// T.byText({text, exact, t, in, ms, as}): the innermost element with a text. t
// bounds which elements count. What can be seen goes first, and what is about to
// be: pages keep closed lists, and open them a moment after the click.
T.byText = async (a) => {
  if (!(await settle(a))) return { n: true };
  const says = saying(a.text), mine = a.exact ? says.all : says.within, why = {};
  let patience = a.settle || !calm(body(document)) ? Math.min(500, a.ms / 2) : 0, before = now();
  const r = await until(a.ms, () => {
    let list;
    if (a.t) {
      const found = (search(a.t, a.in, why) || []).filter((el) => isElement(el) && mine(el));
      list = found.filter((el) => !found.some((o) => o !== el && within(o, el)));
    } else {
      const doc = enter(a.in, why);
      if (!doc) return undefined;
      const find = () => [body(doc), ...shadows(doc)].flatMap((n) => innermost(n, says, a.exact));
      list = find();
      if (!list.length && anyClosed) list = peer(find);
      for (const b of query(doc, 'css', 'input[type=button],input[type=submit],input[type=reset]', false)) {
        if (mine(b)) list.push(b);
      }
    }
    // A page that stands still meanwhile opens nothing: such time does not count.
    const at = now();
    patience -= Math.min(at - before, 100);
    before = at;
    const known = new Map(), el = list.find((n) => hiddenBecause(n) === '' && !shutIn(n, known)) || patience <= 0 && (list.find((n) => hiddenBecause(n) === '') || list[0]);
    if (!list.length) unlock();
    if (!el) return undefined;
    if (a.as) saved.set(a.as, el);
    return done;
  });
  if (r !== undefined) return r;
  if (why.e) return late('element_not_found', why.e + `, within ${a.of}ms`);
  const near = a.exact ? [body(document)].flatMap((n) => innermost(n, says, false))[0] : null;
  return late('element_not_found', `Element with text "${a.text}" not found within ${a.of}ms: ` +
    (near ? `${nameOf(near)} contains it; exact: false would find that` : `0 matches on ${upTo(location.href, 200)}`));
};

// T.byAttribute({name, value, exact, in, ms, as}): the first element with an
// attribute that is, or contains, a value.
T.byAttribute = async (a) => {
  if (!(await settle(a))) return { n: true };
  const why = {};
  let others = 0;
  const r = await until(a.ms, () => {
    const doc = enter(a.in, why);
    if (!doc) return undefined;
    const list = query(doc, 'css', `[${CSS.escape(a.name)}]`, false);
    others = list.length;
    const el = list.find((n) => { const v = dom.attribute(n, a.name); return v !== null && (a.exact ? v === a.value : v.includes(a.value)); });
    if (!el) { unlock(); return undefined; }
    if (a.as) saved.set(a.as, el);
    return done;
  });
  if (r !== undefined) return r;
  if (why.e) return late('element_not_found', why.e + `, within ${a.of}ms`);
  return late('element_not_found', `Element with ${a.name} ${a.exact ? 'equal to' : 'containing'} "${a.value}" not found within ${a.of}ms: ${others} ${others === 1 ? 'element has' : 'elements have'} the attribute`);
};
