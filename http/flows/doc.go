// Package flows is the stored flows of an account as clients and operators see them:
// each is a list of actions with parameters, under a name, in versions.
package flows
