// Tables: which cells stand where, whatever they span.

const spanned = new Set(['cell', 'gridcell', 'columnheader', 'rowheader']);
const maxSpan = 1000, maxColumns = 1000, maxPlaces = 500000;
const tableRows = get('HTMLTableElement', 'rows');

// rowsOf lists the rows of a table that can be seen, also of one that only its roles
// make one.
const rowsOf = (table) => {
  const rows = is(table, 'table') ? [...tableRows(table)] : query(table, 'css', '[role=row],tr', false).filter((r) => around(r, ['table'], ['table', 'grid', 'treegrid']) === table);
  return rows.filter((r) => drawnAs(r, styleOf(r)));
};
const cellsOf = (row) => {
  const list = [];
  const go = (n) => {
    for (const c of childrenOf(rootIn(n) || n)) {
      if (is(c, 'td', 'th') || spanned.has(attrText(c, 'role'))) { if (styleOf(c).display !== 'none') list.push(c); } else if (!is(c, 'script', 'template')) go(c);
    }
  };
  go(row);
  return list;
};
const isHeader = (cell) => { const role = attrText(cell, 'role'); return role ? role === 'columnheader' || role === 'rowheader' : is(cell, 'th'); };
const spanOf = (cell, name) => {
  const n = parseInt(attr(cell, name) ?? attr(cell, 'aria-' + name) ?? '1', 10);
  return n >= 0 && n <= maxSpan ? n : 1;
};

// gridOf gives the rows of a table as lists of places, {cell, right, down}: how far into
// the cell's span the place lies.
const gridOf = (table) => {
  const rows = rowsOf(table), grid = [], open = []; // open: cells that reach into rows to come, by column
  let places = 0;
  for (const [i, row] of rows.entries()) {
    if (places > maxPlaces) break;
    const line = [];
    let at = 0;
    const reach = () => {
      while (open[at]?.left > 0) { const o = open[at++]; o.left--; line.push({ cell: o.cell, right: o.right, down: ++o.down }); }
    };
    for (const cell of cellsOf(row)) {
      reach();
      const wide = Math.max(1, spanOf(cell, 'colspan')), tall = spanOf(cell, 'rowspan');
      const rest = tall === 0 ? rows.slice(i).filter((r) => dom.parent(r) === dom.parent(row)).length : tall;
      for (let k = 0; k < wide && at < maxColumns; k++, at++) {
        open[at] = { cell, right: k, down: 0, left: rest - 1 };
        line.push({ cell, right: k, down: 0 });
      }
      if (at >= maxColumns) break;
    }
    reach();
    places += line.length;
    grid.push({ row, places: line });
  }
  return grid;
};
// headRows counts the rows at the top that are headings.
const headRows = (grid) => {
  let n = 0;
  for (const { row, places } of grid) {
    const head = is(dom.parent(row) ?? row, 'thead') || places.length > 0 && places.every((p) => isHeader(p.cell));
    if (!head || n === grid.length) break;
    n++;
  }
  return n;
};

