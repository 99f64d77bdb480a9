package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"troupe/actors"
	"troupe/http/admin"
	"troupe/persistence"
)

type clusterImport struct {
	operator
	From string `required:"" help:"Data folder of the single node." placeholder:"DIR"`
}

// Run lets the running node bring what another one has left: it alone has the
// cluster's store and its key.
func (c *clusterImport) Run(w *environment) error {
	from, err := findData(c.From)
	if err != nil {
		return usageError{err}
	}
	imported, err := sendCommand(w, c.operator, admin.ImportData{From: from})
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return c.print(w, imported, func(out io.Writer) {
		var list []string
		for _, n := range []struct {
			one, many string
			n         int
		}{
			{"account", "accounts", imported.Accounts}, {"token", "tokens", imported.Tokens}, {"secret", "secrets", imported.Secrets}, {"flow", "flows", imported.Flows}, {"profile", "profiles", imported.Profiles},
			{"daily count", "daily counts", imported.Counts}, {"asynchronous task", "asynchronous tasks", imported.Tasks},
			{"answer to a key", "answers to keys", imported.Answers}, {"session", "sessions", imported.Sessions},
			{"worker", "workers", imported.Workers}, {"file", "files", imported.Files},
		} {
			switch {
			case n.n == 1:
				list = append(list, "1 "+n.one)
			case n.n > 1:
				list = append(list, fmt.Sprintf("%d %s", n.n, n.many))
			}
		}
		if list == nil {
			list = []string{"nothing new"}
		}
		fmt.Fprintf(out, "Imported: %s.\n", strings.Join(list, ", "))
		if imported.Present > 0 {
			fmt.Fprintf(out, "Already there and unchanged: %d.\n", imported.Present)
		}
		if imported.Workers > 0 {
			fmt.Fprintln(out, "The workers start with the next start of this node.")
		}
		for _, what := range imported.Left {
			fmt.Fprintf(out, "Not imported: %s.\n", what)
		}
	})
}

// importer brings data of single nodes into the cluster; nil without a cluster.
func (s *service) importer() func(context.Context, string) (*actors.Imported, error) {
	if s.member == nil {
		return nil
	}
	return func(ctx context.Context, from string) (imported *actors.Imported, err error) {
		old, end, err := openOffline(from)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, end()) }()
		seal, err := s.seal()
		if err != nil {
			return nil, err
		}
		return actors.Import(ctx, *old, actors.Config{Store: s.store, Files: s.files, Seal: seal, Node: s.Cluster.Node, Log: s.log})
	}
}

// openOffline opens the data of a service that does not run. It repairs nothing: a
// damaged store is a matter of its own service.
func openOffline(dir string) (e *actors.OfflineData, end func() error, err error) {
	switch _, err := os.Stat(storeIn(dir)); {
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Stat(clusterIn(dir)); err == nil {
			return nil, nil, fmt.Errorf("%s is the data folder of a node of a cluster: the data of a single node is in store/ and files/", dir)
		}
		return nil, nil, fmt.Errorf("there is no data of a service in %s: name the data folder of the single node", dir)
	case err != nil:
		return nil, nil, fmt.Errorf("look at the data folder: %w", err)
	}
	if err := persistence.CheckCopied(storeIn(dir)); err != nil {
		return nil, nil, err
	}
	switch err := persistence.CheckBadger(storeIn(dir)); {
	case errors.Is(err, persistence.ErrInUse):
		return nil, nil, fmt.Errorf("a service runs with the data folder %s: stop it first", dir)
	case err != nil:
		return nil, nil, fmt.Errorf("the store in %s is damaged: %w", dir, err)
	}
	var seal *persistence.Seal
	if _, err := os.Stat(keyIn(dir)); err == nil { // else what it has closed is lost, and a new key would not help
		if seal, err = persistence.OpenSeal(keyIn(dir)); err != nil {
			return nil, nil, err
		}
	}
	store, err := persistence.OpenBadger(storeIn(dir), persistence.Options{})
	if err != nil {
		return nil, nil, err
	}
	files, err := persistence.OpenFolder(filesIn(dir))
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return &actors.OfflineData{Store: store, Files: files, Seal: seal}, func() error { return errors.Join(files.Close(), store.Close()) }, nil
}
