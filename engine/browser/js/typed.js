// Texts of a page as numbers, booleans and dates, by the language that they are in.
// Each gives {v}, or {e: why not}.

const languageAt = (el) => {
  for (let n = el; n && isElement(n); n = above(n)) { const l = attrText(n, 'lang') || attrText(n, 'xml:lang'); if (l) return l; }
  return '';
};

// The sign before the decimals in a language; empty where that is not known.
const decimals = new Map();
const decimalIn = (lang) => {
  if (!lang) return '';
  if (!decimals.has(lang)) {
    let sign = '';
    try { if (Intl.NumberFormat.supportedLocalesOf(lang).length) sign = new Intl.NumberFormat(lang, { numberingSystem: 'latn' }).formatToParts(1.5).find((p) => p.type === 'decimal').value; } catch { /* it is no language */ }
    decimals.set(lang, sign);
  }
  return decimals.get(lang);
};

// asNumber reads the one number in a text: "€49.00", "1.234,50 kr", "-5 %", "1 000".
const asNumber = (text, lang, decimal) => {
  let s = text.replace(/[\u2212\u2013\ufe63\uff0d](?=\s?[\d.,\p{Sc}])/gu, '-').replace(/[\u0660-\u0669]/g, (d) => d.charCodeAt(0) - 0x660).replace(/[\u06f0-\u06f9]/g, (d) => d.charCodeAt(0) - 0x6f0).replaceAll('\u066b', '.');
  if (/^\s*[+-]?\d+(\.\d+)?e[+-]?\d+\s*$/i.test(s)) return { v: Number(s) };
  s = s.replace(/(?<=\d)[\u00a0\u202f\u2009' \u2019](?=\d{3}(?!\d))/g, '');
  const found = [...s.matchAll(/[.,]?\d[\d.,]*/g)].map((m) => ({ t: m[0].replace(/[.,]+$/, ''), at: m.index, end: m.index + m[0].replace(/[.,]+$/, '').length }));
  if (!found.length) return { e: 'there is no number in it' };
  if (found.length > 1) return { e: `there are ${found.length} numbers in it` };
  const { t, at, end } = found[0];
  if (/^\s?(k|K|M|B|bn|Mio|Mrd|million|billion|thousand)(?![\p{L}])/u.test(s.slice(end))) return { e: 'it is shortened' };
  const before = s.slice(0, at), sign = /(^|[^\p{L}\p{N}])-\s?[\p{Sc}]?\s?$|^\s*-/u.test(before) ? -1 : 1;
  const points = t.split('.').length - 1, commas = t.split(',').length - 1;
  let whole;
  if (points && commas) {
    const last = t.lastIndexOf('.') > t.lastIndexOf(',') ? '.' : ',';
    if ((last === '.' ? points : commas) > 1) return { e: 'its signs cannot be told apart' };
    if (decimal && decimal !== last) return { e: `it is written with the decimal sign "${last}"` };
    whole = t.replaceAll(last === '.' ? ',' : '.', '').replace(',', '.');
  } else if (points + commas === 0) whole = t;
  else {
    const mark = points ? '.' : ',', n = points || commas, groups = t.split(mark);
    const grouped = groups[0].length >= 1 && groups[0].length <= 3 && groups.slice(1).every((g) => g.length === 3) && groups[0] !== '0' && groups[0] !== '';
    const by = decimal || (n > 1 || !grouped ? '' : decimalIn(lang));
    if (n > 1 && (!grouped || decimal === mark)) return { e: 'it has several decimal signs' };
    if (n === 1 && grouped && !by) return { e: `"${t}" can be read in two ways: x-decimal says which sign comes before the decimals` };
    const isDecimal = n === 1 && (by ? by === mark : true);
    if (n === 1 && !isDecimal && !grouped) return { e: `it is not written with the decimal sign "${by}"` };
    whole = isDecimal ? t.replace(',', '.') : t.replaceAll(mark, '');
  }
  const v = sign * Number(whole);
  return Number.isFinite(v) ? { v: v === 0 ? 0 : v } : { e: 'it is no number' };
};

const truths = new Set(['true', 'yes', 'on', '1', 'y', '\u2713', '\u2714', '\u2705']), untruths = new Set(['false', 'no', 'off', '0', 'n', '\u2717', '\u2718', '\u274c', '-', '']);
const asBoolean = (text) => { const t = tidy(text).toLowerCase(); return truths.has(t) ? { v: true } : untruths.has(t) ? { v: false } : { e: 'it is neither true, yes, on or 1 nor false, no, off or 0' }; };

// Names of months in a language, and in English, by their first letters.
const monthNames = new Map();
const monthsIn = (lang) => {
  if (!monthNames.has(lang)) {
    const names = new Map();
    for (const l of lang ? ['en', lang] : ['en']) {
      for (const month of ['long', 'short']) for (const day of [undefined, 'numeric']) {
        let f;
        try { f = new Intl.DateTimeFormat(l, { month, day, timeZone: 'UTC' }); } catch { continue; }
        for (let i = 0; i < 12; i++) {
          const name = f.formatToParts(Date.UTC(2001, i, 1)).find((p) => p.type === 'month')?.value.toLowerCase().replace(/\.$/, '');
          if (name && !/^\d/.test(name)) names.set(name, i + 1);
        }
      }
    }
    names.set('sept', 9);
    monthNames.set(lang, names);
  }
  return monthNames.get(lang);
};
const orders = new Map();
const orderIn = (lang) => {
  if (!lang) return '';
  if (!orders.has(lang)) {
    let order = '';
    try { if (Intl.DateTimeFormat.supportedLocalesOf(lang).length) order = new Intl.DateTimeFormat(lang).formatToParts(0).map((p) => ({ day: 'd', month: 'm', year: 'y' })[p.type] ?? '').join(''); } catch { /* it is no language */ }
    orders.set(lang, order);
  }
  return orders.get(lang);
};
const pad = (n, w = 2) => String(n).padStart(w, '0');
const realDate = (y, m, d) => {
  if (y < 100) y += y < 70 ? 2000 : 1900;
  const t = new Date(Date.UTC(y, m - 1, d));
  return t.getUTCFullYear() === y && t.getUTCMonth() === m - 1 && t.getUTCDate() === d ? { y, m, d } : null;
};
// dateIn finds the date in a text: {y, m, d} with the rest of the text, or {e}.
const dateIn = (text, lang, order) => {
  const t = tidy(text);
  const rest = (m) => (t.slice(0, m.index) + ' ' + t.slice(m.index + m[0].length)).trim();
  const made = (m, y, mo, d) => { const date = realDate(+y, +mo, +d); return date ? { ...date, rest: rest(m) } : { e: 'there is no such day' }; };
  let m = /(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)/.exec(t);
  if (m) return made(m, m[1], m[2], m[3]);
  m = /(?<!\d)(\d{1,2})\s?[-/.]\s?(\d{1,2})\s?[-/.]\s?(\d{4}|\d{2})(?!\d)/.exec(t);
  if (m) {
    const [a, b] = [+m[1], +m[2]];
    const by = order || (/\.\s?\d+\s?\./.test(m[0]) ? 'dmy' : a > 12 ? 'dmy' : b > 12 ? 'mdy' : a === b ? 'dmy' : orderIn(lang));
    if (by === 'dmy') return made(m, m[3], b, a);
    if (by === 'mdy') return made(m, m[3], a, b);
    if (by === 'ymd') return made(m, a, b, m[3]);
    return { e: 'its day and month can be read in two ways: x-dateOrder says which comes first' };
  }
  const names = monthsIn(lang), month = (s) => names.get(s.toLowerCase().replace(/\.$/, ''));
  for (const x of t.matchAll(/(?<![\d:])(\d{1,2})(?:st|nd|rd|th|\.|er|\u00ba)?\s?(?:de |of |d')?\s?([\p{L}]{3,}\.?),?\s?(?:de |del )?(\d{4})(?!\d)/gu)) if (month(x[2])) return made(x, x[3], month(x[2]), x[1]);
  for (const x of t.matchAll(/([\p{L}]{3,}\.?)\s(\d{1,2})(?:st|nd|rd|th)?,?\s(\d{4})(?!\d)/gu)) if (month(x[1])) return made(x, x[3], month(x[1]), x[2]);
  m = /(?<!\d)(\d{4})\s?[\u5e74\ub144]\s?(\d{1,2})\s?[\u6708\uc6d4]\s?(\d{1,2})\s?[\u65e5\uc77c]/.exec(t);
  if (m) return made(m, m[1], m[2], m[3]);
  return { e: 'there is no date in it that can be read' };
};
const asDate = (text, lang, order) => { const d = dateIn(text, lang, order); return d.e ? d : { v: `${pad(d.y, 4)}-${pad(d.m)}-${pad(d.d)}` }; };
const timeIn = (t) => {
  const m = /(?<!\d)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s?([ap])?\.?(?:m\b\.?)?/i.exec(t);
  if (!m) return null;
  let h = +m[1];
  if (m[5]) { if (h < 1 || h > 12) return null; h = h % 12 + (m[5].toLowerCase() === 'p' ? 12 : 0); }
  if (h > 23 || +m[2] > 59 || +(m[3] ?? 0) > 59) return null;
  const zone = /^\s?(Z|UTC|GMT|([+-])(\d{2}):?(\d{2}))?/.exec(t.slice(m.index + m[0].length));
  return { text: `${pad(h)}:${m[2]}:${m[3] ?? '00'}${m[4] ? '.' + m[4] : ''}`, zone: !zone[1] ? '' : zone[2] ? `${zone[2]}${zone[3]}:${zone[4]}` : 'Z' };
};
const asTime = (text) => { const t = timeIn(tidy(text)); return t ? { v: t.text + (t.zone || 'Z') } : { e: 'there is no time in it' }; };
const asDateTime = (text, lang, order) => {
  const d = dateIn(text, lang, order);
  if (d.e) return d;
  const t = timeIn(d.rest.replace(/^T|(?<=\s)T(?=\d)/, ''));
  if (!t) return { e: 'there is no time in it' };
  if (!t.zone) return { e: 'it does not say its time zone' };
  return { v: `${pad(d.y, 4)}-${pad(d.m)}-${pad(d.d)}T${t.text}${t.zone}` };
};
