// References: the numbers by which a snapshot names elements. The service says which
// numbers are free, so that none is given twice in a session. A number stands for an
// element as it was named: if it is called something else now, or gone, the number is
// no longer good.

const given = new Map(); // by number: what it stands for
const numberIn = new WeakMap(); // the number that an element has now
let ofPage = null; // a weak reference to the document of the last one: many share it
let freeNumber = 1;

// What tells one place of an element from another: the containers around it, by role
// and name; of one without a name, by what it says.
const containers = new Set('alertdialog article banner complementary contentinfo dialog form group list listbox listitem main menu navigation region row table tabpanel toolbar tree treegrid grid'.split(' '));
const namelessItems = new Set(['article', 'listitem', 'row', 'group']);
const placePart = (el, role, name) => (containers.has(role) ? `/${role} ${name !== '' || !namelessItems.has(role) ? name.slice(0, 80) : tidy(dom.text(el).slice(0, 400)).slice(0, 80)}` : '');
const placeOfElement = (el) => {
  const parts = [];
  for (let n = flatAbove(el); n && isElement(n); n = flatAbove(n)) {
    const role = roleOf(n);
    if (containers.has(role)) parts.unshift(placePart(n, role, calledIn(n, role)));
  }
  return parts.join('');
};

// What an element is called, in a snapshot and for its number. One that is kept from
// readers has no name, and one without a role has none but what an attribute says.
const hasNameAttribute = (el) => dom.hasAttribute(el, 'aria-label') || dom.hasAttribute(el, 'aria-labelledby') || dom.hasAttribute(el, 'title');
const calledIn = (el, role) => {
  for (let n = el; n && isElement(n); n = flatAbove(n)) if (attr(n, 'aria-hidden')?.toLowerCase() === 'true') return '';
  return calledAs(el, role, {});
};
const calledAs = (el, role, c) => {
  if (role === 'none' || role === 'iframe' || role === 'generic' && !hasNameAttribute(el) && !titledInside(el) || role !== 'generic' && nameless.has(role)) return '';
  return tidy(alternative(el, { top: el, seen: new Set(), hidden: false, look: c.look, tree: true }));
};
// A part of a drawing is called after the title in it.
const titledInside = (el) => !isHTML(el) && dom.firstElement(el) !== null && childNamed(el, 'title') !== undefined;
// roleShown is the role in a snapshot. Where HTML-AAM and the agents' format that snapshots
// have differ, it is that of the format: an item is one wherever it stands, a part of a
// table goes by its tag alone, and what sets no part of a page apart says nothing.
const roleShown = (el) => {
  const tag = dom.tag(el);
  if (tag === 'iframe' || tag === 'frame' || (tag === 'object' || tag === 'embed') && showsPage(el)) return 'iframe';
  const said = dom.hasAttribute(el, 'role') ? explicitRole(el, true) : '';
  if (said === 'region') return said;
  if (said === '' && Object.hasOwn(shownByTag, tag) && isHTML(el)) return shownByTag[tag](el);
  const role = roleOf(el);
  return role === 'sectionheader' || role === 'sectionfooter' ? 'generic' : role;
};
const labelled = (el) => dom.hasAttribute(el, 'aria-label') || dom.hasAttribute(el, 'aria-labelledby');
const tablePart = (role) => (el) => (partOfNone(el) ? 'none' : role);
const shownByTag = {
  address: () => 'generic', hgroup: () => 'generic', s: () => 'generic', aside: () => 'complementary',
  form: (el) => (labelled(el) ? 'form' : 'generic'), section: (el) => (labelled(el) ? 'region' : 'generic'),
  dd: (el) => (partOfNone(el) ? 'none' : 'definition'), dt: (el) => (partOfNone(el) ? 'none' : 'term'), li: (el) => (partOfNone(el) ? 'none' : 'listitem'),
  tbody: tablePart('rowgroup'), tfoot: tablePart('rowgroup'), thead: tablePart('rowgroup'), tr: tablePart('row'),
  td: (el) => (partOfNone(el) ? 'none' : inGrid(el) ? 'gridcell' : 'cell'), th: (el) => (partOfNone(el) ? 'none' : headerShown(el)),
};
// The parts of a table or a list that is none are none.
const wholes = { dd: ['dl', 'div'], dt: ['dl', 'div'], div: ['dl'], li: ['ol', 'ul'], tbody: ['table'], tfoot: ['table'], thead: ['table'], tr: ['tbody', 'thead', 'tfoot', 'table'], td: ['tr'], th: ['tr'] };
const partOfNone = (el) => {
  for (let n = el, p = dom.parent(n); isElement(p) && wholes[dom.tag(n)]?.includes(dom.tag(p)); n = p, p = dom.parent(n)) if (dom.hasAttribute(p, 'role') && explicitRole(p) === 'none') return true;
  return false;
};
const inGrid = (el) => { const table = dom.closest(el, 'table'); return table !== null && dom.hasAttribute(table, 'role') && ['grid', 'treegrid'].includes(explicitRole(table)); };
// headerShown goes by the scope of a header, then by the cells beside it.
const headerShown = (el) => {
  const scope = attrText(el, 'scope').toLowerCase();
  if (scope === 'col' || scope === 'colgroup') return 'columnheader';
  if (scope === 'row' || scope === 'rowgroup') return 'rowheader';
  const [before, after] = [el.previousElementSibling, el.nextElementSibling];
  if (!before && !after) { const table = dom.closest(el, 'table'); return table && table.rows.length <= 1 ? 'generic' : 'columnheader'; }
  if (before && after && is(before, 'th') && is(after, 'th')) return 'columnheader';
  return [before, after].some((n) => n && is(n, 'td') && (dom.firstElement(n) !== null || tidy(dom.text(n)) !== '')) ? 'rowheader' : 'columnheader';
};
// keepsItsWords is whether what is in an element names nothing around it: it is a part of the
// page by itself, as an article in a link.
const wordsGivenOn = new Set('generic caption code contentinfo definition deletion emphasis insertion list listitem mark none paragraph region row rowgroup strong subscript superscript table term time sectionheader sectionfooter'.split(' ').concat([...namedByContent]));
const wordsForItself = (role) => !wordsGivenOn.has(role);
const keepsItsWords = (el) => wordsForItself(roleShown(el));
// Without a name it is known by its words, unless these are many, or typed into it.
const saysOf = (el, role, name) => {
  if (name !== '' || typedIn.has(role) || role === 'combobox' || role === 'iframe') return '';
  const t = tidy(dom.text(el).slice(0, 500));
  return t.length > 200 ? '' : t;
};

