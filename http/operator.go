package http

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/access"
	"troupe/http/admin"
	"troupe/http/answer"
	"troupe/persistence"
)

// operatorPath is where the operator runs commands, each at its own path below.
const operatorPath = "/v1/operator/"

// runCommand runs an operator command.
func (s *Server) runCommand(ctx *fasthttp.RequestCtx, a persistence.Account, name string) *answer.Refusal {
	if no := s.commands.Admit(name); no != nil {
		return no
	}
	if admin.ReadOnly("/" + name) {
		ctx.Request.Header.Del(keyHeader) // it makes nothing
	}
	return s.once(s.command, s.commandRan)(ctx, a, name)
}

func (s *Server) command(ctx *fasthttp.RequestCtx, a persistence.Account, name string, payload []byte) *answer.Refusal {
	token, _ := access.Bearer(ctx) // which let it in
	return s.commands.Run(ctx, name, admin.Caller{Account: a, Token: persistence.DigestOf(token), From: s.control.ClientText(ctx)}, payload)
}

// commandRan answers a repeated command with what the first one has given, unless what it
// has made is gone.
func (s *Server) commandRan(ctx *fasthttp.RequestCtx, _ persistence.Account, name string, first *callAnswer) *answer.Refusal {
	switch what, err := s.commands.Gone(name, first.Body); {
	case err != nil:
		return s.faults.Refuse(ctx, "look for what a command has made", err)
	case what != "":
		return goneSince(what)
	}
	return first.send(ctx)
}

// adminService is the server as the operator's commands see it.
type adminService struct{ s *Server }

// AdminService is the service that the operator's commands are about.
func (s *Server) AdminService() admin.Service { return adminService{s} }

func (o adminService) Pause(ctx context.Context, node string, on *bool) (answer.Capacity, error) {
	if o.Clustered() {
		s, err := o.s.cfg.OtherNodes.Pause(ctx, node, on)
		return answer.CapacityOf(s), err
	}
	if on != nil {
		o.s.Pause(*on)
	}
	return o.s.free(), nil
}

func (o adminService) Clustered() bool { return o.s.cfg.OtherNodes != nil }

func (o adminService) Cluster(ctx context.Context) (answer.Cluster, bool) {
	if o.s.cfg.Cluster == nil {
		return answer.Cluster{}, false
	}
	return o.s.cfg.Cluster(ctx), true
}

func (o adminService) RevokeTickets(ctx context.Context, account string) error {
	return o.s.authorizer.RevokeAll(ctx, account)
}

func (o adminService) Play(ctx context.Context, a persistence.Account, task []byte) (json.RawMessage, bool, error) {
	return o.s.playFor(ctx, a, task)
}

// The operator's commands are documented as they are declared.
func init() {
	for _, o := range admin.RemoteCommands() {
		schema := new(reflector).plain(reflect.TypeOf(o.Command)).(fields)
		schema["additionalProperties"] = false
		body, err := json.Marshal(schema)
		if err != nil {
			panic(err)
		}
		operations = append(operations, operation{
			method: "post", path: strings.TrimSuffix(operatorPath, "/") + o.Path, id: o.ID, tag: "Operator",
			summary: o.Summary, doc: "Needs a token of an operator's account.", body: string(body),
			answers: []reply{{200, "The command was run.", "", []any{o.Answer}}},
			codes:   append([]engine.Code{answer.CodeOperatorOnly, engine.CodeNotFound, answer.CodeCommandRefused}, bodyCodes...),
		})
	}
}
