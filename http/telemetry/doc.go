// Package telemetry tells operators what the service does: in numbers, and in
// traces where they ask for them.
//
// It does not change what it observes: the edge reports refusals, a wrapper around the
// engine sees browsers and tasks, and the node's numbers are read when a client fetches
// the metrics. Labels have few values: codes, plans,
// names of actions, states. Never a token, an address or an account.
package telemetry
