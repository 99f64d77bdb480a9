// Package runs is the history of an account's tasks: one record for each that has ended. It
// says what a record has, writes records in groups beside the tasks, keeps them within bounds,
// and lists, searches and counts them. See docs/decisions/0038-a-history-of-runs.md.
//
//	run/<account>/<time>/<id>        a run, sealed: its time and its identifier are those of its task
//	run-result/<account>/<time>/<id> the copy of its result, sealed
//	run-day/<account>/<day>          the sums of the runs that ended on a day, sealed
//	run-fresh/<account>/<day>/<…>    what is to be added to them, sealed
package runs
