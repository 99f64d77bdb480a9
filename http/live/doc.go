// Package live shows clients what goes on: pictures of browsers, events of tasks
// and feeds of accounts.
//
// [Authorizer] issues tickets and links and checks them; [Streams] sends the events
// and pictures. A stream ends when its token, ticket or link does, and a slow
// client misses some of it or is disconnected, so that nobody waits for it.
package live
