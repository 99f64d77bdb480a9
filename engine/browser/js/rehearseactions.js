// Does once what tasks that aim and fill do, in the blank page, as T.rehearse does
// for those that read. It takes no focus and presses nothing, so the blank page is
// neither laid out nor painted anew. What it fills is in no document. Gives how many
// parts went well.
(async () => {
  const a = { t: { k: 'css', s: 'body', a: 'body' }, ms: 0, of: 100 };
  let well = 0;
  if ((await T.point({ ...a, hover: true, follow: true })).v) well++;
  followed?.watcher.disconnect();
  followed = null;
  if ((await T.fill({ ...a, text: '' })).c === 'invalid_value') well++; // it is no field
  if (disabledBecause(body(document)) === '' && !handsOn(body(document))) well++;

  const field = document.createElement('input'), key = { type: 'keyup', target: field, preventDefault() {}, stopImmediatePropagation() {} };
  asked(document);
  if (!handsOn(field) && activeIn(field) === null && !focusOn(field) && !isPart(field) && !hasPattern(field) && textIn(field) === '') well++;
  if (mark(field, true) && marked(field, false) && !oneByOne(field)) well++;
  remark(field, true);
  unmark();
  if (attend(field, { ...a, id: 0, text: 'ab', keys: 2 })) { follows(typing, key); unattend(); }
  if (typing.left === 1 && holds(field, 'a', 'ab', 'ab') === false && !taken(typing)) well++;
  typing = null;
  T.forget();
  return JSON.stringify(well);
})()
