// Package lease keeps the lease under which a node uses its sessions, and follows
// those of the other nodes: two nodes never use one session at once. The rules are
// in rules.go, without a clock or a store; the model test plays them with frozen
// nodes and clocks that run apart.
package lease
