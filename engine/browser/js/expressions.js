// Regular expressions, as programs that the service has compiled: {t: how the client wrote
// it, s: the first step, b: whether it asks where it stands, l: what each match begins with,
// i: steps}. All ways through a program are followed at once, so that no expression takes
// longer than its steps times the characters. See expression.go.
const stepMatch = 1, stepGo = 2, stepEither = 3, stepWhere = 4, stepChar = 5, stepAny = 6, stepAnyInLine = 7;
const mostEffort = 1 << 26;
const wordy = (c) => c === 95 || c > 47 && c < 58 || c > 64 && c < 91 || c > 96 && c < 123;
const standsAt = (text, i, wanted) => {
  const before = i > 0 ? text.charCodeAt(i - 1) : -1, after = i < text.length ? text.charCodeAt(i) : -1;
  const border = wordy(before) !== wordy(after);
  return !(wanted & 1 && before !== -1 && before !== 10 || wanted & 2 && after !== -1 && after !== 10 || wanted & 4 && before !== -1 || wanted & 8 && after !== -1 || wanted & 16 && !border || wanted & 32 && border);
};
const takesChar = (step, c) => {
  if (step[0] !== stepChar) return step[0] === stepAny || step[0] === stepAnyInLine && c !== 10;
  for (let k = 2; k < step.length; k += 2) if (c <= step[k + 1]) { if (c >= step[k]) return true; if (step.length > 8) break; }
  return false;
};

// saysExpression gives the question whether a program matches in a text.
const saysExpression = (p) => {
  const seenAt = new Int32Array(p.i.length), todo = [];
  let turn = 0, effort = 0; // steps that are seen in this turn need not be seen again
  // reachStep adds the steps that a place of the text leads to; true: the program has matched.
  const reachStep = (list, first, text, i) => {
    todo.push(first);
    while (todo.length) {
      const at = todo.pop(), step = p.i[at];
      if (seenAt[at] === turn) continue;
      seenAt[at] = turn;
      effort++;
      if (step[0] === stepMatch) { todo.length = 0; return true; }
      if (step[0] === stepGo) todo.push(step[1]);
      else if (step[0] === stepEither) todo.push(step[2], step[1]);
      else if (step[0] === stepWhere) { if (standsAt(text, i, step[2])) todo.push(step[1]); } else if (step[0] >= stepChar) list.push(at);
    }
    return false;
  };
  return (s) => {
    const text = tidy(s ?? '');
    let here = [], next = [];
    turn++;
    for (let i = p.l ? text.indexOf(p.l) : 0; i >= 0 && i <= text.length;) {
      if (effort > mostEffort) throw new Fault('invalid_value', `"${p.t}" takes too long on this page: want a simpler regular expression, or within for where to look`);
      if (reachStep(here, p.s, text, i)) return true;
      if (i === text.length) return false;
      const c = text.codePointAt(i), to = i + (c > 0xffff ? 2 : 1);
      turn++;
      next.length = 0;
      effort += here.length + 1;
      for (const at of here) if (takesChar(p.i[at], c) && reachStep(next, p.i[at][1], text, to)) return true;
      [here, next] = [next, here];
      if (!here.length) turn++;
      i = p.l && !here.length ? text.indexOf(p.l, to) : to;
    }
    return false;
  };
};
