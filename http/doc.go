// Package http is the edge towards clients: it turns requests into messages to
// the actors and their replies into answers.
//
// Package answer has the shapes that it sends. This package owns the form of requests,
// and the defence against slow, huge, broken and vanished clients. The engine decides
// what a task is, and the actors decide which worker runs it. Nothing that belongs to a
// request of fasthttp leaves this package: bytes and strings are copied first.
package http
