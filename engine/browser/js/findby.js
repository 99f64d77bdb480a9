// Finding by what an element says.

const written = (el) => (is(el, 'input') && ['button', 'submit', 'reset'].includes(dom.inputType(el)) ? dom.inputValue(el) : dom.text(el));
const unread = ['script', 'style', 'noscript', 'template', 'head', 'title'];

// saying gives two questions about a text: is it in an element, and is it all that
// the element says, in upper or lower case and with any white space. A page may
// have many megabytes, so its text is looked through as it is: nothing is copied.
const saying = (text) => {
  const words = text.trim().split(/\s+/).map((w) => w.replace(/[\\^$.*+?()[\]{}|\/]/g, '\\$&')).join('\\s+');
  const within = new RegExp(words, 'iu'), all = new RegExp(`^\\s*${words}\\s*$`, 'iu');
  return { within: (el) => within.test(written(el)), all: (el) => all.test(written(el)) };
};

// The innermost elements below a node whose text is, or contains, the one given.
const innermost = (root, says, exact) => {
  const out = [];
  const visit = (el) => {
    if (is(el, ...unread)) return false;
    if (!says.within(el)) return false;
    let inside = false;
    for (const c of dom.children(el)) inside = visit(c) || inside;
    if (inside || exact && !says.all(el)) return inside;
    out.push(el);
    return true;
  };
  for (const c of childrenOf(root)) visit(c);
  return out;
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
      list = [body(doc), ...shadows(doc)].flatMap((n) => innermost(n, says, a.exact));
      for (const b of query(doc, 'css', 'input[type=button],input[type=submit],input[type=reset]', false)) {
        if (mine(b)) list.push(b);
      }
    }
    // A page that stands still meanwhile opens nothing: such time does not count.
    const at = now();
    patience -= Math.min(at - before, 100);
    before = at;
    const el = list.find((n) => hiddenBecause(n) === '') || patience <= 0 && list[0];
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
    if (!el) return undefined;
    if (a.as) saved.set(a.as, el);
    return done;
  });
  if (r !== undefined) return r;
  if (why.e) return late('element_not_found', why.e + `, within ${a.of}ms`);
  return late('element_not_found', `Element with ${a.name} ${a.exact ? 'equal to' : 'containing'} "${a.value}" not found within ${a.of}ms: ${others} ${others === 1 ? 'element has' : 'elements have'} the attribute`);
};
