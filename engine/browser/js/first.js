// Reading. Nothing here changes the page.

const trim = (s) => s.trim();

// T.text({t, in, ms}): the text content, trimmed.
T.text = (a) => withFirst(a, (el) => ({ v: trim(dom.text(el)) }));

// T.html(…): the inner HTML.
T.html = (a) => withFirst(a, (el) => ({ v: dom.html(el) }));

// T.attr({…, name}): the attribute's value, or null.
T.attr = (a) => withFirst(a, (el) => ({ v: dom.attribute(el, a.name) }));

// T.settled({}): whether the page stays where it is.
T.settled = async (a) => ((await settle(a)) ? done : { n: true });
