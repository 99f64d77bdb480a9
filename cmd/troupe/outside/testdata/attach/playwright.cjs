// Attaches Playwright to a session and does what people do with it. It prints what it has seen as JSON.
const { chromium } = require('playwright-core')
const [address, site, other] = process.argv.slice(2)

async function main() {
  const seen = {}
  const browser = await chromium.connectOverCDP(address)
  seen.contexts = browser.contexts().length
  const context = browser.contexts()[0]
  const page = context.pages()[0] || await context.newPage()

  await page.goto(site + '/login')
  await page.fill('#name', 'ada')
  await page.fill('#word', 'secret')
  await page.click('text=Sign in')
  await page.waitForURL('**/home')
  seen.home = await page.textContent('h1')

  await page.goto(site + '/framed?other=' + encodeURIComponent(other))
  seen.frame = await page.frameLocator('#outer').frameLocator('#inner').locator('h1').textContent()
  await page.frameLocator('#outer').locator('button').click()
  seen.clicked = await page.frameLocator('#outer').locator('#said').textContent()

  await context.addInitScript(() => { window.mark = 'early' })
  await page.goto(site + '/home')
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('text=Popup')])
  await popup.waitForLoadState()
  seen.popup = await popup.textContent('h1')
  seen.popupSawMark = await popup.evaluate(() => window.first)
  await popup.close()

  page.once('dialog', d => { seen.dialog = d.message(); d.accept() })
  seen.confirmed = await page.evaluate(() => confirm('sure?'))

  await page.goto(site + '/upload')
  await page.setInputFiles('input', { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('bytes of a file') })
  seen.upload = await page.evaluate(async () => document.querySelector('input').files[0].text())
  seen.path = await page.setInputFiles('input', '/etc/hostname').then(() => 'set', e => String(e))

  await page.route('**/routed', r => r.fulfill({ body: '<h1>from the client</h1>', contentType: 'text/html' }))
  await page.goto(site + '/routed')
  seen.routed = await page.textContent('h1')
  await page.unroute('**/routed')

  const long = 'x'.repeat(300000)
  seen.long = (await page.evaluate(s => ({ a: s, b: { c: s + 'y' } }), long)).b.c === long + 'y'
  await page.goto(site + '/home')
  const picture = await page.screenshot()
  seen.picture = picture.subarray(1, 4).toString() + ' ' + (picture.length > 1000)

  const second = await context.newPage()
  await second.setViewportSize({ width: 500, height: 400 })
  await second.goto(site + '/home')
  seen.second = await second.evaluate(() => innerWidth) + ' ' + context.pages().length
  await page.bringToFront()
  await page.setViewportSize({ width: 640, height: 480 })

  const own = await browser.newContext()
  const fresh = await own.newPage()
  await fresh.goto(site + '/home')
  seen.fresh = await fresh.textContent('h1')
  const [p2] = await Promise.all([fresh.waitForEvent('popup'), fresh.click('text=Popup')])
  await p2.waitForLoadState()
  seen.freshPopup = await p2.textContent('h1')
  await own.close()

  const cdp = await context.newCDPSession(page)
  seen.file = await page.goto('file:///etc/passwd').then(() => 'went', e => String(e.message))
  seen.info = await cdp.send('SystemInfo.getInfo').then(() => 'got', e => String(e.message))
  seen.proxy = await browser.newContext({ proxy: { server: 'direct://' } }).then(() => 'made', e => String(e.message))

  await context.grantPermissions(['geolocation'])
  await second.close()
  await page.mouse.move(5, 5)
  await page.mouse.down()
  console.log(JSON.stringify(seen))
  if (process.env.STAY) await new Promise(r => setTimeout(r, 600000))
  await browser.close()
}

main().then(() => process.exit(0), e => { console.error(e); process.exit(1) })
