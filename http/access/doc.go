// Package access decides who may use the service: whose token a request carries,
// where it comes from, and how much one account may have open at once.
//
// An address that tries tokens is slowed down before any token is looked up.
// What an account may do once it is known is decided by the actors and the plan.
package access
