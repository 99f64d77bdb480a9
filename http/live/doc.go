// Package live shows clients what goes on: pictures of browsers, events of tasks
// and feeds of accounts.
//
// [Passes] issues tickets and links and decides who may look; [Streams] sends what
// they look at. A stream ends when its token, ticket or link does, and a slow
// client misses some of it or is disconnected, so that nobody waits for it.
package live
