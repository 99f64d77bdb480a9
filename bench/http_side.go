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

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"troupe/actors"
	"troupe/engine"
	"troupe/http"
	"troupe/persistence"
	"troupe/testkit"
)

// The sides of the measurement without browsers, each in a process of its own.
const (
	houseSide = "house" // HTTP, actors and store as the service wires them; browsers that do nothing
	bareSide  = "bare"  // a handler that decodes the request and writes the same answer
)

// hollowResult is what every task gives here.
var hollowResult = json.RawMessage(`"Hello, bench"`)

// serveHTTPSide is one side until its standard input is closed. Its first line
// says where it answers and by which token.
func serveHTTPSide(kind, dir string) error {
	if kind == bareSide {
		return serveUntil(&fasthttp.Server{Handler: bare, NoDefaultServerHeader: true}, "none")
	}
	store, err := persistence.OpenBadger(filepath.Join(dir, "store"), persistence.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	files, err := persistence.OpenFolder(filepath.Join(dir, "files"))
	if err != nil {
		return err
	}
	defer files.Close()
	// The service writes a line for each task, so that has to be paid for here.
	out, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer out.Close()
	log := zerolog.New(out).Level(zerolog.InfoLevel).With().Timestamp().Logger()
	seal, err := persistence.OpenSeal(filepath.Join(dir, "key"))
	if err != nil {
		return err
	}
	node, err := actors.Start(actors.Config{
		Engine: &testkit.Hollow{Outcome: &engine.Outcome{End: engine.EndCompleted, Data: hollowResult}},
		Store:  store, Files: files, Seal: seal, Workers: actors.SharedWorkers("", 32), Log: log,
	})
	if err != nil {
		return err
	}
	defer node.Stop()
	accounts := persistence.NewAccounts(store)
	token, err := newAccount(accounts, "bench", engine.Pro)
	if err != nil {
		return err
	}
	edge, err := http.New(http.Config{
		Company: node, Door: accounts, Counts: persistence.NewUsage(store), Files: files,
		Uploads: filepath.Join(dir, "uploads"), Log: log,
	})
	if err != nil {
		return err
	}
	defer edge.Shutdown(context.Background())
	return serveUntil(edge, token)
}

// newAccount gives the account of a name, made if there is none, a new token.
func newAccount(accounts *persistence.Accounts, name string, plan engine.Plan) (string, error) {
	a, err := accounts.ByName(context.Background(), name)
	if errors.Is(err, persistence.ErrNotFound) {
		a, err = accounts.Create(context.Background(), name, string(plan))
	}
	if err != nil {
		return "", err
	}
	token, _, err := accounts.CreateToken(context.Background(), a.ID)
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
