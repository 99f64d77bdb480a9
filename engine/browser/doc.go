// Package browser is Chromium as nouns: a [Browser] is a process, a [Context]
// is everything one task may see of it, a [Tab] is a page. It is the only
// package that knows the protocol of the browser.
//
// chromedp gives the transport over a pipe, the table of keys and, through
// cdproto, the types of the protocol. Sessions are our own (conn.go): commands
// leave in the order they were sent without waiting for each other, and no
// domain of the protocol is switched on that a task does not need. The reasons
// are in docs/decisions.
//
// What happens inside a page happens in js/*.js, one small script in an
// isolated world of its own, so that nothing a page does to its own world
// changes what is read or where a click goes.
package browser
