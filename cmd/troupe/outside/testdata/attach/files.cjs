// Gives a page files of the session, by Playwright and by Puppeteer. It prints what it has seen as JSON.
const { chromium } = require('playwright-core')
const puppeteer = require('puppeteer-core')
const [address, again, site] = process.argv.slice(2)

const texts = "(async () => (await Promise.all([...document.querySelector('input').files].map(async f => f.name + ' ' + await f.text()))).join(', '))()"

async function main() {
  const seen = {}
  const browser = await chromium.connectOverCDP(address)
  const context = browser.contexts()[0]
  const page = context.pages()[0] || await context.newPage()
  await page.goto(site + '/upload')
  const cdp = await context.newCDPSession(page)
  const choose = async files => {
    const { result } = await cdp.send('Runtime.evaluate', { expression: "document.querySelector('input')" })
    return cdp.send('DOM.setFileInputFiles', { files, objectId: result.objectId })
  }
  await choose(['troupe-file:report.pdf'])
  seen.chosen = await page.evaluate(texts)
  await page.evaluate("document.querySelector('input').multiple = true")
  await choose(['troupe-file:report.pdf', '/some/where/troupe-file:b.txt'])
  seen.several = await page.evaluate(texts)
  seen.path = await choose(['/etc/hostname']).then(() => 'set', e => String(e.message))
  seen.missing = await choose(['troupe-file:none']).then(() => 'set', e => String(e.message))

  await page.evaluate(() => {
    document.body.innerHTML = '<div style="position:fixed;inset:0"></div>'
    document.ondragover = e => e.preventDefault()
    window.dropped = new Promise(done => { document.ondrop = async e => { e.preventDefault(); const f = e.dataTransfer.files[0]; done(f.name + ' ' + await f.text()) } })
  })
  const drag = async files => {
    for (const type of ['dragEnter', 'dragOver', 'drop']) await cdp.send('Input.dispatchDragEvent', { type, x: 50, y: 50, data: { items: [], files, dragOperationsMask: 1 } })
  }
  seen.dragged = await drag(['/etc/hostname']).then(() => 'dropped', e => String(e.message))
  await drag(['troupe-file:b.txt'])
  seen.dropped = await page.evaluate('dropped')
  await browser.close()

  let second
  for (let i = 0; !second; i++) second = await puppeteer.connect({ browserWSEndpoint: again + '&queueTimeout=20000' }).catch(e => { if (i > 20) throw e })
  const tab = (await second.pages())[0]
  await tab.goto(site + '/upload')
  await (await tab.$('input')).uploadFile('troupe-file:b.txt')
  seen.puppeteer = await tab.evaluate(texts)
  await second.close()
  console.log(JSON.stringify(seen))
}

main().then(() => process.exit(0), e => { console.error(e); process.exit(1) })
