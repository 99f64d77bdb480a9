package testkit

import (
	"context"

	"troupe/actors/api"
)

// Ask has the node carry out a verb, as [api.Ask] does, and fails the test where it
// does not.
func Ask[R any](k *Kit, m api.Request[R]) *R {
	k.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := api.Ask(ctx, k.Node, m)
	if err != nil {
		k.T.Fatalf("%T: %v", m, err)
	}
	return r
}

// AddWorker adds a worker, as the operator does, and waits until it has a
// browser. An empty owner is the shared pool.
func (k *Kit) AddWorker(name, owner string) api.WorkerInfo {
	k.T.Helper()
	w := Ask(k, &api.AddWorker{Name: name, Owner: owner}).Worker
	k.Until(w.ID, api.Online)
	return w
}
