package main

import (
	"context"

	"troupe/persistence"
)

// watchSealed finds records that the key does not open. Worker nodes keep none.
func (s *service) watchSealed(seal *persistence.Seal) {
	if s.Cluster.worker() {
		return
	}
	s.sealing = seal
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		persistence.SealedRecords{Store: s.store, Files: s.files, Seal: seal}.Watch(ctx, s.log)
	}()
	s.ends = append(s.ends, func() error { cancel(); <-done; return nil })
}
