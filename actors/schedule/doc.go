// Package schedule decides which worker gets which task ([Scheduler]): by the
// workers in the orders that selecting needs ([Roster]), the requests that wait,
// fairly between accounts ([Queue]), and what other nodes have free
// ([PeerCapacity]). A request on its way is a [Job]. The package sends nothing;
// pool does.
package schedule
