// T.rehearse(): does once what nearly every task does, to a field of its own in
// the blank page of a new process. The browser compiles a function when it is
// first called and keeps that for the pages that follow, so the first real page
// does not wait for it. Nothing of it stays. {v: how many of its parts went well}
T.rehearse = async () => {
  const el = document.createElement('input'), home = body(document);
  const t = { k: 'css', s: 'input', a: 'input' }, a = { t, ms: 100, of: 100 };
  home.append(el);
  let well = 0;
  for (const part of [
    () => T.batch({ ops: [['load', { ms: 100 }], ['exists', a], ['find', a], ['attr', { ...a, name: 'id' }], ['text', a]], total: 5, clock: true }),
    () => T.extract({ ...a, fields: [['a', { k: 'css', s: 'b' }], ['b', { r: 'this' }]] }),
    () => T.fill({ ...a, text: 'x', clear: true }),
    () => T.point({ ...a, guard: true, times: 1 }),
  ]) {
    const r = await part().catch(() => fail());
    if (typeof r === 'string' ? !r.includes('"c"') : r.v) well++;
  }
  unmark();
  unguard();
  el.remove();
  window.getSelection().removeAllRanges();
  return T.forget() && { v: well };
};
