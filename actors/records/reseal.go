package records

import (
	"context"

	"troupe/actors/backlog"
	"troupe/persistence"
)

// sealedPrefixes are those of all records that are sealed.
var sealedPrefixes = []string{StatePrefix, backlog.Prefix, DeadPrefix, BatchPrefix, batchItemPrefix, SchedulePrefix}

// Reseal seals all records with the key in use, where another one has sealed them.
func (r *Store) Reseal(ctx context.Context) (done persistence.Resealed, err error) {
	for _, prefix := range sealedPrefixes {
		some, err := r.Sealed.Reseal(ctx, prefix)
		done.Add(some)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
