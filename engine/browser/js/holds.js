// How many matches a selector has in the document and in the frames of its origin, and
// which frames of other origins are in it. It is evaluated as it stands, apart from the
// page script: few documents are asked.
(t) => {
  let n = 0;
  try { for (const d of [document, ...frames(document).map(([, d]) => d)]) n += query(d, t.k, t.s).length; } catch { /* it is none */ }
  return JSON.stringify({ n, frames: foreignFrames(document).map(numberOf), at: location.href });
}
