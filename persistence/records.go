package persistence

import "time"

// Account is an account that tasks run for.
type Account struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Plan    string    `json:"plan"`
	Created time.Time `json:"created"`
	// Operator says that its tokens may give the operator's commands over HTTP.
	Operator bool `json:"operator,omitempty"`
	// Removed is when it was deleted. The record stays until the rest of the
	// account is removed too, and only [Accounts.Removed] shows it.
	Removed time.Time `json:"removed,omitzero"`
	// Sites are those of the token that the account was looked up by; nil: any. The
	// account's record has none.
	Sites []string `json:"-"`
}

// Token lets its bearer act for an account. The token itself is never kept.
type Token struct {
	ID      string    `json:"id"` // names the token to people; not secret
	Account string    `json:"account"`
	Hash    []byte    `json:"hash"` // SHA-256 of the token
	Created time.Time `json:"created"`
	Issued  *Issuer   `json:"issuedBy,omitempty"` // nil: by a version that did not record it
	// Sites bound the pages of all tasks that are sent with the token; nil: any.
	Sites []string `json:"sites,omitempty"`
}
