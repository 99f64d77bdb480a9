// Downloads files by Playwright, and fetches them over HTTP. It prints what it has seen as JSON.
const { chromium } = require('playwright-core')
const [address, site, files, token] = process.argv.slice(2)
const headers = { Authorization: 'Bearer ' + token }

async function list() {
  return (await (await fetch(files, { headers })).json()).files
}

async function main() {
  const seen = {}
  const browser = await chromium.connectOverCDP(address)
  const context = browser.contexts()[0]
  const page = context.pages()[0] || await context.newPage()
  await page.goto(site + '/home')
  const download = async p => {
    const [d] = await Promise.all([p.waitForEvent('download'), p.click('text=File')])
    seen.failure = await d.failure() // waits until it is complete
    return d
  }
  const d = await download(page)
  const one = (await list()).find(f => f.kind === 'download' && f.name === d.suggestedFilename())
  seen.first = await (await fetch(one.url)).text()
  seen.save = await Promise.race([d.saveAs(process.env.TMPDIR + '/saved').then(() => 'saved', e => String(e.message)), new Promise(r => setTimeout(r, 5000, 'hangs'))])

  const own = await browser.newContext()
  const fresh = await own.newPage()
  await fresh.goto(site + '/home')
  await download(fresh)
  const all = (await list()).filter(f => f.kind === 'download')
  seen.listed = all.length
  seen.second = await (await fetch(all[all.length - 1].url)).text()
  await own.close()

  await page.goto(site + '/upload')
  const cdp = await context.newCDPSession(page)
  const { result } = await cdp.send('Runtime.evaluate', { expression: "document.querySelector('input')" })
  await cdp.send('DOM.setFileInputFiles', { files: ['troupe-file:' + one.id], objectId: result.objectId })
  seen.again = await page.evaluate(async () => { const f = document.querySelector('input').files[0]; return f.name + ' ' + await f.text() })
  await browser.close()
  console.log(JSON.stringify(seen))
}

main().then(() => process.exit(0), e => { console.error(e); process.exit(1) })
