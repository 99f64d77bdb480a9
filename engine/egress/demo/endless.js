// Loads the next products when the end of the list comes into view, until there
// are no more.
let page = 0
let loading = false
const end = document.querySelector('#more')
const watch = new IntersectionObserver(async (seen) => {
  if (loading || !seen.some((s) => s.isIntersecting)) return
  loading = true
  const { products } = await (await fetch(`/api/products?page=${++page}`)).json()
  document.querySelector('#feed').append(...products.map((p) => {
    const item = document.createElement('li')
    item.className = 'item'
    item.dataset.id = p.id
    item.textContent = `${p.name}, ${p.price}`
    return item
  }))
  loading = false
  watch.unobserve(end)
  if (products.length) {
    watch.observe(end) // tells anew whether it is in view
  } else {
    end.id = 'end'
    end.textContent = 'That is all.'
  }
})
watch.observe(end)
