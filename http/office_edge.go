package http

import (
	"encoding/json"
	"errors"
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

// operatorPath is where the operator gives orders, each at its own path below.
const operatorPath = "/v1/operator/"

// remote are the orders that may come over HTTP, with the fields they take.
var remote = map[string][]string{}

// orderDone is the answer to an order that was carried out.
type orderDone[R any] struct {
	Success bool `json:"success"`
	Result  R    `json:"result"`
}

// acceptRemote makes an order known to the private socket, and to whoever has
// a token of an operator's account.
func acceptRemote[R any, O Order[R]](order O, id, summary string) {
	accept[R](order)
	schema := new(reflector).plain(reflect.TypeOf(order)).(fields)
	schema["additionalProperties"] = false
	names := make([]string, 0, len(schema["properties"].(fields)))
	for name := range schema["properties"].(fields) {
		names = append(names, name)
	}
	slices.Sort(names)
	remote[order.path()] = names
	body, err := json.Marshal(schema)
	if err != nil {
		panic(err)
	}
	operations = append(operations, operation{
		method: "post", path: strings.TrimSuffix(operatorPath, "/") + order.path(), id: id, tag: "Operator",
		summary: summary, doc: "Wants a token of an operator's account.", body: string(body),
		answers: []reply{{200, "It was carried out.", "", []any{orderDone[R]{}}}},
		codes:   append([]engine.Code{answer.CodeOperatorOnly, engine.CodeNotFound, answer.CodeOrderRefused}, bodyCodes...),
	})
}

// carryOut carries out an order of the operator.
func (s *Server) carryOut(ctx *fasthttp.RequestCtx, a persistence.Account, name string) *answer.Refusal {
	path := "/" + name
	takes, known := remote[path]
	switch {
	case s.cfg.Office == nil:
		return answer.RefuseText(engine.CodeNotFound, "This service takes no orders over HTTP")
	case !known:
		return answer.RefuseText(engine.CodeNotFound, "There is no such order; /docs lists them")
	}
	if !reads(path) {
		if wait := s.orders.take(time.Now()); wait > 0 {
			return tooManyOrders(wait)
		}
	}
	office := *s.cfg.Office
	token, _ := bearer(ctx) // which let it in
	office.remote, office.By, office.From = true, operatorBy(ctx, a, persistence.DigestOf(token)), s.clientText(ctx)
	b, no := s.readOrder(ctx)
	if no != nil {
		return no
	}
	result, about, err := desks[path](s.base, &office, b.payload)
	said := s.cfg.Log.Info()
	if err == nil && reads(path) {
		said = s.cfg.Log.Debug()
	}
	said.Str("order", path).Str("about", about).Str("account", a.Name).Str("from", office.From).Str("request", answer.RequestID(ctx)).AnErr("refused", err).
		Msg("the operator gave an order")
	switch {
	case errors.Is(err, errUnread) && len(takes) == 0:
		return answer.RefuseInvalid(lang.Fault{Message: "The body is not an order: want {}"})
	case errors.Is(err, errUnread):
		return answer.RefuseInvalid(lang.Fault{Message: "The body is not an order: want an object with " + strings.Join(takes, ", ")})
	case errors.Is(err, errUnaudited):
		return s.faults.Refuse(ctx, "carry out an order", err)
	case errors.Is(err, persistence.ErrNoQuorum):
		return answer.Refuse(engine.CodeNoQuorum)
	case err != nil:
		return answer.RefuseText(answer.CodeOrderRefused, engine.ErrorText(err))
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, orderDone[json.RawMessage]{true, result})
	return nil
}
