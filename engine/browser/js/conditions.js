// What conditions ask. They look once and never wait.

const looksAt = async (a, f) => {
  if (!(await arrived(a))) return { n: true };
  try { return { v: f((once(() => search(a.t, a.in, {})) || []).filter(isElement)) }; } catch (e) {
    if (e instanceof Fault && e.reply.c === 'element_gone') return { v: f([]) };
    if (e instanceof Fault) return e.reply;
    throw e;
  }
};

// T.visible({t, in, ms}): whether one of the matches can be seen.
T.visible = (a) => looksAt(a, (list) => list.some((el) => hiddenBecause(el) === ''));

// T.count({t, in, ms}): how many matches there are.
T.count = (a) => looksAt(a, (list) => list.length);

// T.about({ms}): the address and the title of the page, by the getter of the prototype
// as everywhere.
T.about = async (a) => ((await arrived(a)) ? { v: { url: location.href, title: titleOf(document) } } : { n: true });
