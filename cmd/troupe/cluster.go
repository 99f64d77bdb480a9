package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/cluster"
	"troupe/cluster/member"
	"troupe/cluster/store"
	"troupe/http"
	"troupe/http/admin"
	"troupe/http/live"
	"troupe/persistence"
)

// clustering is how the service is one with others, as flags.
type clustering struct {
	Role              string   `help:"What this node is for: store (keeps the shared records, has no workers), worker (has workers, keeps nothing, comes and goes) or both. Default: both." placeholder:"ROLE"`
	ClusterListen     string   `help:"Address on which the other nodes of the cluster reach this one. Default: no cluster." placeholder:"HOST:PORT"`
	ClusterWorkers    string   `name:"cluster-workers-listen" help:"Address on which worker nodes reach this one. Default: it accepts none." placeholder:"HOST:PORT"`
	ClusterPeers      []string `help:"Addresses of all nodes of the cluster, including this one: three or more. For a worker node: where the others accept worker nodes." placeholder:"HOST:PORT"`
	ClusterSecretFile string   `help:"File with the secret that all nodes share. Further lines are accepted too, while it changes." placeholder:"FILE"`
	ClusterCert       string   `help:"Certificate of this node (PEM), signed by your own authority. Default: made from the secret." placeholder:"FILE"`
	ClusterKey        string   `help:"Key of that certificate (PEM)." placeholder:"FILE"`
	ClusterCA         string   `name:"cluster-ca" help:"Certificate of the authority that signs all nodes' certificates (PEM)." placeholder:"FILE"`
	ClusterUnsynced   bool     `help:"Acknowledge writes before they are on disk. Faster, but a power loss at a majority of nodes loses the last writes."`
	ClusterDamaged    bool     `help:"Start with the readable part of a damaged copy, when no node has an undamaged one. For one start only." env:"-"`
	Node              string   `help:"Name of this node in the cluster. It cannot be changed later." placeholder:"NAME"`
}

// on reports whether there are other nodes.
func (c *clustering) on() bool {
	return c.ClusterListen != "" || len(c.ClusterPeers) > 0 || c.ClusterSecretFile != "" || c.Node != "" ||
		c.Role != "" || c.ClusterWorkers != "" || c.ClusterCert != "" || c.ClusterKey != "" || c.ClusterCA != "" || c.ClusterUnsynced
}

// lease is how long a node that is not heard of keeps its sessions. Most elections
// of a leader, in which nobody can renew it, are over before.
func (c *clustering) lease() time.Duration {
	if c.on() {
		return 11 * time.Second
	}
	return 0
}

var nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func (c *clustering) check() error {
	if !c.on() {
		return nil
	}
	var missing []string
	for _, f := range []struct {
		flag  string
		given bool
	}{
		{"--cluster-listen", c.ClusterListen != "" || c.worker()}, {"--cluster-peers", len(c.ClusterPeers) > 0},
		{"--cluster-secret-file", c.ClusterSecretFile != ""}, {"--node", c.Node != ""},
	} {
		if !f.given {
			missing = append(missing, f.flag)
		}
	}
	if missing != nil {
		return usage("a node of a cluster also needs %s", strings.Join(missing, " and "))
	}
	if !nodeName.MatchString(c.Node) {
		return usage("--node is %q: want 1 to 63 small letters, digits and hyphens, such as node-1", c.Node)
	}
	if _, err := os.Stat(c.ClusterSecretFile); err != nil {
		return usage("read --cluster-secret-file: %w", err)
	}
	if own := c.ClusterCert != ""; own != (c.ClusterKey != "") || own != (c.ClusterCA != "") {
		return usage("--cluster-cert, --cluster-key and --cluster-ca belong together: give all three, or none, and nodes make certificates from their secret")
	}
	if err := c.config("data").Check(); err != nil {
		return usageError{err}
	}
	return nil
}

// config is what the flags say, for a node that keeps what is stored in a data
// folder.
func (c *clustering) config(data string) member.Config {
	return member.Config{
		Name: c.Node, Listen: c.ClusterListen, Peers: c.ClusterPeers, SecretFile: c.ClusterSecretFile,
		CertFile: c.ClusterCert, KeyFile: c.ClusterKey, CAFile: c.ClusterCA, Dir: clusterIn(data), Unsynced: c.ClusterUnsynced,
		Damaged: c.ClusterDamaged, Role: member.Role(c.Role), Workers: c.ClusterWorkers,
	}
}

