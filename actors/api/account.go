package api

import "troupe/engine"

// Account is on whose behalf a message is sent.
type Account struct {
	ID   string      `json:"ID"`
	Plan engine.Plan `json:"Plan"`
}