// numbered gives an element its number: the one it has, if it is still called the same.
const referTo = (el, role, name, where, only, acts) => {
  const says = acts ? saysOf(el, role, name) : '', number = numberIn.get(el), has = given.get(number);
  if (has && has.role === role && has.name === name && has.says === says) { has.where = where; has.only = only; return number; }
  const n = freeNumber++, doc = dom.doc(el);
  if (ofPage?.deref() !== doc) ofPage = new WeakRef(doc);
  given.set(n, { el: new WeakRef(el), doc: ofPage, role, name, says, acts, where, only });
  numberIn.set(el, n);
  return n;
};
const wordsOf = (role, name) => (name ? `${role} '${upTo(name, 60)}'` : role);

// A number that is good for nothing any more: the service says what is near now.
class GoneReference extends Fault {
  constructor(n, r, e) { super('element_gone', e); this.reply.g = { n, role: r.role, name: upTo(r.name, 200) }; }
}
const numberOfReference = (key) => Number(key.slice(2));
elementOf = (key) => {
  const n = numberOfReference(key), r = given.get(n);
  if (!r) return null;
  const el = r.el.deref(), was = wordsOf(r.role, r.name || r.says);
  if (el && attached(el)) {
    const role = roleShown(el), name = calledIn(el, role), says = r.acts ? saysOf(el, role, name) : '';
    if (role === r.role && name === r.name && says === r.says) return el;
    throw new GoneReference(n, { role, name }, `"${key}" was ${was} and is now ${wordsOf(role, name || says)}: take a new snapshot`);
  }
  const again = foundAgain(r);
  if (again.length !== 1) throw new GoneReference(n, r, `"${key}", ${was}, is no longer on the page${again.length ? `: ${again.length} others are called so` : ''}`);
  noted.push(`"${key}" was replaced in the page: the only ${was} in its place was taken`);
  r.el = new WeakRef(again[0]);
  numberIn.set(again[0], n);
  return again[0];
};
// foundAgain is what has the role and the name of a number whose element is gone, in its
// place. One that was not the only one there is not looked for.
const foundAgain = (r) => {
  const doc = r.doc.deref();
  if (!r.only || r.name === '' || !doc || !dom.view(doc)) return [];
  const candidates = peer(() => query(doc, 'css', [...tagsOfRole(r.role), '[role]'].join(), false)).filter(isElement);
  return candidates.filter((el) => roleShown(el) === r.role && !unperceived(el) && calledIn(el, r.role) === r.name && placeOfElement(el) === r.where);
};

// T.candidates({role, name, free}): what is like something that is gone, in words, with
// numbers, and the next free number.
T.candidates = (a) => {
  freeNumber = Math.max(freeNumber, a.free);
  const best = [];
  if (a.name || a.role !== 'generic') {
    const like = likeDescription({ role: a.role === 'iframe' ? undefined : a.role, name: a.name || undefined, text: undefined }), spent = lasts();
    for (const d of [document, ...frames(document).map(([, f]) => f)]) {
      for (const el of peer(() => query(d, 'css', like.among, false)).slice(0, 5000)) {
        if (spent() > 100) break;
        const score = like.score(el);
        if (score >= Math.max(like.least, 0.3) && hiddenBecause(el) === '') best.push([score, el]);
      }
    }
  }
  best.sort((x, y) => y[0] - x[0]);
  const words = best.slice(0, 3).map(([, el]) => {
    const role = roleShown(el), name = calledIn(el, role), n = numberIn.get(el), has = given.get(n);
    return `${wordsOf(role, name)} (@e${has && has.role === role && has.name === name ? n : referTo(el, role, name, placeOfElement(el), false, true)})`;
  });
  return { v: { words: words.join(', '), free: freeNumber } };
};
