package actors

import (
	"context"

	"troupe/actors/records"
	"troupe/persistence"
)

// Reseal seals what the actors keep sealed with the key in use, where another one has
// sealed it. The actors may run.
func Reseal(ctx context.Context, cfg Config) (persistence.Resealed, error) {
	r, err := records.Open(cfg.records())
	if err != nil {
		return persistence.Resealed{}, err
	}
	defer r.Close()
	return r.Reseal(ctx)
}
