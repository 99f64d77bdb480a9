// Opens a page in a context with a storage state, prints as JSON what a script of the page
// returns there, and the state of a context of its own in which another script has run:
// node state.cjs PACKAGES BROWSER STATE URL SCRIPT FILLS
const [packages, browserPath, state, url, script, fills] = process.argv.slice(2);
const { chromium } = require(packages + '/playwright-core');
(async () => {
  const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
  try {
    const context = await browser.newContext({ storageState: state });
    const page = await context.newPage();
    await page.goto(url);
    const seen = await page.evaluate(`(async () => { ${script} })()`);
    const own = await browser.newContext();
    const other = await own.newPage();
    await other.goto(url);
    await other.evaluate(`(async () => { ${fills} })()`);
    console.log(JSON.stringify({ seen, state: await own.storageState({ indexedDB: true }) }));
  } finally {
    await browser.close();
  }
})().catch((e) => { console.error(e); process.exit(1); });
