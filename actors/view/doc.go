// Package view is what is seen of the actors without a message to any: the status of
// asynchronous tasks ([StatusCache]), what goes on in an account ([Feed], and its
// [FeedReader]s), and the live pictures of browsers ([Screencast]). It has no actors.
// All of it may be used from any goroutine, and nothing here waits for a reader.
package view
