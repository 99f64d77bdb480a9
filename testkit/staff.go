package testkit

import (
	"context"
	"time"

	"troupe/actors"
)

// AddWorker adds a worker, as the operator does, and waits until it has a
// browser. An empty owner is the shared pool.
func (k *Kit) AddWorker(name, owner string) actors.WorkerInfo {
	k.T.Helper()
	w := k.operate("add "+name, func(ctx context.Context) (actors.WorkerInfo, error) {
		return k.Node.AddWorker(ctx, &actors.AddWorker{Name: name, Owner: owner})
	})
	k.Until(w.ID, actors.Online)
	return w
}

// DrainWorker tells a worker to take no more tasks, and ResumeWorker takes that
// back. Neither waits for more.
func (k *Kit) DrainWorker(worker string) actors.WorkerInfo {
	k.T.Helper()
	return k.operate("drain "+worker, func(ctx context.Context) (actors.WorkerInfo, error) {
		return k.Node.DrainWorker(ctx, &actors.DrainWorker{Worker: worker})
	})
}

// ResumeWorker is part of [Kit.DrainWorker].
func (k *Kit) ResumeWorker(worker string) actors.WorkerInfo {
	k.T.Helper()
	return k.operate("resume "+worker, func(ctx context.Context) (actors.WorkerInfo, error) {
		return k.Node.ResumeWorker(ctx, &actors.ResumeWorker{Worker: worker})
	})
}

// RemoveWorker removes a worker that was added, and waits until it is gone.
func (k *Kit) RemoveWorker(worker string, grace time.Duration) actors.WorkerInfo {
	k.T.Helper()
	return k.operate("remove "+worker, func(ctx context.Context) (actors.WorkerInfo, error) {
		return k.Node.RemoveWorker(ctx, &actors.RemoveWorker{Worker: worker, Grace: grace})
	})
}

func (k *Kit) operate(what string, f func(context.Context) (actors.WorkerInfo, error)) actors.WorkerInfo {
	k.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w, err := f(ctx)
	if err != nil {
		k.T.Fatalf("%s: %v", what, err)
	}
	return w
}

// RemoveAccount ends and erases what an account has, and waits for it.
func (k *Kit) RemoveAccount(a actors.Account) *actors.AccountRemoved {
	k.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := k.Node.RemoveAccount(ctx, &actors.RemoveAccount{Account: a.ID})
	if err != nil {
		k.T.Fatalf("remove account %s: %v", a.ID, err)
	}
	return r
}
