// Package api holds what can be asked of the actors: the messages, their replies,
// and the types that they share. All of it is plain data with JSON names of its
// own, because messages cross from one node to another.
//
// Each message that has one reply is a verb, and each verb is defined in one file:
// its message, its reply, its number between nodes, which nodes it goes to, and
// what is answered when its handling panics. See [Verb]. The codec between nodes,
// the forwarding, the answers to panics and the calls in tests follow from that.
package api
