// What somebody may have meant who points at something that is not there.

// T.near({t, in}): the nearest three elements to a target without a match, in words:
// role and name, and where they are. Empty where nothing is near.
T.near = (a) => {
  let doc = null;
  try { doc = enter(a.in, {}); } catch {}
  if (!doc || !a.t?.s || a.t.r !== undefined || all(doc, '*').length > 200000) return { v: '' };
  const like = likeness(a.t), best = [], kept = new Set();
  for (const d of [doc, ...frames(doc).map(([, f]) => f)]) {
    const among = peer(() => query(d, 'css', like.among, false)).slice(0, 20000), spent = lasts();
    for (const el of among) {
      if (spent() > 150) break;
      if (is(el, ...unread)) continue;
      const score = like.score(el);
      if (score >= like.least) best.push([score, el]);
    }
  }
  best.sort((x, y) => y[0] - x[0]);
  // Of what lies in one another and is alike one is enough.
  const three = [];
  for (const [, el] of best.slice(0, 50)) {
    const words = inWords(el);
    if (kept.has(words) || three.some((o) => within(el, o) || within(o, el))) continue;
    kept.add(words);
    three.push(el);
    if (three.length === 3) break;
  }
  return { v: three.map(inWords).join(', ') };
};

// inWords is an element for people: button 'Save' (button#save in form#f, hidden).
const inWords = (el) => {
  const role = roleOf(el), name = upTo(accName(el, role), 60);
  const what = role === 'generic' ? '' : name ? `${role} '${name}'` : role;
  const place = around(el, ['dialog', 'form', 'nav', 'main', 'header', 'footer', 'aside', 'section', 'table', 'li', 'tr'], ['dialog', 'alertdialog', 'form', 'navigation', 'main', 'region', 'row', 'listitem', 'tabpanel']);
  const f = viewOf(el) === window ? null : viewOf(el).frameElement;
  const text = name || !dom.text(el).trim() ? '' : ` '${upTo(tidy(dom.text(el).slice(0, 1000)), 40)}'`;
  const where = nameOf(el) + text + (place ? ` in ${nameOf(place)}` : '') + (f ? ` of iframe ${nameOf(f)}` : '') + (hiddenBecause(el) !== '' ? ', hidden' : attr(el, 'aria-hidden') === 'true' ? ', aria-hidden' : '');
  return what ? `${what} (${where})` : where;
};

// alike is how alike two texts are, from 0 to 1: by their words, and by pairs of letters.
// likeTo gives that question for one text, which is then taken apart once.
const likeTo = (wanted) => {
  const a = tidy(wanted).toLowerCase().slice(0, 200), words = a.split(' '), numbers = new Map(), times = [];
  const pair = (s, i) => s.charCodeAt(i) * 65536 + s.charCodeAt(i + 1);
  for (let i = 0; i < a.length - 1; i++) {
    const p = pair(a, i), k = numbers.get(p);
    if (k === undefined) { numbers.set(p, times.length); times.push(1); } else times[k]++;
  }
  return (has) => {
    const b = tidy(has).toLowerCase().slice(0, 200);
    if (!a || !b) return 0;
    if (a === b) return 1;
    const left = times.slice();
    let both = 0;
    for (let i = 0; i < b.length - 1; i++) { const k = numbers.get(pair(b, i)); if (k !== undefined && left[k]-- > 0) both++; }
    const letters = a.length + b.length > 2 ? (2 * both) / (a.length + b.length - 2) : 0;
    const others = b.split(' '), shared = words.filter((w) => others.includes(w)).length / words.length;
    const part = b.includes(a) || a.includes(b) && b.length > 2 ? 0.75 : 0;
    return Math.max(letters, part, shared * 0.85);
  };
};
const alike = (wanted, has) => likeTo(wanted)(has);

