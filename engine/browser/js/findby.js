// Finding by what an element says.

const plain = (s) => s.trim().replace(/\s+/g, ' ').toLowerCase();
const words = (el) => plain(is(el, 'input') && ['button', 'submit', 'reset'].includes(dom.inputType(el)) ? dom.inputValue(el) : dom.text(el));
const unread = ['script', 'style', 'noscript', 'template', 'head', 'title'];

// The innermost elements below a node whose text is, or contains, the one given.
const innermost = (root, text, exact) => {
  const out = [];
  const visit = (el) => {
    if (is(el, ...unread)) return false;
    const mine = words(el);
    if (!mine.includes(text)) return false;
    let inside = false;
    for (const c of dom.children(el)) inside = visit(c) || inside;
    if (inside || exact && mine !== text) return inside;
    out.push(el);
    return true;
  };
  for (const c of childrenOf(root)) visit(c);
  return out;
};

// T.byText({text, exact, t, in, ms, as}): the innermost element with a text. t
// bounds which elements count. What can be seen goes first.
T.byText = async (a) => {
  if (!(await settle(a))) return { n: true };
  const text = plain(a.text), why = {};
  const r = await until(a.ms, () => {
    let list;
    if (a.t) {
      const found = (search(a.t, a.in, why) || []).filter((el) => isElement(el) && (a.exact ? words(el) === text : words(el).includes(text)));
      list = found.filter((el) => !found.some((o) => o !== el && within(o, el)));
    } else {
      const doc = enter(a.in, why);
      if (!doc) return undefined;
      list = [body(doc), ...shadows(doc)].flatMap((n) => innermost(n, text, a.exact));
      for (const b of query(doc, 'css', 'input[type=button],input[type=submit],input[type=reset]', false)) {
        if (a.exact ? words(b) === text : words(b).includes(text)) list.push(b);
      }
    }
    const el = list.find((n) => hiddenBecause(n) === '') || list[0];
    if (!el) return undefined;
    if (a.as) saved.set(a.as, el);
    return done;
  });
  if (r !== undefined) return r;
  if (why.e) return late('element_not_found', why.e + `, within ${a.of}ms`);
  const near = a.exact ? [body(document)].flatMap((n) => innermost(n, text, false))[0] : null;
  return late('element_not_found', `Element with text "${a.text}" not found within ${a.of}ms: ` +
    (near ? `${nameOf(near)} contains it; exact: false would find that` : `0 matches on ${location.href.slice(0, 200)}`));
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
  return late('element_not_found', `Element with ${a.name} ${a.exact ? 'equal to' : 'containing'} "${a.value}" not found within ${a.of}ms: ${others} elements have the attribute`);
};
