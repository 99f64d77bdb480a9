package http

import (
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// by names an account to the actors.
func by(a persistence.Account) api.Account {
	return api.Account{ID: a.ID, Plan: engine.Plan(a.Plan)}
}
