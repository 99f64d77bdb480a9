package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"troupe/actors/runs"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/answer"
	"troupe/persistence"
)

// runAgain sends the request of a run once more, as a new task: as it was, or with other fields.
func (s *Server) runAgain(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	ctx.SetUserValue(againKey{}, id)
	return s.execute(ctx, account)
}

// repeatRun makes the body of a request that repeats a run the one of a task.
func (s *Server) repeatRun(account persistence.Account, id string, b *body) *answer.Refusal {
	r, no, err := s.findRun(account, id)
	switch {
	case errors.Is(err, persistence.ErrSealed):
		return answer.RefuseText(engine.CodeNotFound, "The service's key does not open this run: send its request again")
	case err != nil:
		return answer.RefuseText(engine.CodeInternal, "The run could not be read")
	case no != nil:
		return no
	}
	payload, faults := againOf(r, b.payload, len(b.files))
	if len(faults) > 0 {
		return answer.RefuseInvalid(faults...)
	}
	if err := b.weight.Add(int64(len(payload))); err != nil {
		return answer.RefuseBy(tooMuch(err))
	}
	b.payload = payload
	return nil
}

// withField has values for fields that are not kept, by their paths.
const withField = "with"

// againOf is the request of a run with the fields that a client has changed: fields of the task
// replace those that it had, and with has values by paths.
func againOf(r *runs.Run, changes []byte, files int) ([]byte, []lang.Fault) {
	n, fault := lang.ReadNode(changes)
	switch {
	case fault != nil:
		return nil, []lang.Fault{*fault}
	case !n.IsObject():
		return nil, []lang.Fault{{Message: "want an object: {} repeats the run as it was, and fields of a task replace its own"}}
	}
	has := map[string]json.RawMessage{}
	var order []string
	if len(r.Request) > 0 {
		was, fault := lang.ReadNode(r.Request)
		if fault != nil {
			return nil, []lang.Fault{*fault}
		}
		with, faults := readWith(n.Field(withField), was)
		if len(faults) > 0 {
			return nil, faults
		}
		instead := map[*lang.Node][]byte{}
		for path, value := range with {
			instead[nodeAt(was, path)] = value
		}
		if faults := notKept(r, n, with, files); len(faults) > 0 {
			return nil, faults
		}
		for _, f := range was.Fields {
			order, has[f.Key] = append(order, f.Key), f.Rewrite(instead, nil)
		}
	} else if n.Field("actions") == nil {
		return nil, []lang.Fault{{Path: "/actions", Message: fmt.Sprintf("are not kept, because the request had %d bytes: send them", r.RequestBytes)}}
	}
	if queue := onceOnly(has["queue"]); queue != nil {
		has["queue"] = queue
	}
	for _, f := range n.Fields {
		if f.Key == withField {
			continue
		}
		if _, there := has[f.Key]; !there {
			order = append(order, f.Key)
		}
		has[f.Key] = f.JSON()
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, name := range order {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(name) // a string is JSON
		b.Write(key)
		b.WriteByte(':')
		b.Write(has[name])
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// readWith reads the values by their paths.
func readWith(n, was *lang.Node) (map[string][]byte, []lang.Fault) {
	with := map[string][]byte{}
	if n == nil {
		return with, nil
	}
	if !n.IsObject() {
		return nil, []lang.Fault{{Path: "/" + withField, Message: `want values by the paths of their fields, such as {"/actions/1/fill/1":"a text"}, not ` + n.TypeName()}}
	}
	var faults []lang.Fault
	for _, f := range n.Fields {
		if nodeAt(was, f.Key) == nil {
			faults = append(faults, lang.NewFault(f.Path(), "is about %q, which the request of the run does not have", lang.Short(f.Key, 200)))
			continue
		}
		with[f.Key] = f.JSON()
	}
	return with, faults
}

// notKept names what the request of a run lacks and the client has not brought.
func notKept(r *runs.Run, changes *lang.Node, with map[string][]byte, files int) (faults []lang.Fault) {
	if r.Item && changes.Field("actions") == nil {
		faults = append(faults, lang.Fault{Path: "/actions", Message: "are the task of a batch, which reads its items: repeat it with POST /v1/batches/{batchId}/retry, or send actions"})
	}
	for _, path := range r.Masked {
		top, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if with[path] == nil && changes.Field(top) == nil {
			faults = append(faults, lang.Fault{Path: path, Message: fmt.Sprintf("is masked, and not kept: send it as %q in %q, or send %s whole", path, withField, top)})
		}
	}
	if r.Uploads > files && changes.Field("actions") == nil {
		faults = append(faults, lang.Fault{Path: "/files", Message: fmt.Sprintf("are not kept: send the %d as multipart/form-data, as with the first request", r.Uploads)})
	}
	return faults
}

// nodeAt is the value at a JSON Pointer; nil: there is none.
func nodeAt(n *lang.Node, path string) *lang.Node {
	if !strings.HasPrefix(path, "/") {
		return nil
	}
	for key := range strings.SplitSeq(path[1:], "/") {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		i := slices.IndexFunc(slices.Concat(n.Elements, n.Fields), func(c *lang.Node) bool { return c.Key == key })
		if i < 0 {
			return nil
		}
		n = slices.Concat(n.Elements, n.Fields)[i]
	}
	return n
}

// onceOnly leaves out of the options of a queue what was for the first request alone: with its
// key, the answer would be the first task, and times may be over.
func onceOnly(queue json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(queue, &all) != nil || all == nil {
		return nil
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool {
		return name == "key" || name == "startAfter" || name == "expiresAfter"
	})
	b, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return b
}
