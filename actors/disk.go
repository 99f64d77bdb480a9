package actors

import (
	"context"

	"troupe/actors/api"
)

// onDisk reads or changes what is on disk, outside of the mailbox, and then calls
// then.
func (n *nodeParts) onDisk(f func(context.Context) error, then func(error)) {
	n.background.Go(func() { n.onDiskNow(f, then) })
}

// onDiskNow is onDisk for a caller that is outside of a mailbox already. The time
// that it may take begins now.
func (n *nodeParts) onDiskNow(f func(context.Context) error, then func(error)) {
	ctx, cancel := context.WithTimeout(context.Background(), api.WriteTimeout)
	defer cancel()
	err := protect(func() error { return f(ctx) })
	if then != nil {
		then(err)
	} else if err != nil {
		n.log.Error().Err(err).Msg("record not changed")
	}
}
