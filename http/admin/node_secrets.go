package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// NodeSecrets is what the commands need of the secrets that nodes know each other by.
type NodeSecrets interface {
	// ShowSecrets returns the secrets in use and those of the file.
	ShowSecrets() NodeSecretsShown
	// ReloadSecrets reads the file again. A secret that is no longer in it is dropped only
	// if drop is set: connections to the other nodes are opened again for that.
	ReloadSecrets(ctx context.Context, drop bool) (NodeSecretsReloaded, error)
}

// ErrDropsSecret is the error of a reload that would end connections.
var ErrDropsSecret = errors.New("a secret in use is no longer in the file. Connections to the other nodes may have begun with it, and are opened again, " +
	"which takes some seconds: drain this node first (troupe drain --wait 2m), and resume it afterwards. With --now it happens at once, and tasks that run for other nodes can be lost")

// ShowNodeSecrets shows which secrets the node knows other nodes by: never the secrets,
// only names made from them.
type ShowNodeSecrets struct{}

// NodeSecretsShown answers it, the node's own secret first.
type NodeSecretsShown struct {
	Node    string   `json:"node"`
	Secrets []string `json:"secrets"`
	File    []string `json:"file"`
	Reason  string   `json:"reason,omitempty"` // why the file cannot be used
}

func (ShowNodeSecrets) path() string { return "/cluster/secret/show" }

// Do is part of [Command].
func (ShowNodeSecrets) Do(_ context.Context, o *Admin) (NodeSecretsShown, error) {
	if o.NodeSecrets == nil {
		return NodeSecretsShown{}, errors.New("the service is not a node of a cluster")
	}
	return o.NodeSecrets.ShowSecrets(), nil
}

// ReloadNodeSecrets reads the file with the secrets again.
type ReloadNodeSecrets struct {
	Now bool `json:"now,omitempty"` // also if the node is not drained
}

// NodeSecretsReloaded answers it.
type NodeSecretsReloaded struct {
	Node     string   `json:"node"`
	Secrets  []string `json:"secrets"` // in use now, the node's own first
	Added    []string `json:"added,omitempty"`
	Dropped  []string `json:"dropped,omitempty"`
	Resealed int      `json:"resealed"`
	Lost     int      `json:"lost,omitempty"` // sealed records that no secret opens
	// Unreadable counts them by the prefixes of their keys.
	Unreadable []PrefixCount `json:"unreadable,omitempty"`
	Silent     []string      `json:"silent,omitempty"` // addresses of nodes that did not answer
}

// PrefixCount counts records by the prefix of their keys.
type PrefixCount struct {
	Prefix string `json:"prefix"`
	Count  int    `json:"count"`
}

func (ReloadNodeSecrets) path() string { return "/cluster/secret/reload" }

func (ReloadNodeSecrets) takes() time.Duration { return time.Hour }

// detail is for the audit log.
func (r NodeSecretsReloaded) detail() string {
	return fmt.Sprintf("secrets %s; added %s; dropped %s", listed(r.Secrets), listed(r.Added), listed(r.Dropped))
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}

// Do is part of [Command].
func (r ReloadNodeSecrets) Do(ctx context.Context, o *Admin) (NodeSecretsReloaded, error) {
	if o.NodeSecrets == nil {
		return NodeSecretsReloaded{}, errors.New("the service is not a node of a cluster")
	}
	drop := r.Now
	if !drop {
		now, err := o.pause(ctx, "", nil)
		if err != nil {
			return NodeSecretsReloaded{}, err
		}
		drop = now.Draining
	}
	return o.NodeSecrets.ReloadSecrets(ctx, drop)
}
