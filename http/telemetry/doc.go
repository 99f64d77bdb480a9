// Package telemetry tells operators what the service does: in numbers, and in
// traces where they ask for them.
//
// It changes nothing for those it tells of: it hears of refusals from the edge,
// of browsers and tasks by standing between the actors and the engine, and reads
// the node's numbers when somebody asks. Labels have few values: codes, plans,
// names of actions, states. Never a token, an address or an account.
package telemetry
