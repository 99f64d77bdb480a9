package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client that has cancelled a request does not want its answer any more, and the protocol
// says that none is sent. The library writes one all the same, so it is dropped on its way.

// codeCancelled is the code of an answer that is not sent.
const codeCancelled = -32800

var errCancelled = &jsonrpc.Error{Code: codeCancelled, Message: "the request was cancelled"}

// coded gives each error a code of JSON-RPC. An error without one would be written with 0,
// which is none.
func coded(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		var known *jsonrpc.Error
		if err != nil && !errors.As(err, &known) {
			err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
		}
		return res, err
	}
}

// isCancelled reports whether a message is the answer to a request that was cancelled.
func isCancelled(message []byte) bool {
	if !bytes.Contains(message, []byte(`-32800`)) {
		return false
	}
	var m struct {
		Error *struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	return json.Unmarshal(message, &m) == nil && m.Error != nil && m.Error.Code == codeCancelled
}

// answers is standard output, without the answers to cancelled requests. The library writes
// each message at once.
type answers struct{ io.WriteCloser }

func (a answers) Write(message []byte) (int, error) {
	if isCancelled(message) {
		return len(message), nil
	}
	return a.WriteCloser.Write(message)
}

// unanswered is the answer to a request over HTTP. Once that was cancelled, nothing more is
// written, and one that has not begun has no content.
type unanswered struct {
	http.ResponseWriter
	who    *caller
	status int
	begun  bool
}

func (u *unanswered) WriteHeader(status int) { u.status = status }

func (u *unanswered) begin(status int) {
	if !u.begun {
		u.begun = true
		if status == http.StatusNoContent {
			u.Header().Del("Content-Type")
			u.Header().Del("Content-Length")
		}
		if status != 0 {
			u.ResponseWriter.WriteHeader(status)
		}
	}
}

func (u *unanswered) Write(b []byte) (int, error) {
	if u.who.cancelled.Load() {
		u.begin(http.StatusNoContent)
		return len(b), nil
	}
	u.begin(u.status)
	return u.ResponseWriter.Write(b)
}

// Flush sends what there is. The head of an answer waits for its first byte, unless it is a
// stream.
func (u *unanswered) Flush() {
	if !u.who.cancelled.Load() {
		u.begin(u.status)
		_ = http.NewResponseController(u.ResponseWriter).Flush()
	}
}

// end writes the head of an answer that has nothing else.
func (u *unanswered) end() {
	if u.who.cancelled.Load() {
		u.begin(http.StatusNoContent)
	}
	u.begin(u.status)
}
