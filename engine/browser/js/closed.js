// Takes the closed shadow roots that there are, and remembers which elements may have
// got one since. It is called as it stands, apart from the page script: few documents
// need it.
(...roots) => {
  for (const r of roots) if (r) { closedRoots.set(hostOf(r), r); anyClosed = true; }
  for (const d of [document, ...frames(document).map(([, d]) => d)]) for (const n of [d, ...peer(() => shadows(d))]) for (const el of all(n, '*')) askedAbout.add(el);
}
