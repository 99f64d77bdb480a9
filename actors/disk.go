package actors

import (
	"context"

	"troupe/actors/api"
)

// beside reads or changes what is on disk beside the mailbox, and says when that
// is over.
func (n *nodeParts) beside(f func(context.Context) error, then func(error)) {
	n.goes.Go(func() { n.change(f, then) })
}

// change is beside for whoever is beside the mailbox already. The time that it
// may take begins now.
func (n *nodeParts) change(f func(context.Context) error, then func(error)) {
	ctx, cancel := context.WithTimeout(context.Background(), api.WriteTimeout)
	defer cancel()
	err := protect(func() error { return f(ctx) })
	if then != nil {
		then(err)
	} else if err != nil {
		n.log.Error().Err(err).Msg("record not changed")
	}
}
