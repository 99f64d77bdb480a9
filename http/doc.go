// Package http is the edge towards clients: it turns requests into messages to
// the actors and their replies into answers.
//
// Package answer has the shapes that it sends. It owns what requests look like,
// and what a client may do to the service before it is known: slow,
// huge, broken and vanished ones. What a task is, it leaves to the engine; who
// plays it, to the actors. Nothing that belongs to a request of fasthttp leaves
// this package: bytes and strings are copied first.
package http
