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

// linesOf gives the rows of a table as they are meant, [{row, cells: [{cell, at}]}]: by their numbers
// in ARIA, or else by their places. Grids that show a part of many rows use their elements
// again, in any order, and keep columns that stand still in elements of their own. at is the
// column where it is known.
const linesOf = (table) => {
  const native = is(table, 'table'), numbered = one(table, '[aria-rowindex],[aria-colindex]') !== null || !native;
  let lines = rowsOf(table).map((row) => {
    const cells = cellsOf(row), part = attrText(row, 'role') || native ? dom.parent(row) : null;
    return { row, cells: cells.map((cell) => ({ cell, at: undefined })), number: numbered ? ariaNumber(row, 'aria-rowindex') ?? ariaNumber(cells[0], 'aria-rowindex') : undefined,
      head: part !== null && is(part, 'thead') || cells.length > 0 && cells.every(headsColumn), foot: part !== null && is(part, 'tfoot') };
  });
  const known = lines.some((l) => l.number !== undefined);
  if (known) {
    let last = -Infinity;
    for (const l of lines) last = l.key = l.number ?? (l.head ? -Infinity : last);
    lines.sort((x, y) => (x.key === y.key ? 0 : x.key - y.key));
  } else {
    for (const l of lines) l.box = boxOfLine(l);
    const body = lines.filter((l) => !l.head && !l.foot && l.box);
    if (!rising(body.map((l) => l.box.top)) && body.every((l) => styleOf(l.row).position !== 'sticky')) {
      const sorted = [...body].sort((x, y) => (Math.abs(x.box.top - y.box.top) > 1 ? x.box.top - y.box.top : 0));
      let k = 0;
      const moved = new Set(body);
      lines = lines.map((l) => (moved.has(l) ? sorted[k++] : l));
    }
  }
  if (numbered) lines = joinedLines(lines, known);
  if (!numbered || !columnsByNumber(lines)) for (const l of lines) if (!native || numbered || l.box && styleOf(l.row).display !== 'table-row') cellsByPlace(l);
  if (!native) columnsByHeadings(lines);
  return lines;
};
const headsColumn = (cell) => { const role = attrText(cell, 'role'); return role ? role === 'columnheader' : is(cell, 'th'); };
const ariaNumber = (el, name) => { const n = el ? parseInt(attr(el, name) ?? '', 10) : NaN; return n >= 1 ? n : undefined; };
const rising = (list) => list.every((v, i) => i === 0 || v >= list[i - 1] - 1);
// boxOfLine is where a row lies; one without a box of its own is where its cells are.
const boxOfLine = (l) => {
  const r = dom.rect(l.row);
  if (sized(r)) return r;
  const list = l.cells.map((c) => dom.rect(c.cell)).filter(sized);
  if (!list.length) return null;
  const left = Math.min(...list.map((b) => b.left)), top = Math.min(...list.map((b) => b.top));
  return new DOMRect(left, top, Math.max(...list.map((b) => b.right)) - left, Math.max(...list.map((b) => b.bottom)) - top);
};
// joinedLines makes one of the parts of a row that are in different elements side by side.
const joinedLines = (lines, known) => {
  const out = [], byTop = new Map(), near = (l) => [-1, 0, 1].flatMap((d) => byTop.get(Math.round(l.box.top) + d) ?? noItems);
  for (const l of lines) {
    const before = out[out.length - 1], to = known ? before && l.number !== undefined && before.number === l.number ? before : undefined : l.box ? near(l).find((o) => sideBySide(o, l)) : undefined;
    const columns = (x) => x.cells.map((c) => ariaNumber(c.cell, 'aria-colindex')), has = to && columns(to);
    if (!to || dom.parent(to.row) === dom.parent(l.row) || known && columns(l).some((n) => n !== undefined && has.includes(n))) {
      out.push(l);
      if (!known && l.box) { const top = Math.round(l.box.top), list = byTop.get(top); if (list) list.push(l); else byTop.set(top, [l]); }
      continue;
    }
    const a = to.box ?? boxOfLine(to), b = l.box ?? boxOfLine(l), after = !a || !b || (b.left >= a.left) !== (styleOf(l.row).direction === 'rtl');
    to.cells = after ? [...to.cells, ...l.cells] : [...l.cells, ...to.cells];
    if (a && b) to.box = new DOMRect(Math.min(a.left, b.left), a.top, Math.max(a.right, b.right) - Math.min(a.left, b.left), a.height);
    to.head &&= l.head;
  }
  return out;
};
const sideBySide = (o, l) => o.box && l.box && Math.abs(o.box.top - l.box.top) <= 1 && Math.abs(o.box.height - l.box.height) <= 1 && (o.box.right <= l.box.left + 1 || l.box.right <= o.box.left + 1);
// columnsByNumber sets the columns that cells or their rows say, without the gaps that the whole
// table has. It reports whether any do.
const columnsByNumber = (lines) => {
  let any = false;
  const taken = new Set();
  for (const l of lines) {
    let next = ariaNumber(l.row, 'aria-colindex');
    any ||= next !== undefined;
    next ??= 1;
    for (const c of l.cells) {
      const n = ariaNumber(c.cell, 'aria-colindex');
      any ||= n !== undefined;
      c.at = n ?? next;
      next = c.at + Math.max(1, spanOf(c.cell, 'colspan'));
    }
  }
  if (!any) { for (const l of lines) for (const c of l.cells) c.at = undefined; return false; }
  for (const l of lines) for (const c of l.cells) for (let k = 0; k < Math.max(1, spanOf(c.cell, 'colspan')) && taken.size < maxColumns; k++) taken.add(c.at + k);
  const order = new Map([...taken].sort((x, y) => x - y).map((n, i) => [n, i]));
  for (const l of lines) {
    for (const c of l.cells) c.at = order.get(c.at);
    l.cells.sort((x, y) => (x.at ?? maxColumns) - (y.at ?? maxColumns));
  }
  return true;
};
// cellsByPlace puts cells that lie side by side into the order in which they are seen.
const cellsByPlace = (l) => {
  const boxes = new Map(l.cells.map((c) => [c, dom.rect(c.cell)])), list = [...boxes.values()];
  if (list.length < 2 || !list.every((b) => sized(b) && b.top < list[0].bottom && b.bottom > list[0].top)) return;
  const sign = styleOf(l.row).direction === 'rtl' ? -1 : 1, at = (c) => sign * (sign > 0 ? boxes.get(c).left : boxes.get(c).right);
  if (!rising(l.cells.map(at))) l.cells.sort((x, y) => at(x) - at(y));
};
// columnsByHeadings puts the cells of a row that lacks some under the headings that they lie under.
const columnsByHeadings = (lines) => {
  const head = lines.find((l) => l.head);
  if (!head || head.cells.some((c) => c.at !== undefined || spanOf(c.cell, 'colspan') !== 1)) return;
  const tops = head.cells.map((c) => dom.rect(c.cell));
  if (!tops.every(sized)) return;
  for (const l of lines) {
    if (l === head || !l.cells.length || l.cells.length >= tops.length || l.cells.some((c) => spanOf(c.cell, 'colspan') !== 1)) continue;
    const at = l.cells.map((c) => { const b = dom.rect(c.cell), x = (b.left + b.right) / 2; return sized(b) ? tops.findIndex((t) => t.left <= x && x < t.right) : -1; });
    if (at.every((n, i) => n >= 0 && (i === 0 || n > at[i - 1]))) for (const [i, c] of l.cells.entries()) c.at = at[i];
  }
};

