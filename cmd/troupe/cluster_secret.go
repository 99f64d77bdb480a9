package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"troupe/http/admin"
	"troupe/persistence"
)

type clusterSecret struct {
	Show   clusterSecretShow   `cmd:"" help:"Show which secrets this node uses, and which its file has, by short names."`
	Reload clusterSecretReload `cmd:"" help:"Read the file with the secrets again. Do this on each node after each step of a change."`
}

type clusterSecretShow struct{ operator }

func (c *clusterSecretShow) Run(w *environment) error {
	now, err := sendCommand(w, c.operator, admin.ShowNodeSecrets{})
	if err != nil {
		return fmt.Errorf("show the nodes' secrets: %w", err)
	}
	return c.print(w, now, func(out io.Writer) {
		rows := [][]string{{"SECRET", "IN USE", "IN THE FILE"}}
		for _, name := range union(now.Secrets, now.File) {
			rows = append(rows, []string{name, placeOf(name, now.Secrets), placeOf(name, now.File)})
		}
		table(out, rows)
		if now.Reason != "" {
			fmt.Fprintf(out, "\nThe file cannot be used: %s\n", now.Reason)
		}
	})
}

// placeOf says what a secret is for, by its place in a list.
func placeOf(name string, list []string) string {
	for i, other := range list {
		switch {
		case other != name:
		case i == 0:
			return "own"
		default:
			return "accepted"
		}
	}
	return "no"
}

func union(a, b []string) (all []string) {
	for _, name := range append(append(all, a...), b...) {
		if placeOf(name, all) == "no" {
			all = append(all, name)
		}
	}
	return all
}

type clusterSecretReload struct {
	operator
	Now bool `help:"Drop a secret also if this node is not drained. Tasks that run for other nodes can be lost."`
}

func (c *clusterSecretReload) Run(w *environment) error {
	done, err := sendCommand(w, c.operator, admin.ReloadNodeSecrets{Now: c.Now})
	if err != nil {
		return fmt.Errorf("reload the nodes' secrets: %w", err)
	}
	return c.print(w, done, func(out io.Writer) {
		fmt.Fprintf(out, "The node %s uses the secret %s", done.Node, done.Secrets[0])
		if rest := done.Secrets[1:]; len(rest) > 0 {
			fmt.Fprintf(out, " and accepts %s", strings.Join(rest, ", "))
		}
		fmt.Fprintln(out, ".")
		if len(done.Dropped) > 0 {
			fmt.Fprintf(out, "It refuses %s. Its connections to the other nodes are new.\n", strings.Join(done.Dropped, ", "))
		}
		if done.Resealed > 0 {
			fmt.Fprintf(out, "Records sealed again: %d.\n", done.Resealed)
		}
		if done.Lost > 0 {
			fmt.Fprintf(out, "Records that no secret in the file opens: %d. They were sealed with a secret of an earlier time.\n", done.Lost)
			for _, c := range done.Unreadable {
				fmt.Fprintf(out, "  %s  %d\n", c.Prefix, c.Count)
			}
		}
		for _, address := range done.Silent {
			fmt.Fprintf(out, "%s did not answer: give its node the same file before it starts.\n", address)
		}
	})
}

// nodeSecrets changes the secrets of this node while it runs.
type nodeSecrets struct {
	s    *service
	seal *persistence.Seal // of all that the service keeps sealed
	mu   sync.Mutex        // one change at a time
}

// ShowSecrets is part of [admin.NodeSecrets].
func (n *nodeSecrets) ShowSecrets() admin.NodeSecretsShown {
	shown := admin.NodeSecretsShown{Node: n.s.Cluster.Node, Secrets: n.s.member.SecretsNow(), File: []string{}}
	change, err := n.s.member.ReadSecrets()
	if err != nil {
		shown.Reason = err.Error()
		return shown
	}
	shown.File = change.Names()
	return shown
}

// ReloadSecrets is part of [admin.NodeSecrets].
func (n *nodeSecrets) ReloadSecrets(ctx context.Context, drop bool) (r admin.NodeSecretsReloaded, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change, err := n.s.member.ReadSecrets()
	if err != nil {
		return r, fmt.Errorf("%w. Nothing was changed", err)
	}
	r = admin.NodeSecretsReloaded{Node: n.s.Cluster.Node, Secrets: change.Names(), Added: change.Added(), Dropped: change.Dropped()}
	if len(r.Dropped) > 0 && !drop {
		return r, admin.ErrDropsSecret
	}
	if r.Silent, err = change.Try(ctx); err != nil {
		return r, fmt.Errorf("%w. Nothing was changed", err)
	}
	// While records are sealed again, all that any secret has sealed can be read.
	if err := n.use(change.Keys("seal")); err != nil {
		return r, err
	}
	if err := change.Use(); err != nil {
		return r, err
	}
	sealed, err := n.reseal(ctx, len(r.Dropped) > 0)
	r.Resealed = sealed.Records
	for _, c := range sealed.Lost {
		r.Lost += c.Count
		r.Unreadable = append(r.Unreadable, admin.PrefixCount(c))
	}
	if err != nil {
		return r, fmt.Errorf("%w. Keep the old secret in the file, and run the command again", errors.Join(err, change.Undrop()))
	}
	if len(r.Dropped) > 0 {
		if err := n.use(n.s.member.Keys("seal")); err != nil {
			return r, err
		}
		if err := change.Reconnect(ctx); err != nil {
			return r, fmt.Errorf("connect to the other nodes again: %w. Restart this node", err)
		}
	}
	n.s.log.Info().Str("own", r.Secrets[0]).Strs("accepted", r.Secrets[1:]).Strs("dropped", r.Dropped).Int("resealed", r.Resealed).
		Msg("the nodes' secrets were read again")
	return r, nil
}

func (n *nodeSecrets) use(keys [][]byte, err error) error {
	if err != nil {
		return fmt.Errorf("make the keys of the nodes' secrets: %w", err)
	}
	return n.seal.Use(keys[0], keys[1:]...)
}

// reseal seals all records with the first secret. With drop it also makes sure that no
// record needs another one.
func (n *nodeSecrets) reseal(ctx context.Context, drop bool) (persistence.Resealed, error) {
	all := persistence.SealedRecords{Store: n.s.store, Files: n.s.files, Seal: n.seal}
	done, err := all.Reseal(ctx)
	n.s.secrets.Forget()
	if err != nil {
		return done, fmt.Errorf("%w. Some records are not sealed with the new secret", err)
	}
	if !drop {
		return done, nil
	}
	old, err := all.OnlyOld(ctx)
	if err == nil && len(old) > 0 {
		err = fmt.Errorf("only the old secret opens %s", byPrefix(old))
	}
	return done, err
}

// byPrefix names records by the prefix of their keys.
func byPrefix(all []persistence.PrefixCount) string {
	var parts []string
	for _, c := range all {
		parts = append(parts, fmt.Sprintf("%d under %s", c.Count, c.Prefix))
	}
	return "records: " + strings.Join(parts, ", ")
}
