package main

import (
	"context"
	"errors"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// notices are what the operator has to know although the service runs. Who
// may ask for them sees no more of the disk than the name of one folder.
func (s *service) notices() (all []string) {
	if no := s.launches.notice(); no != "" {
		all = append(all, no)
	}
	if s.disk == nil {
		all = append(all, s.clusterNotices()...)
	}
	return all
}

// accountNow finds an account as it is now.
func (s *service) accountNow(ctx context.Context, id string) (api.Account, error) {
	a, err := s.accounts.Get(ctx, id)
	return api.Account{ID: a.ID, Plan: engine.Plan(a.Plan)}, err
}

// blocked says why nothing can be written down now; empty: it can.
func (s *service) blocked() string {
	if s.disk == nil {
		return ""
	}
	switch err := s.usage.Ready(); {
	case err == nil:
		return ""
	case errors.Is(err, persistence.ErrFull):
		return "the disk of the data folder is nearly full: tasks are refused until there is space"
	case errors.Is(err, persistence.ErrFailed):
		return "the disk of the data folder has failed: tasks are refused until the service is restarted; see the log"
	}
	return "the data folder accepts no new files: tasks are refused until it does; see the log"
}