// A table that only arranges things is read as what is in it.
const arranges = (table, grid) => {
  const role = attrText(table, 'role');
  if (role === 'presentation' || role === 'none') return true;
  const wide = Math.max(0, ...grid.map((r) => r.places.length));
  if (grid.some((r) => r.places.some((p) => isHeader(p.cell)))) return false;
  return grid.length < 2 || wide < 2 || !!one(table, 'table,h1,h2,h3,h4,pre,ul,ol,form,article,section');
};
const writeTable = (table, out, c, m) => {
  if (!m.tables) return undefined;
  const grid = gridOf(table).filter((r) => r.places.length);
  const caption = is(table, 'table') ? childNamed(table, 'caption') : null;
  flushRun(out);
  if (!grid.length && is(table, 'table')) return undefined;
  if (!grid.length) return false;
  if (caption) { writeNode(caption, out, c, m); flushRun(out); }
  if (arranges(table, grid) || c.cell) {
    const seen = new Set();
    for (const { places } of grid) for (const { cell } of places) if (!seen.has(cell)) { seen.add(cell); writeNode(cell, out, c, m); flushRun(out); }
    return undefined;
  }
  const texts = new Map();
  const said = (cell) => {
    let t = texts.get(cell);
    if (t === undefined) texts.set(cell, t = cellLine(cell, c, m));
    return t;
  };
  const again = (t) => { m.left -= t.length; if (m.left < 0) m.cut = true; return m.cut ? '' : t; };
  const lines = grid.map((r) => r.places.map((p) => (p.right ? '' : p.down ? again(said(p.cell)) : said(p.cell))));
  const wide = Math.max(...lines.map((l) => l.length)), heads = headRows(grid);
  const line = (cells) => '| ' + Array.from({ length: wide }, (_, i) => cells[i] ?? '').join(' | ') + ' |';
  // Markdown has one row of headings: of several the last, which is about one column each.
  const head = heads ? lines[0].map((_, i) => [...new Set(lines.slice(0, heads).map((l) => l[i] ?? '').filter(Boolean))].join(' ')) : [];
  for (let i = head.length; heads && i < wide; i++) head.push(lines.slice(0, heads).map((l) => l[i] ?? '').filter(Boolean).join(' '));
  out.blocks.push({ k: 'table', t: [line(head), '|' + ' --- |'.repeat(wide), ...lines.slice(heads).filter((l) => l.some(Boolean)).map(line)].join('\n') });
  return undefined;
};
const cellLine = (cell, c, m) => {
  const s = styleOf(cell);
  if (!drawnAs(cell, s)) return '';
  const p = part(cell, { ...inElement(c, s), cell: true, strong: isHeader(cell) }, m);
  flushRun(p);
  return p.blocks.map((b) => (b.k === 'code' ? b.raw.split('\n').filter((l) => l.trim()).map((l) => codeSpan(l.trim())).join('<br>') : b.t.replace(/ *\n */g, '<br>'))).join('<br>').replace(/(?<!\\)\|/g, '\\|');
};

// T.table({t, in, ms, objects}): {caption, headings, rows} of a table, with the text that
// a person reads in each cell. A cell that spans several places is in each of them.
T.table = (a) => withFirst(a, (el) => {
  const role = attrText(el, 'role');
  if (!is(el, 'table') && !['table', 'grid', 'treegrid'].includes(role)) return fail('invalid_value', `Element "${a.t.a}" is ${an(nameOf(el))}: want a table`);
  const grid = gridOf(el), heads = headRows(grid), texts = new Map();
  const said = (cell) => { let t = texts.get(cell); if (t === undefined) texts.set(cell, t = shownText(cell)); return t; };
  let room = most;
  const line = ({ places }) => places.map((p) => { const t = said(p.cell); if ((room -= t.length) < 0) throw new Fault('invalid_value', `Element "${a.t.a}" has more than ${most} characters with its spans written out`); return t; });
  const caption = is(el, 'table') ? childNamed(el, 'caption') : null;
  const top = grid.slice(0, heads).map(line), wide = Math.max(0, ...top.map((l) => l.length));
  const headings = Array.from({ length: wide }, (_, i) => [...new Set(top.map((l) => l[i] ?? '').filter(Boolean))].join(' '));
  let rows = grid.slice(heads).map(line).filter((l) => l.length);
  if (a.objects) {
    if (!heads) return fail('invalid_value', `Element "${a.t.a}" has no headings: leave out objects for its rows as arrays`);
    const names = uniqueNames(headings);
    rows = rows.map((l) => Object.fromEntries(Array.from({ length: Math.max(l.length, names.length) }, (_, i) => [names[i] ?? `column ${i + 1}`, l[i] ?? null])));
  }
  return { v: { caption: caption ? shownText(caption) : '', headings, rows } };
});
// Headings as the names of fields: each is there once, and none is empty.
const uniqueNames = (headings) => {
  const used = new Set();
  return headings.map((h, i) => {
    let name = h || `column ${i + 1}`;
    for (let k = 2; used.has(name); k++) name = `${h || `column ${i + 1}`} ${k}`;
    used.add(name);
    return name;
  });
};
