const valueOf = (el) => {
  if (is(el, 'input')) return dom.inputValue(el);
  if (is(el, 'textarea')) return dom.areaValue(el);
  if (is(el, 'select')) return dom.selectMultiple(el) ? [...dom.selected(el)].map((o) => o.value) : dom.selectValue(el);
  return undefined;
};

// controlOf is the control of a label, also for what is in one.
const controlOf = (el) => {
  for (let n = el; n && isElement(n) && !is(n, 'a', 'button'); n = above(n)) if (is(n, 'label')) return n.control;
  return null;
};

// T.value(…): the current value of a field.
T.value = (a) => withFirst(a, (host) => {
  const el = valueOf(host) === undefined && !isEditable(host) ? controlOf(host) ?? host : host;
  const v = valueOf(el);
  if (v === undefined) {
    if (isEditable(el)) return { v: dom.text(el) };
    return fail('invalid_value', `Element "${a.t.a}" is ${an(nameOf(el))}: only input, textarea and select have a value`);
  }
  return { v };
});

// One field of a record: the text or an attribute of the first match in el.
const field = (el, f, absolute) => {
  let n = el;
  if (f.s) { n = query(el, f.k, f.s, true)[0]; } else if (f.r !== undefined && f.r !== 'this') { n = resolve(f); }
  if (!n) return null;
  if (!isElement(n)) return trim(n.nodeValue ?? '');
  if (f.name === undefined || f.name === null) return trim(dom.text(n));
  const v = dom.attribute(n, f.name);
  return absolute && v !== null && /^(href|src|action|cite|data|poster|formaction|xlink:href)$/i.test(f.name) ? fullAddress(n, v) : v;
};
const fullAddress = (n, v) => { try { return new URL(v, dom.base(n)).href; } catch { return v; } };

// T.extract({t, in, ms, fields: [[name, field]…], limit, absolute}): a record for each
// match. Waits for the first; none is an empty list.
T.extract = async (a) => {
  if (!(await settle(a))) return { n: true };
  const why = {};
  const r = await until(a.ms, () => {
    const list = (search(a.t, a.in, why) || []).filter(isElement);
    if (!list.length) { for (const [, f] of a.fields) if (f.s) proper(f.k, f.k === 'css' ? scoped(f.s) : f.s); return undefined; }
    const take = a.limit === undefined || a.limit === null ? list : list.slice(0, a.limit);
    return { v: take.map((el) => Object.fromEntries(a.fields.map(([name, f]) => [name, field(el, f, a.absolute)]))) };
  });
  const hidden = r === undefined && giveUp(a);
  if (r !== undefined || hidden) return r ?? hidden;
  return why.e ? late('element_not_found', why.e + `, within ${a.of}ms`) : { v: [], z: true };
};

// arrived lets the page settle as settle does, and where input has led to another
// document that is not all there yet, lets that come: whoever looks only once is to
// see it, and not a half of it.
const arrived = async (a) => {
  if (!(await settle(a))) return false;
  if (a.settle && dom.state(document) === 'loading' && !vain.has(document)) {
    await new Promise((r) => {
      const off = later(() => { vain.add(document); r(); }, a.ms / 2);
      dom.listen(document, 'readystatechange', () => { off(); r(); }, { once: true });
    });
  }
  return !gone();
};

// T.exists({t, in, ms}): whether there is a match now. Frames that rest are waited for.
T.exists = async (a) => {
  if (!(await arrived(a))) return { n: true };
  await awake(a);
  try { return { v: !!once(() => search(a.t, a.in, {}, true))?.some(isElement) }; } catch (e) {
    if (e instanceof Fault && e.reply.c === 'element_gone') return { v: false };
    if (e instanceof Fault) return e.reply;
    throw e;
  }
};

// A property as the browser defines it: a field named like one hides it on its
// form.
const propertyOf = (o, name) => {
  if (o === undefined || o === null) return undefined;
  for (let p = Object.getPrototypeOf(o); p; p = Object.getPrototypeOf(p)) {
    const d = Object.getOwnPropertyDescriptor(p, name);
    if (d?.get) return d.get.call(o);
  }
  return o[name];
};

// T.property({t, in, ms, name}): a property of the first match now, {known, value}:
// null without a match or a property. What only the page's own scripts know, such
// as a property of an element that they have defined, is not known here:
// T.element() gives the element then.
T.property = async (a) => {
  if (!(await arrived(a))) return { n: true };
  let list;
  try { list = once(() => search(a.t, a.in, {}, true)); } catch (e) {
    if (e instanceof Fault && e.reply.c === 'element_gone') return { v: { known: true, value: null } };
    if (e instanceof Fault) return e.reply;
    throw e;
  }
  const el = list?.find(isElement);
  if (!el) return { v: { known: true, value: null } };
  const names = a.name.split('.');
  if (!(names[0] in el)) { chosenElement = el; return { v: { known: false } }; }
  let v = el;
  for (const p of names) v = propertyOf(v, p);
  if (v === undefined || typeof v === 'function') v = null;
  if (typeof v === 'object' && v !== null) {
    try { v = JSON.parse(JSON.stringify(v)); } catch { v = String(v); }
  }
  return { v: { known: true, value: v } };
};

// T.loop({t, in, ms, id, within, ahead}) begins a loop over all matches, and gives how
// many there are; within are the loops that it runs in. Later calls say by {each: {id, t, in, count}, i} which element
// is theirs. A loop whose list only reads sends its first batch along, as ahead,
// with the most iterations it may have.
T.loop = async (a) => {
  if (!(await settle(a))) return { n: true };
  const why = {};
  const r = await until(a.ms, () => {
    const list = (search(a.t, a.in, why) || []).filter(isElement);
    return list.length ? { v: list } : undefined;
  });
  if (r && !r.v) return r;
  const hidden = !r && giveUp(a);
  if (hidden) return hidden;
  if (!r && why.e) return late('element_not_found', why.e + `, within ${a.of}ms`);
  const list = r?.v ?? [], each = { id: a.id, count: list.length, t: a.t, in: a.in };
  for (const id of [...loops.keys()]) if (!a.within?.includes(id)) loops.delete(id);
  const notes = noted.length ? `,"w":${JSON.stringify([...new Set(noted)])}` : '';
  loop = { ...each, list, i: 0 };
  loops.set(a.id, loop);
  let ahead = [];
  if (a.ahead) {
    const n = a.ahead.ops.length, total = Math.min(a.ahead.total, Math.min(list.length, a.ahead.most) * n);
    ahead = await batch({ ...a.ahead, total, each, i: 0, next: 0, n, eager: true });
  }
  return `{"v":{"count":${list.length},"ahead":[${ahead.n || ahead.x ? '' : ahead.join(',')}]}${notes}}`;
};
