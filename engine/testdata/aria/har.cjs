// Prints, as JSON, what a page of a HAR shows where nothing comes from the network:
// node har.cjs PACKAGES BROWSER HAR URL SCRIPT
const [packages, browserPath, har, url, script] = process.argv.slice(2);
const { chromium } = require(packages + '/playwright-core');
(async () => {
  const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
  try {
    const context = await browser.newContext();
    await context.routeFromHAR(har, { notFound: 'abort' });
    const page = await context.newPage();
    await page.goto(url, { timeout: 20000 });
    await page.waitForSelector('body[data-done]:has(hr)', { timeout: 20000 });
    console.log(JSON.stringify(await page.evaluate(`(() => { ${script} })()`)));
  } finally {
    await browser.close();
  }
})().catch((e) => { console.error(e); process.exit(1); });