// worker reports whether the node keeps nothing and comes and goes.
func (c *clustering) worker() bool { return c.Role == string(member.Worker) }

// checkRole looks at what the node is for. The number is that of its workers, if it is
// given.
func (c *clustering) checkRole(workers *int) error {
	switch member.Role(c.Role) {
	case "", member.Both:
	case member.Store:
		if workers != nil && *workers != 0 {
			return usage("--role store has no workers, and --workers is %d: omit it, or use --role both", *workers)
		}
	case member.Worker:
		switch {
		case workers != nil && *workers == 0:
			return usage("--role worker is for nodes with workers, and --workers is 0: use --role store for a node without browsers")
		case c.ClusterListen != "" || c.ClusterWorkers != "":
			return usage("--role worker has no port for other nodes: omit --cluster-listen and --cluster-workers-listen")
		case c.ClusterUnsynced || c.ClusterDamaged:
			return usage("--role worker keeps nothing: omit --cluster-unsynced and --cluster-damaged")
		}
	default:
		return usage("--role is %q: want both, store or worker", c.Role)
	}
	return nil
}

// How long a start may take: of what is between the nodes, and until a majority
// of them is there. Nodes are started one after another, by people too.
const (
	joinTimeout     = 30 * time.Second
	majorityTimeout = 10 * time.Minute
)

// openStore opens what outlives the process: on this machine, or on all nodes of
// the cluster.
func (s *service) openStore(ctx context.Context) (err error) {
	if s.Cluster.on() {
		return s.join(ctx)
	}
	if err := s.Resets.store(s); err != nil {
		return err
	}
	if err := s.acceptCopy(storeIn(s.data)); err != nil {
		return err
	}
	var closes func() error
	if s.disk, closes, err = openDisk(s.data, s.log); err != nil {
		return err
	}
	late := persistence.NewLate(s.disk)
	s.ends = append(s.ends, func() error {
		if err := late.Close(); err != nil {
			return err
		}
		return closes()
	})
	s.store = late
	s.accounts = persistence.NewAccounts(s.store)
	s.tokenAccounts = s.accounts
	if s.S3.on() {
		files, err := s.openStorage(ctx)
		s.account(files)
		return err
	}
	folder, err := persistence.OpenFolder(filesIn(s.data))
	if err != nil {
		return err
	}
	s.ends = append(s.ends, folder.Close)
	s.account(folder)
	return nil
}

// openStorage opens the storage for files that the flags name.
func (s *service) openStorage(ctx context.Context) (persistence.Files, error) {
	files, err := s.S3.open(ctx)
	if err != nil {
		return nil, usage("--s3-endpoint: %w", err)
	}
	return files, nil
}

// join makes the service a node of its cluster.
func (s *service) join(ctx context.Context) (err error) {
	soon, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	cfg := s.Cluster.config(s.data)
	cfg.Log = s.log
	if err := s.Resets.copy(s); err != nil {
		return err
	}
	if err := s.acceptCopy(s.data); err != nil {
		return err
	}
	if err := persistence.CheckCopied(s.data); err != nil {
		return copiedNode(s.data, err)
	}
	s.member, err = member.Join(soon, cfg)
	if errors.Is(err, persistence.ErrDamaged) {
		return damagedCopy(s.data, err)
	}
	if err != nil {
		return usage("join the cluster: %w", err)
	}
	closes, err := used(s.data, s.member.Close, s.log)
	if err != nil {
		return err
	}
	s.ends = append(s.ends, closes)
	if s.Cluster.worker() {
		s.log.Info().Str("node", s.Cluster.Node).Strs("peers", s.Cluster.ClusterPeers).Msg("connecting to a node that keeps the shared records")
	} else {
		s.log.Info().Str("node", s.Cluster.Node).Msg("waiting for other nodes: the first start of a cluster needs all of them, each later one a majority")
	}
	wait, enough := context.WithTimeout(ctx, majorityTimeout)
	defer enough()
	shared, err := store.Open(wait, s.member, hot...)
	if err != nil {
		return fmt.Errorf("join the cluster: %w", err)
	}
	s.ends = append(s.ends, shared.Close)
	s.store, s.shared = shared, shared
	s.accounts = persistence.NewAccounts(shared)
	s.cached = shared.Cached()
	s.tokenAccounts = persistence.NewAccounts(s.cached)
	var files persistence.Files
	if s.S3.on() {
		files, err = s.openStorage(ctx)
	} else {
		files, err = store.OpenFiles(wait, shared)
	}
	if err != nil {
		return fmt.Errorf("join the cluster: %w", err)
	}
	s.account(files)
	s.router, err = cluster.NewRouter(cluster.RouterConfig{
		Conn: s.member.Conn(), Node: s.Cluster.Node, Version: ownVersion(), Uploads: forwardedIn(s.data), Log: s.log, Store: s.ownHealth, Role: s.Cluster.Role,
		Members: s.member.Members, Hub: s.hub(), Digests: s.member.Accepts(),
	})
	return err
}

