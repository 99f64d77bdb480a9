// Package socket lets clients use the browser of a session over a WebSocket, by the browser's own
// protocol: Playwright, Puppeteer, chromedp and others.
//
// [Sockets] finds out who asks, begins the socket and says why it has ended. What a client may send
// is decided below, in engine/attach.
package socket
