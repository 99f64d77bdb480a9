// Records by a schema: what each leaf says where it is, as the type that it has.

// T.records({in, ms, schema}): the value of a schema, {k: kind, f: field, r: fields as
// [name, schema, required], i: items, null: whether it may be null, format, decimal,
// order}. It waits for what is required, and for something at all.
T.records = async (a) => {
  if (!(await settle(a))) return { n: true };
  const why = {};
  let lacks = null;
  const r = await until(a.ms, () => {
    delete why.e;
    lacks = null;
    const doc = enter(a.in, why);
    if (!doc) return undefined;
    const state = { found: 0, lacks: null, values: 0 };
    const v = recordOf(a.schema, doc, '', state);
    if (v instanceof Wrong) return fail('invalid_value', v.text);
    if (state.lacks) { unlock(); lacks = state.lacks; return undefined; }
    if (!state.found) { unlock(); return undefined; }
    return { v: v ?? null };
  });
  if (r) return r;
  if (why.e) return late('element_not_found', why.e + `, within ${a.of}ms`);
  if (lacks) return late('element_not_found', `Nothing found at ${lacks.path || '/'} within ${a.of}ms, which is required: ${lacks.as ? `"${lacks.as}" matches nothing` : 'it has no value'}`);
  // Nothing is there, and nothing has to be.
  const doc = enter(a.in, {}), v = doc && recordOf(a.schema, doc, '', { found: 0, lacks: null, values: 0 });
  return v instanceof Wrong ? fail('invalid_value', v.text) : { v: v ?? null, z: true };
};

class Wrong { constructor(path, text, why) { this.text = `Wrong value at ${path || '/'}: ${why}` + (text === undefined ? '' : `: "${upTo(tidy(text), 100)}"`); } }
const maxRecordValues = 2000000;
const pointerTo = (s) => '/' + String(s).replaceAll('~', '~0').replaceAll('/', '~1');

// theFirst is the element that a field is about, below another.
const theFirst = (f, root) => matchesOf(f, root)[0];
const matchesOf = (f, root) => {
  if (!f) return [root];
  const base = f.r === undefined || f.r === 'this' && (isElement(root) || !loop) ? root : resolve(f);
  return f.s ? query(base, f.k, f.s, false) : [base];
};

// recordOf gives the value of a schema below an element. Undefined is none.
const recordOf = (schema, root, path, state) => {
  if (++state.values > maxRecordValues) return new Wrong(path, undefined, `there are more than ${maxRecordValues} values`);
  if (schema.k === 'array') {
    const list = matchesOf(schema.f, root), out = [];
    if (list.length) state.found++;
    for (const [i, el] of list.entries()) {
      const v = recordOf(schema.i, el, path + pointerTo(i), state);
      if (v instanceof Wrong) return v;
      if (v === undefined) {
        if (schema.i.null) out.push(null);
        else state.lacks ??= { path: path + pointerTo(i), as: schema.i.f?.a };
      } else out.push(v);
      if (state.lacks) return undefined;
    }
    return out;
  }
  const el = schema.f ? theFirst(schema.f, root) : root;
  if (!el) return schema.null ? null : undefined;
  if (schema.k === 'object') {
    if (schema.f) state.found++;
    const out = {};
    for (const [name, inner, required] of schema.r) {
      const v = recordOf(inner, el, path + pointerTo(name), state);
      if (v instanceof Wrong) return v;
      if (v === undefined) { if (required) state.lacks ??= { path: path + pointerTo(name), as: inner.f?.a }; } else Object.defineProperty(out, name, { value: v, enumerable: true, writable: true, configurable: true });
      if (state.lacks) return undefined;
    }
    return out;
  }
  state.found++;
  const said = saidOf(schema, el);
  if (said === null || said === undefined) return schema.null ? null : undefined;
  const r = converted(schema, said, el);
  if (r.e && schema.null && tidy(String(said)) === '') return null;
  return r.e ? new Wrong(path, said, `as ${schema.format ? 'a ' + schema.format : an(schema.k)} ${r.e}`) : r.v;
};

// saidOf is the text of a leaf: an attribute, a field's value, or what is written in it.
const saidOf = (schema, n) => {
  if (dom.type(n) === 9) n = dom.rootElement(n);
  if (!isElement(n)) return n.nodeValue ?? '';
  const name = schema.f?.name;
  if (name !== undefined && name !== null) {
    const v = dom.attribute(n, name);
    if (schema.k === 'boolean') return v === null ? 'false' : v === '' || v === name ? 'true' : v;
    return v;
  }
  if (is(n, 'input') && ['checkbox', 'radio'].includes(dom.inputType(n)) && schema.k === 'boolean') return n.checked ? 'true' : 'false';
  if (is(n, 'input', 'textarea', 'select')) return is(n, 'input') && dom.inputType(n) === 'password' ? null : valueOf(n);
  if (is(n, 'meta')) return dom.attribute(n, 'content');
  if (is(n, 'time') && dom.hasAttribute(n, 'datetime') && /^(date|date-time|time)$/.test(schema.format ?? '')) return dom.attribute(n, 'datetime');
  if (is(n, 'data', 'meter', 'progress') && dom.hasAttribute(n, 'value') && (schema.k === 'number' || schema.k === 'integer')) return dom.attribute(n, 'value');
  if (schema.format === 'uri') for (const a of ['href', 'src']) if (dom.hasAttribute(n, a)) return dom.attribute(n, a);
  return dom.text(n);
};
const addressed = /^(href|src|action|cite|data|poster|formaction|xlink:href)$/i;
const converted = (schema, said, el) => {
  const lang = isElement(el) ? languageAt(el) : '';
  switch (schema.k) {
    case 'number': return asNumber(said, lang, schema.decimal);
    case 'integer': { const r = asNumber(said, lang, schema.decimal); return r.e || Number.isSafeInteger(r.v) ? r : { e: 'it is no whole number' }; }
    case 'boolean': return asBoolean(said);
    case 'null': return tidy(said) === '' ? { v: null } : { e: 'it is not empty' };
  }
  switch (schema.format) {
    case 'date': return asDate(said, lang, schema.order);
    case 'date-time': return asDateTime(said, lang, schema.order);
    case 'time': return asTime(said);
    case 'uri': try { return { v: new URL(said.trim(), dom.base(el)).href }; } catch { return { e: 'it is no address' }; }
  }
  const name = schema.f?.name;
  return { v: name && addressed.test(name) ? fullAddress(el, said) : trim(said) };
};
