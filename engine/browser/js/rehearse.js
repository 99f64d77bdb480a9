// T.rehearse(): does once what nearly every task does, in the blank page of a new
// process. The browser compiles a function when it is first called and keeps that
// for the pages that follow, so the first real page does not wait for it. It only
// reads: aiming and filling would make the blank page be laid out and painted,
// which takes more processor time than it saves. {v: how many parts went well}
T.rehearse = async () => {
  const t = { k: 'css', s: 'body', a: 'body' }, a = { t, ms: 100, of: 100 };
  let well = 0;
  for (const part of [
    () => T.batch({ ops: [['load', { ms: 100 }], ['exists', a], ['find', a], ['attr', { ...a, name: 'id' }], ['text', a]], total: 5, clock: true }),
    () => T.extract({ ...a, fields: [['a', { k: 'css', s: 'b' }], ['b', { r: 'this' }]] }),
  ]) {
    const r = await part().catch(() => fail());
    if (typeof r === 'string' ? !r.includes('"c"') : r.v) well++;
  }
  return T.forget() && { v: well };
};
