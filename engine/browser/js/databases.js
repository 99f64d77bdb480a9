// The IndexedDB databases of the document's site, in the form of a storage state.
// With saved.put they are made; else they are read, as far as they go into saved.room
// characters of JSON, and left counts databases and records that are not there.
const answer = (r) => new Promise((ok, no) => { r.onsuccess = () => ok(r.result); r.onerror = () => no(r.error); });
const kinds = { i8: Int8Array, ui8: Uint8Array, ui8c: Uint8ClampedArray, i16: Int16Array, ui16: Uint16Array, i32: Int32Array, ui32: Uint32Array, f32: Float32Array, f64: Float64Array, bi64: BigInt64Array, bui64: BigUint64Array };
const base64 = (bytes) => { let s = ''; for (let i = 0; i < bytes.length; i += 8192) s += String.fromCharCode(...bytes.subarray(i, i + 8192)); return btoa(s); };
const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const isPlain = (v) => Object.getPrototypeOf(v) === Object.prototype;

// Whether JSON keeps a value as it is.
const asJSON = (v, above = []) => {
  if (v === null || typeof v === 'string' || typeof v === 'boolean') return true;
  if (typeof v === 'number') return Number.isFinite(v) && !Object.is(v, -0);
  if (typeof v !== 'object' || above.includes(v)) return false;
  const list = Array.isArray(v);
  if (!list && !isPlain(v)) return false;
  const all = list ? v : Object.values(v);
  return !(list && Object.keys(v).length !== v.length) && all.every((e) => asJSON(e, [...above, v]));
};

const unknown = Symbol('unknown');
const encode = (v, seen = new Map()) => {
  switch (typeof v) {
    case 'undefined': return { v: 'undefined' };
    case 'string': case 'boolean': return v;
    case 'bigint': return { bi: v.toString() };
    case 'number': return Number.isFinite(v) && !Object.is(v, -0) ? v : { v: Object.is(v, -0) ? '-0' : String(v) };
  }
  if (v === null) return { v: 'null' };
  if (seen.has(v)) return { ref: seen.get(v) };
  if (v instanceof Date) return { d: v.toJSON() ?? '' };
  if (v instanceof RegExp) return { r: { p: v.source, f: v.flags } };
  if (v instanceof Error) return { e: { n: v.name, m: v.message, s: v.stack ?? '' } };
  if (v instanceof ArrayBuffer) return { ab: { b: base64(new Uint8Array(v)) } };
  for (const [k, kind] of Object.entries(kinds)) if (v instanceof kind) return { ta: { b: base64(new Uint8Array(v.buffer, v.byteOffset, v.byteLength)), k } };
  const id = seen.size + 1;
  seen.set(v, id);
  if (v instanceof Map) return { m: [...v].map(([k, e]) => ({ k: encode(k, seen), v: encode(e, seen) })), id };
  if (v instanceof Set) return { s: [...v].map((e) => encode(e, seen)), id };
  if (Array.isArray(v)) return { a: Array.from(v, (e) => encode(e, seen)), id };
  if (isPlain(v)) return { o: Object.keys(v).map((k) => ({ k, v: encode(v[k], seen) })), id };
  throw unknown; // a file, a key, a picture
};

const decode = (v, known = new Map()) => {
  if (typeof v !== 'object' || v === null) return v;
  const keep = (made) => { known.set(v.id, made); return made; };
  if ('ref' in v) return known.get(v.ref);
  if ('v' in v) return { undefined: undefined, null: null, NaN: NaN, Infinity: Infinity, '-Infinity': -Infinity, '-0': -0 }[v.v];
  if ('d' in v) return new Date(v.d);
  if ('u' in v) return v.u;
  if ('bi' in v) return BigInt(v.bi);
  if ('r' in v) return new RegExp(v.r.p, v.r.f);
  if ('e' in v) return Object.assign(new Error(v.e.m), { name: v.e.n });
  if ('ab' in v) return bytesOf(v.ab.b).buffer;
  if ('ta' in v) return new kinds[v.ta.k](bytesOf(v.ta.b).buffer);
  if ('m' in v) { const made = keep(new Map()); for (const e of v.m) made.set(decode(e.k, known), decode(e.v, known)); return made; }
  if ('s' in v) { const made = keep(new Set()); for (const e of v.s) made.add(decode(e, known)); return made; }
  if ('a' in v) { const made = keep([]); for (const e of v.a) made.push(decode(e, known)); return made; }
  const made = keep({});
  for (const e of v.o) Object.defineProperty(made, e.k, { value: decode(e.v, known), enumerable: true, configurable: true, writable: true });
  return made;
};

