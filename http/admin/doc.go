// Package admin has the operator's commands: commands about accounts, tokens,
// secrets, flows, workers and the service itself.
//
// A command is plain data with a method that carries it out on an [Admin]. It comes
// over a private socket in the data folder, over HTTP with an operator's token, or
// from the command line alone where no service runs; what it changes is in the
// audit log, whichever way it came.
package admin
