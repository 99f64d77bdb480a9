// Prints, as JSON, the numbers of the elements that Playwright's locators match in each page:
// node locators.cjs PACKAGES BROWSER URL QUERIES, where QUERIES is a file with
// [{page, queries: [{role, name, exact, ...}]}], in our own spelling.
const [packages, browserPath, url, file] = process.argv.slice(2);
const { chromium } = require(packages + '/playwright-core');
const all = JSON.parse(require('fs').readFileSync(file, 'utf8'));
(async () => {
  const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 720 } })).newPage();
  const locator = (q) => {
    if (typeof q === 'string') return page.locator(q);
    const { role, name, text, label, placeholder, alt, title, testId, selector, exact, hasText, hasNotText, has, hasNot, ...states } = q;
    const base = role !== undefined ? page.getByRole(role, { name, exact, ...states }) : text !== undefined ? page.getByText(text, { exact }) : label !== undefined ? page.getByLabel(label, { exact })
      : placeholder !== undefined ? page.getByPlaceholder(placeholder, { exact }) : alt !== undefined ? page.getByAltText(alt, { exact }) : title !== undefined ? page.getByTitle(title, { exact })
      : testId !== undefined ? page.getByTestId(testId) : page.locator(selector);
    return base.filter({ hasText, hasNotText, has: has && locator(has), hasNot: hasNot && locator(hasNot) });
  };
  const out = [];
  for (const { page: name, queries } of all) {
    await page.goto(`${url}/${name}`, { waitUntil: 'load' });
    const found = [];
    for (const q of queries) found.push(await locator(q).evaluateAll((list) => list.map((el) => el.getAttribute('data-n') ?? '')));
    out.push(found);
  }
  await browser.close();
  console.log(JSON.stringify(out));
})().catch((e) => { console.error(e); process.exit(1); });
