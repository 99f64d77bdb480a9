package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/cluster"
	"troupe/engine"
	"troupe/http"
	"troupe/persistence"
	"troupe/testkit"
)

// The sides of the measurement without browsers, each in a process of its own.
const (
	edgeSide = "edge" // HTTP, actors and store as the service wires them; browsers that do nothing
	nodeSide = "node" // the same as a node of a cluster
	bareSide = "bare" // a handler that decodes the request and writes the same answer
)

// hollowResult is what every task gives here.
var hollowResult = json.RawMessage(`"Hello, bench"`)

// serveHTTPSide is one side until its standard input is closed. Its first line
// says where it answers and by which token.
func serveHTTPSide(kind, dir string) error {
	switch kind {
	case bareSide:
		return serveUntil(&fasthttp.Server{Handler: bare, NoDefaultServerHeader: true}, "none")
	case nodeSide:
		return serveNode(dir)
	}
	h, err := openEdge(dir)
	if err != nil {
		return err
	}
	defer h.close()
	return h.serve(nil)
}

// edge is what a service without browsers stands on.
type edge struct {
	dir, name     string // the name is empty where there are no other nodes
	workers       int
	lease         time.Duration // of its sessions; zero: nobody else may take them
	store         persistence.Store
	usage         *persistence.Usage
	files         persistence.Files
	seal          *persistence.Seal
	accounts      *persistence.Accounts
	tokenAccounts *persistence.Accounts // for the tokens of requests
	changed       func(api.WorkerInfo)
	log           zerolog.Logger
	ends          []func() error // in the order of their starts
}

func (h *edge) close() {
	for i := len(h.ends) - 1; i >= 0; i-- {
		if err := h.ends[i](); err != nil {
			fmt.Fprintln(os.Stderr, "bench: end a part of a side:", err)
		}
	}
}

// openLog opens what the service writes a line for each task to: that has to be
// paid for here, too.
func (h *edge) openLog() error {
	out, err := os.Create(filepath.Join(h.dir, "log"))
	if err != nil {
		return err
	}
	h.ends = append(h.ends, out.Close)
	h.log = zerolog.New(out).Level(zerolog.InfoLevel).With().Timestamp().Logger()
	return nil
}

// openEdge opens a service of one node.
func openEdge(dir string) (h *edge, err error) {
	h = &edge{dir: dir, workers: 32}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if err := h.openLog(); err != nil {
		return nil, err
	}
	store, err := persistence.OpenBadger(filepath.Join(dir, "store"), persistence.Options{})
	if err != nil {
		return nil, err
	}
	h.ends = append(h.ends, store.Close)
	files, err := persistence.OpenFolder(filepath.Join(dir, "files"))
	if err != nil {
		return nil, err
	}
	h.ends = append(h.ends, files.Close)
	if h.seal, err = persistence.OpenSeal(filepath.Join(dir, "key")); err != nil {
		return nil, err
	}
	h.store, h.files, h.accounts = store, files, persistence.NewAccounts(store)
	h.tokenAccounts, h.usage = h.accounts, persistence.NewUsage(store)
	return h, nil
}

// serve answers until the standard input is closed: with the node's own actors,
// or with those of all nodes.
func (h *edge) serve(team *cluster.Router) error {
	defer h.usage.Close()
	node, err := actors.Start(actors.Config{
		Engine: &testkit.Noop{Outcome: &engine.Outcome{End: engine.EndCompleted, Data: hollowResult}},
		Store:  h.store, Usage: h.usage, Files: h.files, Seal: h.seal, Node: h.name, OnChange: h.changed,
		Session: actors.SessionConfig{Lease: h.lease},
		Workers: actors.SharedWorkers(h.name, h.workers), Log: h.log,
	})
	if err != nil {
		return err
	}
	defer node.Stop()
	token, err := newAccount(h.accounts, "bench", engine.Pro)
	if err != nil {
		return err
	}
	var asked http.Actors = node
	if team != nil {
		asked = team
	}
	edge, err := http.New(http.Config{
		Actors: asked, Auth: h.tokenAccounts, Counts: h.usage, Files: h.files,
		Uploads: filepath.Join(h.dir, "uploads"), Log: h.log,
	})
	if err != nil {
		return err
	}
	defer edge.Shutdown(context.Background())
	if team != nil {
		if err := team.Open(node, edge); err != nil {
			return err
		}
	}
	return serveUntil(edge, token)
}

// newAccount gives the account of a name, made if there is none, a new token.
func newAccount(accounts *persistence.Accounts, name string, plan engine.Plan) (string, error) {
	a, err := accounts.ByName(context.Background(), name)
	if errors.Is(err, persistence.ErrNotFound) {
		a, err = accounts.Create(context.Background(), name, string(plan))
	}
	if errors.Is(err, persistence.ErrNameTaken) { // another node was faster
		a, err = accounts.ByName(context.Background(), name)
	}
	if err != nil {
		return "", err
	}
	token, _, err := accounts.CreateToken(context.Background(), a.ID, persistence.Issuer{})
	return token, err
}

func serveUntil(s interface{ Serve(net.Listener) error }, token string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	fmt.Println(l.Addr(), token)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil
	}
}

// bareAnswer is what a task is answered with, to the byte of its size.
type bareAnswer struct {
	Success    bool            `json:"success"`
	Status     string          `json:"status,omitempty"`
	TaskID     string          `json:"taskId"`
	WorkerID   string          `json:"workerId"`
	WorkerName string          `json:"workerName"`
	Data       json.RawMessage `json:"data"`
	Duration   int64           `json:"duration"`
}

// bare does as little as a handler can that decodes the body it is sent: no
// token, no checks, nothing that outlives the request.
func bare(ctx *fasthttp.RequestCtx) {
	a := bareAnswer{
		Success: true, TaskID: "task_0011223344556677_1700000000",
		WorkerID: "wabcdefghijklmnop", WorkerName: "worker-1", Data: hollowResult,
	}
	if ctx.IsPost() {
		var body struct {
			Actions []map[string]json.RawMessage `json:"actions"`
			Timeout int                          `json:"timeout"`
		}
		if err := json.Unmarshal(ctx.PostBody(), &body); err != nil || len(body.Actions) == 0 {
			ctx.Error("no task", fasthttp.StatusBadRequest)
			return
		}
	} else {
		a.TaskID, a.Status = string(ctx.QueryArgs().Peek("taskId")), "complete"
		if !strings.HasPrefix(a.TaskID, "task_") {
			ctx.Error("no id", fasthttp.StatusBadRequest)
			return
		}
	}
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(a); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(out.Bytes())
}
