// Loads the products a moment after the page, as single-page shops do.
setTimeout(async () => {
  const state = document.querySelector('#state')
  try {
    const answer = await fetch('/api/products')
    const { products } = await answer.json()
    document.querySelector('#hits').replaceChildren(...products.map((p) => {
      const item = document.createElement('li')
      item.className = 'hit'
      item.dataset.id = p.id
      const link = document.createElement('a')
      link.href = p.url
      link.textContent = p.name
      item.append(link, ` ${p.stock ? `${p.stock} in stock` : 'sold out'}`)
      return item
    }))
    state.textContent = `${products.length} products`
  } catch {
    state.textContent = 'The products could not be loaded.'
  }
}, 200)
