// Package answer has the shapes of the service's answers and the table of codes.
//
// The edge, the operator's commands and live streams all answer clients: what they
// send is declared here once, so that none of them imports another. The one table
// from codes to statuses is in codes.go, and each answer that is an error is made
// from it.
package answer
