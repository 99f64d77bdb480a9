// A server around Puppeteer, as its documentation teaches it.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';
import { fields, serve, settings, viewport } from './serve.mjs';

const { workers, fresh, browser: executablePath, flags, dir } = settings;

const launch = (i) =>
  puppeteer.launch({
    executablePath,
    headless: 'shell',
    pipe: true,
    defaultViewport: viewport,
    ...(flags && { ignoreDefaultArgs: true, args: [...flags, `--user-data-dir=${join(dir, `profile${i}`)}`, 'about:blank'] }),
  });

// With stock flags all pages share a browser, as they do by default; ours are
// meant for a browser per page.
const shared = flags ? null : await launch(0);
const browsers = shared ? [shared] : [];
let pictures = 0;

const driver = {
  async slot(i) {
    const browser = shared ?? (await launch(i));
    if (!shared) browsers.push(browser);
    const slot = { browser };
    if (!fresh) slot.page = await driver.page(slot);
    return slot;
  },
  async page(slot) {
    slot.context = await slot.browser.createBrowserContext();
    return slot.context.newPage();
  },
  release(slot) {
    if (!fresh) return;
    slot.context.close().catch(console.error); // beside the next task
    slot.page = null;
  },
  async act(page, action) {
    const [name] = Object.keys(action);
    const v = action[name];
    switch (name) {
      case 'open':
        await page.goto(v);
        return;
      case 'getText':
        return page.$eval(v, (e) => e.textContent.trim());
      case 'fill':
        await page.type(v[0], v[1]);
        return;
      case 'click':
        await page.click(v);
        return;
      case 'waitForElement':
        await page.waitForSelector(v);
        return;
      case 'evaluate':
        return page.evaluate(`(async () => {${v}})()`);
      case 'extractAll':
        return page.$$eval(v[0], fields, v[1]);
      case 'loop': {
        const out = {};
        for (const element of await page.$$(v.each)) {
          for (const step of v.do) {
            const inner = step.getText.replace('$this ', '');
            (out[step.options.push] ??= []).push(await element.$eval(inner, (e) => e.textContent.trim()));
          }
          await element.dispose();
        }
        return out;
      }
      case 'selectOption':
        await page.select(v[0], v[1]);
        return;
      case 'check':
        await page.click(v);
        return;
      case 'pdf': {
        const path = join(dir, `document${pictures++}.pdf`);
        await page.pdf({ path, printBackground: true });
        return { success: true, url: `file://${path}` };
      }
      case 'screenshot': {
        const path = join(dir, `picture${pictures++}.png`);
        await writeFile(path, await page.screenshot());
        return { success: true, url: `file://${path}` };
      }
    }
    throw new Error(`no action ${name}`);
  },
  close: () => Promise.all(browsers.map((b) => b.close())),
};

await serve(driver, workers);
