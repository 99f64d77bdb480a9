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

// operatorPath is where the operator gives orders, each at its own path below.
const operatorPath = "/v1/operator/"

// carryOut carries out an order of the operator.
func (s *Server) carryOut(ctx *fasthttp.RequestCtx, a persistence.Account, name string) *answer.Refusal {
	if no := s.orders.Admit(name); no != nil {
		return no
	}
	token, _ := access.Bearer(ctx) // which let it in
	b, no := s.readOrder(ctx)
	if no != nil {
		return no
	}
	return s.orders.CarryOut(ctx, name, admin.Caller{Account: a, Token: persistence.DigestOf(token), From: s.control.ClientText(ctx)}, b.payload)
}

// operated is the server as the operator's orders see it.
type operated struct{ s *Server }

// Operated is the service that the operator's orders are about.
func (s *Server) Operated() admin.Service { return operated{s} }

func (o operated) Pause(ctx context.Context, node string, on *bool) (answer.Capacity, error) {
	if o.Clustered() {
		s, err := o.s.cfg.OtherNodes.Pause(ctx, node, on)
		return answer.CapacityOf(s), err
	}
	if on != nil {
		o.s.Pause(*on)
	}
	return o.s.free(), nil
}

func (o operated) Clustered() bool { return o.s.cfg.OtherNodes != nil }

func (o operated) Cluster(ctx context.Context) (answer.Cluster, bool) {
	if o.s.cfg.Cluster == nil {
		return answer.Cluster{}, false
	}
	return o.s.cfg.Cluster(ctx), true
}

func (o operated) RevokeTickets(ctx context.Context, account string) error {
	return o.s.authorizer.RevokeAll(ctx, account)
}

// The operator's orders are documented as they are declared.
func init() {
	for _, o := range admin.RemoteOrders() {
		schema := new(reflector).plain(reflect.TypeOf(o.Order)).(fields)
		schema["additionalProperties"] = false
		body, err := json.Marshal(schema)
		if err != nil {
			panic(err)
		}
		operations = append(operations, operation{
			method: "post", path: strings.TrimSuffix(operatorPath, "/") + o.Path, id: o.ID, tag: "Operator",
			summary: o.Summary, doc: "Needs a token of an operator's account.", body: string(body),
			answers: []reply{{200, "It was carried out.", "", []any{o.Answer}}},
			codes:   append([]engine.Code{answer.CodeOperatorOnly, engine.CodeNotFound, answer.CodeOrderRefused}, bodyCodes...),
		})
	}
}
