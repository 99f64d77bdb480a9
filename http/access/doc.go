// Package access decides who may use the service: whose token a request carries,
// where it comes from, and how much one account may have open at once.
//
// An address that tries tokens is slowed down before any token is looked up.
// The actors and the plan decide what a known account may do.
package access
