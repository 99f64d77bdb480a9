// Package engine knows what a task is and how it is played.
//
// A task is an ordered list of actions. [Parse] turns the bytes of a request
// into a [Task] and finds every fault at once, so that what runs is valid. An
// [Engine] launches browsers; each [Instance] plays one task at a time and
// answers with an [Outcome].
//
// The life of one step: its definition (one file per action) decoded its value
// in Parse; the interpreter (run.go) fills in what ${key} and $key stand for,
// sets the step's deadline, calls the action's Run, applies save and push, and
// decides by continueOnError whether the list goes on. Actions know nothing of
// any of that.
package engine
