// Prints, as JSON, the snapshot that Playwright gives of each page:
// node snapshots.cjs PACKAGES BROWSER URL PAGE…
const [packages, browserPath, url, ...pages] = process.argv.slice(2);
const { chromium } = require(packages + '/playwright-core');
(async () => {
  const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
  const out = {};
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 720 } })).newPage();
  for (const name of pages) {
    await page.goto(`${url}/${name}`, { waitUntil: 'load' });
    out[name] = await page.ariaSnapshot({ mode: 'ai' });
  }
  await browser.close();
  console.log(JSON.stringify(out));
})().catch((e) => { console.error(e); process.exit(1); });
