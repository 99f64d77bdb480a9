// Attaches Puppeteer to a session and does what people do with it. It prints what it has seen as JSON.
const [address, site, other] = process.argv.slice(2)

async function main() {
  const { default: puppeteer } = await import(require.resolve('puppeteer-core'))
  const seen = {}
  const browser = await puppeteer.connect({ browserWSEndpoint: address })
  const pages = await browser.pages()
  seen.pages = pages.length
  const page = pages[0] || await browser.newPage()

  await page.goto(site + '/login')
  await page.type('#name', 'ada')
  await page.type('#word', 'secret')
  await Promise.all([page.waitForNavigation(), page.click('button')])
  seen.home = await page.$eval('h1', e => e.textContent)

  await page.goto(site + '/framed?other=' + encodeURIComponent(other), { waitUntil: 'networkidle0' })
  const inner = await page.waitForFrame(f => f.url().endsWith('/inner'))
  await inner.waitForSelector('h1')
  seen.frame = await inner.$eval('h1', e => e.textContent)

  await page.goto(site + '/home')
  const [popup] = await Promise.all([new Promise(r => page.once('popup', r)), page.click('button')])
  await popup.waitForSelector('h1')
  seen.popup = await popup.$eval('h1', e => e.textContent)
  await popup.close()

  page.once('dialog', d => { seen.dialog = d.message(); d.accept() })
  seen.confirmed = await page.evaluate(() => confirm('sure?'))

  await page.setRequestInterception(true)
  page.on('request', r => r.url().endsWith('/routed') ? r.respond({ body: '<h1>from the client</h1>', contentType: 'text/html' }) : r.continue())
  await page.goto(site + '/routed')
  seen.routed = await page.$eval('h1', e => e.textContent)

  const picture = await page.screenshot()
  seen.picture = Buffer.from(picture).subarray(1, 4).toString()
  await page.goto(site + '/upload')
  const field = await page.$('input')
  seen.path = await field.uploadFile('/etc/hostname').then(() => 'set', e => String(e.message))

  const second = await browser.newPage()
  await second.goto(site + '/home')
  seen.second = (await second.$eval('h1', e => e.textContent)) + ' ' + (await browser.pages()).length
  await second.close()

  const own = await browser.createBrowserContext()
  const fresh = await own.newPage()
  await fresh.goto(site + '/home')
  seen.fresh = await fresh.$eval('h1', e => e.textContent)
  await own.close()

  seen.file = await page.goto('file:///etc/passwd').then(() => 'went', e => String(e.message))
  await page.goto(site + '/home')
  console.log(JSON.stringify(seen))
  if (process.env.STAY) await new Promise(r => setTimeout(r, 600000))
  await browser.disconnect()
}

main().then(() => process.exit(0), e => { console.error(e); process.exit(1) })
