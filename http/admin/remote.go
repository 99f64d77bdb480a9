package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/answer"
	"troupe/persistence"
)

// RemoteCommand is a command that may come over HTTP, as documents describe it.
type RemoteCommand struct {
	Path, ID, Summary string
	Command, Answer   any // values of the types
	takes             []string
}

// remote are the commands that may come over HTTP, in the order of the documents.
var remote []RemoteCommand

// done is the answer to a command that succeeded.
type done[R any] struct {
	Success bool `json:"success"`
	Result  R    `json:"result"`
}

// registerRemote makes a command known to the private socket, and over HTTP to tokens of
// operators' accounts.
func registerRemote[R any, O Command[R]](command O, id, summary string) {
	register[R](command)
	var takes []string
	for i := range reflect.TypeFor[O]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[O]().Field(i).Tag.Get("json"), ",")
		takes = append(takes, name)
	}
	slices.Sort(takes)
	remote = append(remote, RemoteCommand{command.path(), id, summary, command, done[R]{}, takes})
}

// RemoteCommands lists the commands that may come over HTTP.
func RemoteCommands() []RemoteCommand { return slices.Clone(remote) }

// Remote runs the commands that come over HTTP with a token of an
// operator's account.
type Remote struct {
	admin   *Admin // nil: it runs none
	faults  *answer.Faults
	limiter commandLimiter
	views   viewLog
}

// NewRemote makes one. Failures are answered with faults.
func NewRemote(o *Admin, faults *answer.Faults) *Remote {
	return &Remote{admin: o, faults: faults}
}

// Caller is the sender of a command over HTTP.
type Caller struct {
	Account persistence.Account
	Token   persistence.Digest
	From    string // the address
}

// issuer names the caller in the audit log.
func (c *Caller) issuer(ctx *fasthttp.RequestCtx) persistence.Issuer {
	return persistence.Issuer{Via: persistence.ViaHTTP, Account: c.Account.Name, Token: c.Token.TokenID(), Request: answer.RequestID(ctx)}
}

// Admit refuses a command that does not exist, or when operators have sent too many.
func (r *Remote) Admit(name string) *answer.Refusal {
	path := "/" + name
	switch {
	case r.admin == nil:
		return answer.RefuseText(engine.CodeNotFound, "This service accepts no operator commands over HTTP")
	case find(path) == nil:
		return answer.RefuseText(engine.CodeNotFound, "There is no such operator command; /docs lists them")
	}
	if !readOnly(path) {
		return r.limiter.admit()
	}
	return nil
}

func find(path string) *RemoteCommand {
	if i := slices.IndexFunc(remote, func(o RemoteCommand) bool { return o.Path == path }); i >= 0 {
		return &remote[i]
	}
	return nil
}

// Run runs a command that was admitted, and answers.
func (r *Remote) Run(ctx *fasthttp.RequestCtx, name string, c Caller, body []byte) *answer.Refusal {
	path := "/" + name
	admin := *r.admin
	admin.remote, admin.By, admin.From = true, c.issuer(ctx), c.From
	result, about, err := handlers[path](r.faults.Base, &admin, body)
	event := r.faults.Log.Info()
	if err == nil && readOnly(path) {
		event = r.faults.Log.Debug()
	}
	event.Str("order", path).Str("about", about).Str("account", c.Account.Name).Str("from", c.From).Str("request", answer.RequestID(ctx)).AnErr("refused", err).
		Msg("an operator ran a command")
	takes := find(path).takes
	switch {
	case errors.Is(err, errUnread) && len(takes) == 0:
		return answer.RefuseInvalid(lang.Fault{Message: "The body is not valid for this command: want {}"})
	case errors.Is(err, errUnread):
		return answer.RefuseInvalid(lang.Fault{Message: "The body is not valid for this command: want an object with " + strings.Join(takes, ", ")})
	case errors.Is(err, errUnaudited):
		return r.faults.Refuse(ctx, "run a command", err)
	case errors.Is(err, persistence.ErrNoQuorum):
		return answer.Refuse(engine.CodeNoQuorum)
	case err != nil:
		return answer.RefuseText(answer.CodeCommandRefused, engine.ErrorText(err))
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, done[json.RawMessage]{true, result})
	return nil
}

// AuditView writes into the audit log that an operator is about to see the live
// picture of an object of another account.
func (r *Remote) AuditView(ctx *fasthttp.RequestCtx, c Caller, object, account string) *answer.Refusal {
	if r.admin == nil || r.admin.Audit == nil {
		return nil
	}
	by := c.issuer(ctx)
	if r.views.seenLately(by.Token+" "+object+" "+account, time.Now()) {
		return nil
	}
	if no := r.limiter.admit(); no != nil {
		return no
	}
	end, err := r.admin.Audit.Begin(persistence.Act{Command: "live", About: object, By: by, From: c.From})
	if err == nil {
		err = end(persistence.ActDone, account)
	}
	if err != nil {
		return r.faults.Refuse(ctx, "write the audit log", persistence.Unwritten(err))
	}
	return nil
}

// made is implemented by commands whose result is something that can be gone later.
type made interface {
	gone(ctx context.Context, o *Admin, result json.RawMessage) (what string, err error)
}

// Gone says what a command has made that is not there any more; empty: nothing.
func (r *Remote) Gone(name string, answer []byte) (what string, err error) {
	command, is := find("/" + name).Command.(made)
	if !is {
		return "", nil
	}
	var d done[json.RawMessage]
	if err := json.Unmarshal(answer, &d); err != nil {
		return "", fmt.Errorf("read the answer to a command: %w", err)
	}
	ctx, cancel := context.WithTimeout(r.faults.Base, timeLimit(command))
	defer cancel()
	return command.gone(ctx, r.admin, d.Result)
}

// RemotePath is the path of a command below that of all commands over HTTP; false: it may not
// come over HTTP.
func RemotePath[R any](o Command[R]) (path string, ok bool) {
	path = o.path()
	return path, find(path) != nil
}
