package admin

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
	"troupe/engine/scarce"
	"troupe/http/answer"
	"troupe/persistence"
)

// Socket answers the operator's commands over a socket in the data folder while the
// service runs, and so holds the store. The socket allows everything, so only the
// service's user can open it.
type Socket struct {
	admin  *Admin
	log    zerolog.Logger
	server *fasthttp.Server
	path   string
}

// MaxBody is how many bytes of JSON a command may have.
const MaxBody = 64 << 10

// maxSocketBody is that over the socket: one command brings a flow, in base64.
const maxSocketBody = MaxBody + engine.MaxFlow*4/3

// longestSocket is the longest path that every system takes for a socket.
const longestSocket = 103

// CheckSocket reports why a socket cannot have a path.
func CheckSocket(path string) error {
	if len(path) > longestSocket {
		return fmt.Errorf("listen on %s: the path has %d characters, and sockets take %d: choose a shorter data folder",
			path, len(path), longestSocket)
	}
	return nil
}

// TrySocket listens on a socket and closes it again.
func TrySocket(path string) error {
	ln, err := listen(path)
	if err != nil {
		return err
	}
	return ln.Close() // which removes it
}

// listen opens a socket for its owner alone, also where one is left.
func listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	ln, err := net.Listen("unix", path)
	if err == nil {
		if err = os.Chmod(path, 0o600); err == nil {
			return ln, nil
		}
		_ = ln.Close()
	}
	return nil, fmt.Errorf("listen on the private socket: %w", err)
}

// OpenSocket starts to answer on a socket. A socket that a killed service left
// there is replaced: the caller holds the data folder's lock, so nobody else
// can be listening.
func OpenSocket(path string, o *Admin, log zerolog.Logger) (*Socket, error) {
	if err := CheckSocket(path); err != nil {
		return nil, err
	}
	ln, err := listen(path)
	if err != nil {
		return nil, err
	}
	a := &Socket{admin: o, log: log, path: path}
	a.server = &fasthttp.Server{
		Handler: a.handle, Logger: &log, NoDefaultServerHeader: true,
		ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxRequestBodySize: maxSocketBody,
		CloseOnShutdown: true, MaxIdleWorkerDuration: time.Second, // what a closed server leaves runs as long as that
	}
	go func() {
		if err := a.server.Serve(scarce.Listener{Listener: ln, Doing: "accept an operator's command"}); err != nil {
			log.Error().Err(err).Msg("the private socket is closed")
		}
	}()
	return a, nil
}

// Close stops answering and removes the socket.
func (a *Socket) Close() error {
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

// socketAnswer is the answer to a command: what it gave, or a sentence that says why
// nothing was done.
type socketAnswer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

func (a *Socket) handle(ctx *fasthttp.RequestCtx) {
	defer func() {
		if v := recover(); v != nil {
			a.log.Error().Any("panic", v).Bytes("stack", debug.Stack()).Msg("an operator's command failed")
			answer.SendJSON(ctx, fasthttp.StatusInternalServerError, socketAnswer{Error: "the service failed: see its log"})
		}
	}()
	if profiled(ctx) {
		return
	}
	path := string(ctx.Path())
	handle, known := handlers[path]
	if !known || !ctx.IsPost() {
		answer.SendJSON(ctx, fasthttp.StatusNotFound, socketAnswer{Error: "the service knows no such command: does it have the same version?"})
		return
	}
	admin := *a.admin
	admin.By, admin.From = persistence.Issuer{Via: persistence.ViaSocket}, callerOf(ctx.Conn())
	result, about, err := handle(context.Background(), &admin, ctx.PostBody())
	event := a.log.Info()
	if err == nil && readOnly(path) {
		event = a.log.Debug()
	}
	event.Str("order", path).Str("about", about).Str("from", admin.From).AnErr("refused", err).Msg("an operator ran a command")
	if err != nil {
		answer.SendJSON(ctx, fasthttp.StatusConflict, socketAnswer{Error: err.Error()})
		return
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, socketAnswer{Result: result})
}

// ErrNoService says that nobody answers on a private socket.
var ErrNoService = errors.New("no service is running")

// Send gives a command to the service behind a private socket.
func Send[R any](socket string, o Command[R]) (result R, err error) {
	c, err := net.Dial("unix", socket)
	if errors.Is(err, fs.ErrPermission) {
		return result, fmt.Errorf("only the user that the service runs as can use these commands: %w", err)
	}
	if err != nil {
		return result, fmt.Errorf("%w: %w", ErrNoService, err)
	}
	_ = c.Close()
	body, err := json.Marshal(o)
	if err != nil {
		return result, err
	}
	client := &fasthttp.HostClient{
		Addr: "troupe", Dial: func(string) (net.Conn, error) { return net.Dial("unix", socket) },
		MaxIdleConnDuration: 50 * time.Millisecond, // a goroutine looks after connections as long as that
	}
	defer client.CloseIdleConnections()
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://troupe" + o.path())
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetBody(body)
	if err := client.DoTimeout(req, resp, timeLimit(o)+answering); err != nil {
		return result, fmt.Errorf("ask the running service: %w", err)
	}
	var done socketAnswer
	if err := json.Unmarshal(resp.Body(), &done); err != nil {
		return result, fmt.Errorf("read the answer of the running service: %w", err)
	}
	if done.Error != "" {
		return result, errors.New(done.Error)
	}
	if err := json.Unmarshal(done.Result, &result); err != nil {
		return result, fmt.Errorf("read the answer of the running service: %w", err)
	}
	return result, nil
}

// answering is how much longer than the command itself its answer is waited for.
const answering = 5 * time.Second
