// Waiting for a state of elements.

// T.await({t, in, ms, state, count, as}): waits until elements are attached, visible,
// enabled, stable, hidden or gone; with count until so many are. The first of them is
// kept under a key.
T.await = async (a) => {
  if (!(await settle(a))) return { n: true };
  const why = {}, absent = a.state === 'gone' || a.state === 'hidden';
  let last = { n: 0, of: 0, some: null };
  const r = await until(a.ms, async () => {
    delete why.e;
    let list;
    try { list = search(a.t, a.in, why); } catch (e) {
      if (!absent || e.reply?.c !== 'element_gone') throw e;
      list = [];
    }
    if (list === null && !absent) return undefined;
    const all = (list ?? []).filter(isElement), are = [];
    for (const el of all) if (attached(el) && await inState(el, a.state)) are.push(el);
    if (gone()) return { n: true };
    last = { n: are.length, of: all.length, some: are[0] ?? all[0] };
    if (a.count === undefined ? (absent ? are.length > 0 : are.length === 0) : are.length !== a.count) return undefined;
    if (a.as) saved.set(a.as, are[0]);
    return done;
  });
  if (r !== undefined) return r;
  const hidden = last.of === 0 && giveUp(a);
  if (hidden) return hidden;
  if (why.e) return late('element_not_found', why.e + `, within ${a.of}ms`);
  const name = `Element "${a.t.a}"`;
  if (absent) return late('timeout', `${name} is still ${a.state === 'gone' ? 'there' : 'visible'} after ${a.of}ms: ${nameOf(last.some)}` + (last.n > 1 ? ` and ${last.n - 1} more` : ''));
  if (a.count !== undefined) return late(last.of ? 'timeout' : 'element_not_found', `${name} has ${last.n} ${last.n === 1 ? 'match' : 'matches'}${a.state === 'attached' ? '' : ' that ' + (last.n === 1 ? 'is ' : 'are ') + a.state} after ${a.of}ms, not ${a.count}` + (last.n === last.of ? '' : `; ${last.of} in all`));
  if (!last.of) return notFound(a, `${name} not found within ${a.of}ms`, elsewhere(a.t, a.in));
  const because = hiddenBecause(last.some) || (a.state === 'enabled' && disabledBecause(last.some)) || (a.state === 'stable' && 'is still moving') || 'is not ' + a.state;
  return late('timeout', `${name} ${because} after ${a.of}ms` + (because.startsWith('is hidden') ? others(a) : ''));
};
// For gone and hidden these are the elements that are in the way.
const inState = async (el, state) => {
  if (state === 'attached' || state === 'gone') return true;
  if (hiddenBecause(el) !== '') return false;
  if (state === 'enabled') return disabledBecause(el) === '';
  return state !== 'stable' || rests(el);
};
// What moves by steps of its own may stand still over a frame.
const rests = async (el) => {
  const since = now(), at = place(el);
  do { await frame(); if (!attached(el) || !same(at, place(el))) return false; } while (now() - since < 100);
  return true;
};
