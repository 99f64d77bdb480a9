package actors

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"troupe/actors/api"
	"troupe/actors/records"
)

// specOf is what a worker that was added starts from.
func specOf(w records.Worker) api.WorkerSpec {
	return api.WorkerSpec{ID: w.ID, Name: w.Name, Owner: w.Owner, Added: true}
}

// MaxWorkers is how many workers a node may have.
const MaxWorkers = 512

var (
	workerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	// sharedName matches what SharedWorkers calls its workers.
	sharedName = regexp.MustCompile(`(^|-)worker-[0-9]+$`)
)

// Errors for operators.
const (
	stopping  = "the service is stopping"
	ownerGone = "the account was removed"
)

var tooMany = fmt.Sprintf("there are %d workers, and there can be no more", MaxWorkers)

func noWorker(name string) string { return fmt.Sprintf("there is no worker %q", name) }

func nameTaken(name string) string { return fmt.Sprintf("there is a worker %q already", name) }

// CheckWorkerName says what is wrong with a name for a worker that is added.
func CheckWorkerName(name string) error {
	switch {
	case !workerName.MatchString(name):
		return fmt.Errorf("the name %q is not 1 to 64 of letters, digits and . _ -, beginning with a letter or a digit", name)
	case sharedName.MatchString(name):
		return fmt.Errorf("names such as %q belong to the workers that come with the service: choose another one", name)
	}
	return nil
}

// recoverWorkers adds the workers of earlier times to those of the configuration.
func (n *nodeParts) recoverWorkers(ctx context.Context) error {
	added, err := n.records.Workers(ctx, func(w records.Worker) bool { return w.Node == n.cfg.Node })
	if err != nil {
		return err
	}
	all := slices.Clone(n.cfg.Workers)
	for _, w := range added {
		all = append(all, specOf(w))
	}
	if err := checkWorkers(all); err != nil {
		return fmt.Errorf("add the workers of the store to those of the configuration: %w", err)
	}
	n.cfg.Workers = all
	return nil
}
