package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
)

// Config is what a [Server] is made from.
type Config struct {
	Service http.RoundTripper // the way to the API
	Journal Journal
	Policy  Policy        // of all calls; requests over HTTP can narrow it by headers
	Version string        // of the program
	Hold    time.Duration // how long a call waits for its task; 50 s: many clients give up after a minute
	Log     zerolog.Logger
}

// Server answers clients of the protocol. It keeps nothing of them between two calls.
type Server struct {
	cfg     Config
	sdk     *sdk.Server
	buffers http.Handler // answers as JSON
	streams http.Handler // answers as events: progress goes before them
	running calls
}

// New makes a server.
func New(cfg Config) *Server {
	if cfg.Hold == 0 {
		cfg.Hold = 50 * time.Second
	}
	s := &Server{cfg: cfg}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "troupe", Title: "Troupe", Version: cfg.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	s.sdk.AddReceivingMiddleware(coded)
	for _, t := range tools() {
		s.sdk.AddTool(t.describe(), s.handler(t))
	}
	one := func(*http.Request) *sdk.Server { return s.sdk }
	// The edge before this checks the Host and the Origin.
	stateless := sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true, DisableLocalhostProtection: true}
	s.streams = sdk.NewStreamableHTTPHandler(one, &stateless)
	asJSON := stateless
	asJSON.JSONResponse = true
	s.buffers = sdk.NewStreamableHTTPHandler(one, &asJSON)
	return s
}

// RunStdio answers one client over a pair of streams until it closes them or ctx ends.
func (s *Server) RunStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	err := s.sdk.Run(ctx, &sdk.IOTransport{Reader: in, Writer: answers{out}, MaxLineLength: maxMessage})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// maxMessage bounds one message of a client over standard input, in bytes.
const maxMessage = 4 << 20

// caller is who has sent a request over HTTP, and how long somebody waits for its answer.
type caller struct {
	account string
	from    string // where the client is
	id      string // of the message, as it is written
	ctx     context.Context

	cancelled atomic.Bool // by the client
}

type callerKey struct{}

// Handle answers a request over HTTP of an account whose token was checked. The body is
// in memory already. A call ends with the context of the request.
func (s *Server) Handle(w http.ResponseWriter, r *http.Request, account, from string, body []byte) {
	if _, err := policyOf(r.Header); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if text := bytes.TrimSpace(body); len(text) > 0 && text[0] == '[' {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, manyMessages)
		return
	}
	method, id := head(body)
	if method == "notifications/cancelled" {
		s.running.cancel(account, from, id)
	}
	who := &caller{account: account, from: from, id: id, ctx: r.Context()}
	r = r.WithContext(context.WithValue(r.Context(), callerKey{}, who))
	out := &unanswered{ResponseWriter: w, who: who}
	defer out.end()
	r.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, []byte(`"progressToken"`)) || bytes.Contains(body, []byte(`"subscriptions/listen"`)) {
		s.streams.ServeHTTP(out, r)
		return
	}
	s.buffers.ServeHTTP(out, r)
}

// manyMessages answers several messages in one request. The protocol has none since its
// version of 2025-06-18, and a short request could ask for any number of large answers.
const manyMessages = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Send one message in each request, not an array of them"}}` + "\n"

// call is one call of a tool.
type call struct {
	*Server
	client  client
	account string
	policy  Policy
	session *sdk.ServerSession
	token   any // of progress; nil: nobody wants any
}

// handler runs a tool.
func (s *Server) handler(t *tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		c := &call{Server: s, policy: s.cfg.Policy, session: req.Session, token: req.Params.GetProgressToken()}
		c.client = client{via: s.cfg.Service, header: http.Header{}}
		ctx, end := context.WithCancel(ctx)
		defer end()
		if who, ok := ctx.Value(callerKey{}).(*caller); ok {
			c.account = who.account
			defer context.AfterFunc(who.ctx, end)()
			defer s.running.add(who, end)()
		}
		if req.Extra != nil && req.Extra.Header != nil {
			own, err := policyOf(req.Extra.Header)
			if err != nil {
				return nil, refusedHeaders(err)
			}
			if c.policy.Sites, err = narrow(c.policy.Sites, own.Sites); err != nil {
				return nil, refusedHeaders(err)
			}
			c.policy.Downloads, c.policy.Uploads = c.policy.Downloads || own.Downloads, c.policy.Uploads || own.Uploads
			c.client.header["Authorization"] = req.Extra.Header.Values("Authorization")
		}
		a, err := t.call(ctx, c, req.Params.Arguments)
		var wrong *argumentError
		switch {
		case errors.As(err, &wrong):
			a = &reply{head: wrong.Error(), failed: true}
		case ctx.Err() != nil:
			return nil, errCancelled
		case err != nil:
			s.cfg.Log.Error().Err(err).Str("tool", t.name).Msg("a tool failed")
			a = &reply{head: "The service cannot be reached or does not answer as expected: " + err.Error() + ". Try again; if it stays so, tell the person you work for.", failed: true}
		}
		s.cfg.Log.Info().Str("tool", t.name).Str("account", c.account).Str("session", a.session).Str("task", a.task).Bool("failed", a.failed).Msg("mcp")
		return a.result(), nil
	}
}

// refusedHeaders says what is wrong with the bounds that a request has in its headers.
func refusedHeaders(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
}

// argumentError is a fault of a tool's arguments.
type argumentError struct{ text string }

func (e *argumentError) Error() string { return e.text }

func wrongArgument(format string, args ...any) error {
	return &argumentError{fmt.Sprintf(format, args...)}
}

// head is the method of a message and the identifier of the request that it is about.
func head(body []byte) (method, id string) {
	var n struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &n) != nil {
		return "", ""
	}
	if n.Method == "notifications/cancelled" {
		n.ID = n.Params.RequestID
	}
	return n.Method, strings.TrimSpace(string(n.ID))
}
