// Does once what tasks that aim and fill do, in the blank page, as T.rehearse does
// for those that read. It takes no focus and presses nothing, so the blank page is
// neither laid out nor painted anew. Gives how many parts went well.
(async () => {
  const a = { t: { k: 'css', s: 'body', a: 'body' }, ms: 0, of: 100 };
  let well = 0;
  if ((await T.point({ ...a, hover: true })).v) well++;
  if ((await T.fill({ ...a, text: '' })).c === 'invalid_value') well++; // it is no field
  if (disabledBecause(body(document)) === '' && !handsOn(body(document))) well++;
  T.forget();
  return JSON.stringify(well);
})()
