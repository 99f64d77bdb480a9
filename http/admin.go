package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/persistence"
)

// Ledger is what issuing tokens needs of the accounts. [persistence.Accounts]
// is one.
type Ledger interface {
	ByName(ctx context.Context, name string) (persistence.Account, error)
	Create(ctx context.Context, name, plan string) (persistence.Account, error)
	CreateToken(ctx context.Context, account string) (string, persistence.Token, error)
}

// IssueToken makes a token for the account of a name. An account that does not
// exist is created, which takes a plan. One that exists keeps its plan: naming
// another one is an error, because whoever does so expects what they will not
// get.
func IssueToken(ctx context.Context, l Ledger, name, plan string) (string, error) {
	if plan != "" {
		if _, err := engine.ParsePlan(plan); err != nil {
			return "", err
		}
	}
	account, err := l.ByName(ctx, name)
	switch {
	case errors.Is(err, persistence.ErrNotFound) && plan == "":
		return "", fmt.Errorf("there is no account %q: name a plan to create it", name)
	case errors.Is(err, persistence.ErrNotFound):
		account, err = l.Create(ctx, name, plan)
	}
	if err != nil {
		return "", err
	}
	if plan != "" && account.Plan != plan {
		return "", fmt.Errorf("account %q has the plan %s, not %s: leave the plan out to make a token for it", name, account.Plan, plan)
	}
	token, _, err := l.CreateToken(ctx, account.ID)
	return token, err
}

// Admin answers the operator's commands over a socket in the data folder while
// the service runs, and so holds the store. Who may open the socket may do
// anything: it belongs to the service's user alone.
type Admin struct {
	ledger Ledger
	log    zerolog.Logger
	server *fasthttp.Server
	path   string
}

// longestSocket is the longest path that every system takes for a socket.
const longestSocket = 103

// tokenPath is where tokens are made; further commands get paths beside it.
const tokenPath = "/token"

// tokenOrder asks for a token, tokenMade is the answer.
type (
	tokenOrder struct {
		Account string `json:"account"`
		Plan    string `json:"plan,omitempty"`
	}
	tokenMade struct {
		Token string `json:"token,omitempty"`
		Error string `json:"error,omitempty"`
	}
)

// OpenAdmin starts to answer on a socket. A socket that a killed service left
// there is replaced: the caller holds the data folder's lock, so nobody else
// can be listening.
func OpenAdmin(path string, l Ledger, log zerolog.Logger) (*Admin, error) {
	if len(path) > longestSocket {
		return nil, fmt.Errorf("listen on %s: the path has %d characters, and sockets take %d: choose a shorter data folder",
			path, len(path), longestSocket)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	ln, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on the private socket: %w", err)
	}
	a := &Admin{ledger: l, log: log, path: path}
	a.server = &fasthttp.Server{
		Handler: a.handle, Logger: printer{log}, NoDefaultServerHeader: true,
		ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxRequestBodySize: 64 << 10,
		CloseOnShutdown: true,
	}
	go func() {
		if err := a.server.Serve(ln); err != nil {
			log.Error().Err(err).Msg("the private socket is closed")
		}
	}()
	return a, nil
}

// Close stops answering and removes the socket.
func (a *Admin) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := a.server.ShutdownWithContext(ctx)
	if rm := os.Remove(a.path); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	if err != nil {
		return fmt.Errorf("close the private socket: %w", err)
	}
	return nil
}

func (a *Admin) handle(ctx *fasthttp.RequestCtx) {
	defer func() {
		if v := recover(); v != nil {
			a.log.Error().Any("panic", v).Bytes("stack", debug.Stack()).Msg("a command failed")
			sendJSON(ctx, fasthttp.StatusInternalServerError, tokenMade{Error: "the service failed: see its log"})
		}
	}()
	if profiled(ctx) {
		return
	}
	var order tokenOrder
	switch {
	case string(ctx.Path()) != tokenPath || !ctx.IsPost():
		sendJSON(ctx, fasthttp.StatusNotFound, tokenMade{Error: "the service knows no such command: is it of the same version?"})
		return
	case json.Unmarshal(ctx.PostBody(), &order) != nil:
		sendJSON(ctx, fasthttp.StatusBadRequest, tokenMade{Error: "the command could not be read"})
		return
	}
	token, err := IssueToken(context.Background(), a.ledger, order.Account, order.Plan)
	if err != nil {
		sendJSON(ctx, fasthttp.StatusConflict, tokenMade{Error: err.Error()})
		return
	}
	a.log.Info().Str("account", order.Account).Msg("a token was made")
	sendJSON(ctx, fasthttp.StatusOK, tokenMade{Token: token})
}

// ErrNoService says that nobody answers on a private socket.
var ErrNoService = errors.New("no service is running")

// AskToken asks the service behind a private socket for a token.
func AskToken(path, account, plan string) (string, error) {
	c, err := net.Dial("unix", path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoService, err)
	}
	_ = c.Close()
	order, err := json.Marshal(tokenOrder{account, plan})
	if err != nil {
		return "", err
	}
	client := &fasthttp.HostClient{Addr: "troupe", Dial: func(string) (net.Conn, error) { return net.Dial("unix", path) }}
	defer client.CloseIdleConnections()
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://troupe" + tokenPath)
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetBody(order)
	if err := client.DoTimeout(req, resp, 10*time.Second); err != nil {
		return "", fmt.Errorf("ask the running service: %w", err)
	}
	var made tokenMade
	if err := json.Unmarshal(resp.Body(), &made); err != nil {
		return "", fmt.Errorf("read the answer of the running service: %w", err)
	}
	if made.Token == "" {
		return "", errors.New(made.Error)
	}
	return made.Token, nil
}
