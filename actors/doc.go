// Package actors decides who does what when: which account may run a task,
// which worker plays it, what a session keeps, when something waits, and what
// happens when a browser dies. Its messages are plain data and can cross a
// process.
package actors
