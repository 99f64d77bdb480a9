// Package schedule knows which worker gets which task: the workers in the orders
// that selecting needs ([Roster]), the requests that wait, fairly between accounts
// ([Queue]), a request on its way ([Job]), and what other nodes have free
// ([PeerCapacity]). It decides and sends nothing; pool does.
package schedule