// hot are the records that every request needs: each node has them in memory.
var hot = []string{"account/", "token/", "token-event/", "secret/"}

// leadsStore asks whether this node leads the shared records; nil: there are none.
func (s *service) leadsStore() func() bool {
	if s.shared == nil {
		return nil
	}
	return s.shared.Leads
}

// counts is where tasks are counted: by this node alone, or by all of them, each
// with a share of every account's day.
func (s *service) counts() *persistence.Usage {
	if s.member == nil {
		return persistence.NewUsage(s.store)
	}
	return persistence.NewSharedUsage(s.store, persistence.QuotaSharing{
		Nodes: s.member.Size(), Majority: s.member.Majority, Recent: s.shared.Copy().Get, Elsewhere: s.router.Held,
		Count: s.countNodes(), WorkerNode: s.Cluster.worker(),
	})
}

// hub is the node that a worker node is connected to; nil: this is none.
func (s *service) hub() func() string {
	if !s.member.Attached() {
		return nil
	}
	return s.member.Hub
}

// countNodes counts the nodes among which a day is shared; nil: as many as there are to be.
func (s *service) countNodes() func() int {
	if s.Cluster.Role == "" && s.Cluster.ClusterWorkers == "" {
		return nil
	}
	return s.router.Count
}

// seal closes what is secret in the store: with a key of this machine, or with
// one that all nodes have.
func (s *service) seal() (*persistence.Seal, error) {
	if s.member == nil {
		if err := s.Resets.key(s); err != nil {
			return nil, err
		}
		return openKey(s.data, s.store)
	}
	keys, err := s.member.Keys("seal")
	if err != nil {
		return nil, fmt.Errorf("make the keys for secrets: %w", err)
	}
	return persistence.NewSeal(keys[0], keys[1:]...)
}

// changes is called for each change of a worker; nil: nothing is.
func (s *service) changes() func(api.WorkerInfo) {
	if s.router == nil {
		return nil
	}
	return s.router.Changed
}

// actors are those of this node, or of all nodes of the cluster.
func (s *service) actors() http.Actors {
	if s.router == nil {
		return s.node
	}
	return s.router
}

// adminActors is what operator commands run on.
func (s *service) adminActors() admin.Actors {
	if s.router == nil {
		return s.node
	}
	return s.router
}

// live is what can be looked at while it goes on.
func (s *service) live() live.Source {
	if s.router == nil {
		return s.node
	}
	return s.router
}

// otherNodes are the other nodes; nil: there are none.
func (s *service) otherNodes() http.OtherNodes {
	if s.router == nil {
		return nil
	}
	return s.router
}

// tickets is where tickets and links are kept that hold at all nodes; nil: those
// of one node end with it.
func (s *service) tickets() persistence.Store {
	if s.shared == nil {
		return nil
	}
	return s.shared
}

// announce lets the other nodes know of this one, once it can answer them.
func (s *service) announce() error {
	if s.router == nil {
		return nil
	}
	if err := s.router.Open(s.node, s.edge); err != nil {
		return fmt.Errorf("meet the other nodes: %w", err)
	}
	s.ends = append(s.ends, func() error { s.router.Close(); return nil })
	return nil
}

// leave lets this node's clients have their answers from others, for what is left
// of the grace, and tells the other nodes that it goes.
func (s *service) leave(forced context.Context, began time.Time) {
	if s.router != nil {
		s.router.Finish(forced, s.Grace-time.Since(began))
		s.router.Close()
	}
}