// likeness is among what to look, how near an element is to a target, and how near it
// has to be.
const acted = 'a,button,input,select,textarea,summary,label,option,h1,h2,h3,h4,h5,h6,img,[role],[aria-label],[aria-labelledby],[placeholder],[tabindex],[onclick]';
const likeness = (t) => {
  if (t.k === 'by') return likeDescription(t.s);
  if (t.k === 'xpath') return likeXPath(t.s);
  return likeCSS(t.s);
};
// roughly is a text of a description, or the words of an expression.
const roughly = (s, field) => s[field] ?? s.re?.[field]?.t.replace(/^\/|\/[a-z]*$/g, '').replace(/\\[a-z]|[\\^$.*+?()[\]{}|]+/gi, ' ');
const likeDescription = (s) => {
  if (wants(s, 'testId')) return { least: 0.4, among: testIds.map((n) => `[${n}]`).join(), score: (el) => Math.max(...testIds.map((n) => alike(roughly(s, 'testId'), attr(el, n) ?? ''))) };
  const wanted = roughly(s, 'name') ?? roughly(s, 'text') ?? roughly(s, 'label') ?? roughly(s, 'placeholder') ?? roughly(s, 'alt') ?? roughly(s, 'title'), role = oneName[s.role] ?? s.role;
  if (wanted === undefined && role === undefined) {
    const t = s.selector?.s && s.selector.r === undefined ? s.selector : s.or?.find((o) => o.s && o.r === undefined);
    return t ? likeness(t) : { least: 1, among: 'body', score: () => 0 };
  }
  const score = (el) => {
    const as = roleOf(el);
    if (wanted === undefined) return as === role ? 0.6 : 0;
    if (is(el, 'label') && wants(s, 'label') || as === 'option' && role !== as) return 0; // its control is meant
    const said = [accName(el, as), attr(el, 'placeholder') ?? '', attr(el, 'alt') ?? '', attr(el, 'title') ?? '', ...labelsSaid(el)];
    if (as !== 'none' && dom.children(el).length < 20) said.push(written(el).slice(0, 300));
    const near = Math.max(...said.map((x) => alike(wanted, x)));
    return role === undefined ? near : as === role ? near * 0.85 + 0.15 : near < 0.4 ? 0 : near * 0.85;
  };
  // Of a role it helps to know what there is, whatever it is called.
  return { least: role === undefined ? 0.4 : 0.15, among: (wants(s, 'text') || wants(s, 'alt') || wants(s, 'title')) && role === undefined ? 'body *' : acted, score };
};
const likeXPath = (s) => {
  const said = [...s.matchAll(/"([^"]*)"|'([^']*)'/g)].map((m) => m[1] ?? m[2]).filter(Boolean);
  const tags = [...s.matchAll(/(?:^|\/|::)([A-Za-z][\w-]*)(?![\w-]*\s*(?:\(|::))/g)].map((m) => m[1].toLowerCase());
  const tag = tags.at(-1);
  const own = (el) => [attr(el, 'id'), attr(el, 'name'), ...(attr(el, 'class') ?? '').split(/\s+/), dom.children(el).length < 20 ? upTo(written(el), 300) : ''].filter(Boolean);
  return { least: 0.5, among: said.length ? 'body *' : 'body', score: (el) => Math.max(0, ...said.map((w) => Math.max(...own(el).map((o) => alike(w, o)), 0))) * 0.9 + (is(el, tag) ? 0.1 : 0) };
};
const likeCSS = (s) => {
  const last = (descents(commas(s)[0] ?? '').at(-1) ?? '').split(/[>+~]/).at(-1).replace(/:{1,2}[\w-]+(\([^)]*\))?/g, '');
  const tag = /^\s*([A-Za-z][\w-]*)/.exec(last)?.[1].toLowerCase();
  const ids = [...last.matchAll(/#((?:[\w-]|\\.|[^\x00-\x7f])+)/g)].map((m) => m[1]), classes = [...last.replace(/\[[^\]]*\]/g, '').matchAll(/\.((?:[\w-]|\\.|[^\x00-\x7f])+)/g)].map((m) => m[1]);
  const attrs = [...last.matchAll(/\[\s*([\w-]+)\s*[~|^$*]?=\s*["']?([^"'\]]+)/g)].map((m) => [m[1], m[2]]);
  const score = (el) => {
    const parts = [];
    for (const id of ids) parts.push(Math.max(alike(id, attr(el, 'id') ?? ''), 0.8 * alike(id, attr(el, 'name') ?? ''), ...(attr(el, 'class') ?? '').split(/\s+/).map((c) => 0.8 * alike(id, c))));
    for (const c of classes) parts.push(Math.max(0, ...(attr(el, 'class') ?? '').split(/\s+/).map((x) => alike(c, x)), 0.8 * alike(c, attr(el, 'id') ?? '')));
    for (const [n, v] of attrs) parts.push(alike(v, attr(el, n) ?? ''));
    if (!parts.length) return 0;
    return (parts.reduce((x, y) => x + y, 0) / parts.length) * 0.9 + (tag && is(el, tag) ? 0.1 : 0);
  };
  return { least: 0.5, among: ids.length || classes.length || attrs.length ? 'body [id],body [class],body [name]' + attrs.map(([n]) => `,body [${n}]`).join('') : 'body', score };
};
