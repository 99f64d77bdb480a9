// Reading. Nothing here changes the page.

const trim = (s) => s.trim();

// T.text({t, in, ms}): the text content, trimmed.
T.text = (a) => withFirst(a, (el) => ({ v: trim(dom.text(el)) }));

// T.html(…): the inner HTML.
T.html = (a) => withFirst(a, (el) => ({ v: dom.html(el) }));

// T.attr({…, name}): the attribute's value, or null.
T.attr = (a) => withFirst(a, (el) => ({ v: dom.attribute(el, a.name) }));

// T.settled({}): whether the page stays where it is.
T.settled = async (a) => ((await settle(a)) ? done : { n: true });

// T.batch({ops: [[function, argument]…], total, each, i, next, n, clock, eager}): several reads
// in one call, one reply each. The ops are gone through until there are total
// replies; in a loop, next says which of the n steps of the list the first of
// them is, and i in which iteration it stands. Only the first may wait: what is
// not there at once after it is left to the next call, without a word on why it is
// not (brief), so that a page that is replaced while something waits takes no
// finished result with it; with eager, not even the first may wait. clock asks for the
// time at the end of each.
T.batch = async (a) => {
  const list = await batch(a);
  return list.n || list.x ? list : '{"v":[' + list.join(',') + ']}';
};
const batch = async ({ ops, total, each, i, next, n, clock, eager }) => {
  let size = 0;
  const out = [], at = ops.map(([fn, a]) => [T[fn] ?? lacking(), { ...a, ms: 0, settle: false, haste: true, brief: true }]);
  for (let k = 0; k < total; k++) {
    if (each) inLoop({ each, i: i + Math.floor((next + k) / n) });
    const [f, a] = at[k % at.length];
    const hurry = k > 0 || eager;
    noted.length = 0;
    const r = a.in && hop(a.in) || await f(hurry ? a : ops[0][1]);
    if (typeof r !== 'string') tellNoted(r);
    if (r.n || r.x) return k ? out : r;
    if (r.z && hurry) break;
    if (clock) r.t = Math.round(now() * 1000) / 1000;
    const s = encode(r);
    size += bytesOf(s);
    if (k && size > most) break; // the rest comes with the next call
    out.push(s);
    if (a.stop && (r.c || s.startsWith('{"c"'))) break;
  }
  return out;
};