const out = { databases: [], size: 0, left: 0 };
const part = (name, v) => (asJSON(v) ? { [name]: v } : { [name + 'Encoded']: encode(v) });
const path = (p) => (Array.isArray(p) ? { keyPathArray: p } : typeof p === 'string' ? { keyPath: p } : {});
const readStore = async (store) => {
  const s = { name: store.name, autoIncrement: store.autoIncrement, ...path(store.keyPath), indexes: [], records: [] };
  for (const name of store.indexNames) {
    const i = store.index(name);
    s.indexes.push({ name, ...path(i.keyPath), multiEntry: i.multiEntry, unique: i.unique });
  }
  let size = 0;
  for (let range = null; ; ) {
    const [keys, values] = await Promise.all([answer(store.getAllKeys(range, 100)), answer(store.getAll(range, 100))]);
    for (let i = 0; i < keys.length; i++) {
      try {
        const r = { ...(store.keyPath === null ? part('key', keys[i]) : {}), ...part('value', values[i]) };
        size += JSON.stringify(r).length;
        s.records.push(r);
      } catch (e) {
        if (e !== unknown) throw e;
        out.left++;
      }
    }
    if (out.size + size > saved.room) return null;
    if (keys.length < 100) return s;
    range = IDBKeyRange.lowerBound(keys[keys.length - 1], true);
  }
};

const read = async ({ name, version }) => {
  const opening = indexedDB.open(name);
  opening.onupgradeneeded = () => opening.transaction.abort(); // it is gone by now
  const db = await answer(opening);
  try {
    const d = { name, version, stores: [] };
    if (db.objectStoreNames.length) {
      const t = db.transaction(db.objectStoreNames, 'readonly');
      for (const store of db.objectStoreNames) {
        const s = await readStore(t.objectStore(store));
        if (!s) return null;
        d.stores.push(s);
      }
    }
    return d;
  } finally { db.close(); }
};

const put = async (d) => {
  const opening = indexedDB.open(d.name, d.version);
  opening.onupgradeneeded = () => {
    for (const s of d.stores) {
      const store = opening.result.createObjectStore(s.name, { autoIncrement: !!s.autoIncrement, keyPath: s.keyPathArray ?? s.keyPath ?? null });
      for (const i of s.indexes ?? []) store.createIndex(i.name, i.keyPathArray ?? i.keyPath, { unique: !!i.unique, multiEntry: !!i.multiEntry });
    }
  };
  const db = await answer(opening);
  try {
    if (!db.objectStoreNames.length) return;
    const t = db.transaction(db.objectStoreNames, 'readwrite');
    const done = new Promise((ok, no) => { t.oncomplete = ok; t.onabort = () => no(t.error); });
    for (const s of d.stores) {
      const store = t.objectStore(s.name);
      for (const r of s.records ?? []) {
        const value = 'valueEncoded' in r ? decode(r.valueEncoded) : r.value;
        if ('key' in r || 'keyEncoded' in r) store.put(value, 'keyEncoded' in r ? decode(r.keyEncoded) : r.key);
        else store.put(value);
      }
    }
    await done;
  } finally { db.close(); }
};

if (saved.put) {
  for (const d of JSON.parse(saved.put)) await put(d);
  return out;
}
for (const info of await indexedDB.databases()) {
  const d = await read(info);
  const n = d ? JSON.stringify(d).length : Infinity;
  if (out.size + n > saved.room) { out.left++; continue; }
  out.databases.push(d);
  out.size += n;
}
return out;