// gridOf gives the rows of a table as lists of places, {cell, right, down}: how far into
// the cell's span the place lies. A place without a cell has none.
const noCell = Object.freeze({ cell: null, right: 0, down: 0 });
const gridOf = (table) => {
  const lines = linesOf(table), rows = lines.map((l) => l.row), grid = [], open = []; // open: cells that reach into rows to come, by column
  let places = 0;
  for (const [i, { row, cells }] of lines.entries()) {
    if (places > maxPlaces) break;
    const line = [];
    let at = 0;
    const reach = () => {
      while (open[at]?.left > 0) { const o = open[at++]; o.left--; line.push({ cell: o.cell, right: o.right, down: ++o.down }); }
    };
    for (const { cell, at: column } of cells) {
      reach();
      while (column !== undefined && at < column && at < maxColumns) { line.push(noCell); at++; reach(); }
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
    const head = is(dom.parent(row) ?? row, 'thead') || places.some((p) => p.cell) && places.every((p) => !p.cell || isHeader(p.cell));
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
  if (grid.some((r) => r.places.some((p) => p.cell && isHeader(p.cell)))) return false;
  return grid.length < 2 || wide < 2 || !!one(table, 'table,h1,h2,h3,h4,pre,ul,ol,form,article,section');
};
const writeTable = (table, out, c, m) => {
  if (!m.tables) return undefined;
  const grid = gridOf(table).filter((r) => r.places.length);
  const caption = is(table, 'table') ? childNamed(table, 'caption') : null;
  flushRun(out);
  if (!grid.length && is(table, 'table')) return undefined;
  if (!grid.length) return false;
  writeBeside(table, '::before', out, c, m);
  if (caption) { writeNode(caption, out, c, m); flushRun(out); }
  if (arranges(table, grid) || c.cell) {
    const seen = new Set();
    for (const { places } of grid) for (const { cell } of places) if (cell && !seen.has(cell)) { seen.add(cell); writeNode(cell, out, c, m); flushRun(out); }
    writeBeside(table, '::after', out, c, m);
    return undefined;
  }
  const texts = new Map();
  const said = (cell) => {
    if (!cell) return '';
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
  writeBeside(table, '::after', out, c, m);
  return undefined;
};
const cellLine = (cell, c, m) => {
  const s = styleOf(cell);
  if (!drawnAs(cell, s)) return '';
  const p = part(cell, { ...inElement(c, s), sheets: sheetsOf(cell, m.look), formulas: formulasIn(dom.root(cell), m.look), cell: true, strong: isHeader(cell) }, m);
  flushRun(p);
  return p.blocks.map((b) => (b.k === 'code' ? b.raw.split('\n').filter((l) => l.trim()).map((l) => codeSpan(l.trim())).join('<br>') : b.t.replace(/ *\n */g, '<br>'))).join('<br>').replace(/(?<!\\)\|/g, '\\|');
};

// T.table({t, in, ms, objects}): {caption, headings, rows} of a table, with the text that
// a person reads in each cell. A cell that spans several places is in each of them.
T.table = (a) => withFirst(a, (el) => {
  const role = attrText(el, 'role');
  if (!is(el, 'table') && !['table', 'grid', 'treegrid'].includes(role)) return fail('invalid_value', `Element "${a.t.a}" is ${an(nameOf(el))}: want a table`);
  const grid = gridOf(el), heads = headRows(grid), texts = new Map(), look = lookAround(el);
  const said = (cell) => { let t = cell ? texts.get(cell) : ''; if (t === undefined) texts.set(cell, t = shownText(cell, look)); return t; };
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
  return { v: { caption: caption ? shownText(caption, look) : '', headings, rows } };
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
