(() => {
  const native = (f, name) => '' + f === 'function ' + name + '() { [native code] }';
  const untouched = () => {
    try {
      const s = JSON.stringify, d = Date.prototype;
      return native(s, 'stringify') && native(d.toJSON, 'toJSON') && native(d.toISOString, 'toISOString') && native(d.valueOf, 'valueOf') &&
        [].toJSON === undefined && ({}).toJSON === undefined && ''.toJSON === undefined && (0).toJSON === undefined && true.toJSON === undefined &&
        s({ a: ['"', 1] }) === '{"a":["\\"",1]}';
    } catch { return false; }
  };
  const short = { __proto__: null, '"': '\\"', '\\': '\\\\', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t' };
  const control = '\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008\u0009\u000a\u000b\u000c\u000d\u000e\u000f\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f';
  for (let i = 0; i < 32; i++) short[control[i]] ??= '\\u00' + (i < 16 ? '0' : '1') + '0123456789abcdef'[i & 15];
  const quoted = (s) => {
    let out = '"';
    for (let i = 0; i < s.length; i++) {
      const c = s[i], next = s[i + 1];
      if (c >= '\ud800' && c <= '\udbff' && next >= '\udc00' && next <= '\udfff') { out += c + next; i++; }
      else out += c >= '\ud800' && c <= '\udfff' ? '\\ufffd' : short[c] ?? c;
    }
    return out + '"';
  };
  const isList = (v) => {
    try { return typeof v.length === 'number' && !('length' in { __proto__: null, ...v }) && !(delete v.length); } catch { return false; }
  };
  const isA = (v, kind) => { try { return v instanceof kind(); } catch { return false; } };
  const spelled = (v, key, up) => {
    const box = (w) => (isA(w, () => Number) || isA(w, () => String) || isA(w, () => Boolean) ? w.valueOf() : w);
    v = box(v);
    let list = typeof v === 'object' && v !== null && isList(v);
    if (isA(v, () => Date)) {
      try { v = v.toISOString(); } catch { v = null; }
    } else if (!list && (typeof v === 'bigint' || typeof v === 'object' && v !== null) && typeof v.toJSON === 'function' && v.toJSON !== ({}).toJSON) {
      v = box(v.toJSON(key));
      list = typeof v === 'object' && v !== null && isList(v);
    }
    switch (typeof v) {
      case 'string': return quoted(v);
      case 'number': return v - v === 0 ? '' + v : 'null';
      case 'boolean': return v ? 'true' : 'false';
      case 'bigint': throw new TypeError('Do not know how to serialize a BigInt');
      case 'object': break;
      default: return undefined;
    }
    if (v === null) return 'null';
    for (let p = up; p; p = p.up) if (p.v === v) throw new TypeError('Converting circular structure to JSON');
    const me = { __proto__: null, v, up };
    let out = '';
    if (list) {
      for (let i = 0, n = v.length; i < n; i++) out += (i ? ',' : '') + (spelled(v[i], '' + i, me) ?? 'null');
      return '[' + out + ']';
    }
    const own = { __proto__: null, ...v };
    for (const k in own) {
      const s = spelled(own[k], k, me);
      if (s !== undefined) out += (out ? ',' : '') + quoted(k) + ':' + s;
    }
    return '{' + out + '}';
  };
  return (v) => (untouched() ? JSON.stringify(v) : spelled(v, '', null));
})()
