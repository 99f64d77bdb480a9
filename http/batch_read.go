package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/persistence"
)

const (
	maxBatchName = 100 // characters
	// Items go to the store in portions of so many, or of so many bytes.
	portionItems = 256
	portionBytes = 1 << 20
)

// ndjson are the media types of JSON in lines.
var ndjson = []string{"application/x-ndjson", "application/ndjson", "application/jsonl"}

// batchReader reads the request for a batch: its items go to the actors as they come.
type batchReader struct {
	s        *Server
	ctx      *fasthttp.RequestCtx
	account  persistence.Account
	template *engine.Template
	id       string
	found    *api.Batch // an earlier request with the key has made it
	portion  []json.RawMessage
	bytes    int
	count    int
	sent     int // items that the actors have, and their bytes
	sentSize int64
	faults   []lang.Fault
}

// newBatch makes a batch of a task and its items.
func (s *Server) newBatch(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	if s.Drains() {
		return answer.Refuse(engine.CodeDraining)
	}
	if err := s.cfg.Ledger.Full(account.ID, s.within(account)); err != nil { // it would have no room for results
		return answer.RefuseBy(api.RefusalFor(err))
	}
	if no := s.hasBatches(account); no != nil { // before anything of the body is read
		return no
	}
	r := &batchReader{s: s, ctx: ctx, account: account}
	no := r.read()
	if no == nil && r.count == 0 && r.found == nil && r.template != nil && len(r.faults) == 0 {
		r.fault(lang.Fault{Path: "/items", Message: "want at least one item"})
	}
	if no == nil && len(r.faults) > 0 {
		no = answer.RefuseInvalid(r.faults...)
	}
	if no == nil {
		no = r.flush()
	}
	if no == nil && r.found == nil {
		no = r.change(api.BatchReady)
	}
	if no != nil {
		if r.id != "" {
			if err := r.change(api.BatchDrop); err != nil {
				s.cfg.Log.Error().Str("batch", r.id).Str("error", err.Error).Msg("batch not dropped")
			}
		}
		return no
	}
	answer.SendJSON(ctx, fasthttp.StatusAccepted, batchAnswer{true, answer.OfBatch(r.found)})
	return nil
}

// hasBatches refuses an account whose plan has none.
func (s *Server) hasBatches(account persistence.Account) *answer.Refusal {
	plan := engine.Plan(account.Plan)
	switch limits, ok := (*s.limits.Load())[plan]; {
	case !ok:
		return answer.RefuseBy(api.Refuse(engine.CodePlanRequired, "there is no plan "+api.Quoted(account.Plan)))
	case limits.QueueTasks <= 0:
		return answer.RefuseBy(api.Refuse(engine.CodePlanRequired, fmt.Sprintf("plan %s has no queue", plan)))
	}
	return nil
}

// read reads the request in either form.
func (r *batchReader) read() *answer.Refusal {
	kind, _, err := mime.ParseMediaType(string(r.ctx.Request.Header.ContentType()))
	if inLines(&r.ctx.Request.Header) {
		if e := string(r.ctx.Request.Header.ContentEncoding()); e != "" && e != "identity" {
			return answer.RefuseText(engine.CodeUnsupportedMediaType, "Content-Encoding is not supported: send the body as it is")
		}
		return r.readLines()
	}
	if err != nil || kind != "application/json" {
		return answer.RefuseText(engine.CodeUnsupportedMediaType, `The Content-Type must be "application/json" (in UTF-8) or "application/x-ndjson"`)
	}
	if _, no := contentOf(r.ctx, false); no != nil {
		return no
	}
	b, no := r.s.bodies.readJSON(r.ctx, maxPayload, r.account.ID)
	defer func() { b.remove() }()
	if no != nil {
		return no
	}
	end, no := r.s.bodies.beginParse(r.ctx, b)
	if no != nil {
		return no
	}
	defer end()
	items, no := r.head(b, true)
	if no != nil || r.found != nil || len(r.faults) > 0 {
		return no
	}
	for i, n := range items.Elements {
		path := fmt.Sprintf("/items/%d", i)
		if !n.IsObject() {
			r.fault(lang.Fault{Path: path, Message: "want an object, not " + n.TypeName()})
		} else if no := r.item(n.Raw, path, ""); no != nil {
			return no
		}
	}
	return nil
}

func (r *batchReader) fault(f lang.Fault) {
	if lang.MoreFaults(r.faults) {
		r.faults = append(r.faults, f)
	}
}

// headLine is head for the first line of a stream: in its turn, like a request of its size.
func (r *batchReader) headLine(line []byte) *answer.Refusal {
	b := &body{payload: line, weight: r.s.gate.Weigh(r.account.ID)}
	defer b.remove()
	end, no := r.s.bodies.beginParse(r.ctx, b)
	if no != nil {
		return no
	}
	defer end()
	_, no = r.head(b, false)
	return no
}

// head reads what is said of all items, and asks for the batch.
func (r *batchReader) head(b *body, whole bool) (items *lang.Node, no *answer.Refusal) {
	key, fault := keyOf(r.ctx)
	if fault != nil {
		r.fault(*fault)
	}
	n, fault := lang.ReadNode(b.payload)
	if fault != nil {
		r.fault(*fault)
		return nil, nil
	}
	d := &lang.Decoder{}
	m := &api.CreateBatch{Account: access.ForActors(r.account), Key: key}
	var task *lang.Node
	members := []lang.Member{
		lang.Field("notify", func(f *lang.Node) { m.Notify = engine.ReadNotify(d, f, engine.NotifyBatch) }),
		lang.Field("task", func(f *lang.Node) { task = f }),
		lang.Field("name", func(f *lang.Node) {
			if m.Name = d.ReadNonEmpty(f, "a name"); len([]rune(m.Name)) > maxBatchName {
				d.Fault(f, "has %d characters: want at most %d", len([]rune(m.Name)), maxBatchName)
			}
		}),
	}
	if whole {
		members = append(members, lang.Field("items", func(f *lang.Node) {
			if items = f; !f.IsArray() {
				d.Fault(f, "want an array of objects, not %s", f.TypeName())
			}
		}))
	}
	ok := d.ReadObject(n, "the batch", members...)
	if d.Wrong() == 0 {
		r.faults = append(r.faults, engine.ReceiverFaults("/notify", m.Notify, r.s.cfg.Unreachable)...)
	}
	switch {
	case !ok:
	case task == nil:
		d.Fault(n, "has no task: want the request that is played for each item")
	case !task.IsObject():
		d.Fault(task, "want an object with the actions, not %s", task.TypeName())
	case whole && items == nil:
		d.Fault(n, "has no items: want an array of objects")
	}
	r.faults = append(r.faults, d.Faults()...)
	if len(r.faults) > 0 {
		return nil, nil
	}
	stored, done := r.s.stored(r.ctx, b, r.account)
	defer done()
	template, err := engine.ParseTemplateFor(task.Raw, stored, r.s.proxies(r.account))
	var invalid *engine.Invalid
	switch {
	case errors.As(err, &invalid):
		for _, f := range invalid.Faults {
			r.fault(lang.Fault{Path: "/task" + f.Path, Message: f.Message})
		}
		return nil, nil
	case err != nil:
		return nil, r.s.faults.Refuse(r.ctx, "read the task of a batch", err)
	}
	if faults := engine.ReceiverFaults("/task/notify", template.Task.Notify, r.s.cfg.Unreachable); len(faults) > 0 {
		r.faults = append(r.faults, faults...)
		return nil, nil
	}
	m.Task, r.template = template.Task.Within(r.account.Sites), template
	x, no := r.ask(m)
	if no != nil {
		return nil, no
	}
	if x.Found {
		if no := outside(r.account, "the batch", x.Batch.Sites); no != nil {
			return nil, no
		}
		r.found = x.Batch
		return nil, nil
	}
	r.id = x.Batch.ID
	return items, nil
}

// item takes one item.
func (r *batchReader) item(b []byte, path, at string) *answer.Refusal {
	r.count++
	if faults := r.template.Check(b); len(faults) > 0 {
		for _, f := range faults {
			r.fault(lang.Fault{Path: path + f.Path, Message: at + f.Message})
		}
		return nil
	}
	if len(r.faults) > 0 { // nothing more is kept
		return nil
	}
	r.portion = append(r.portion, b)
	if r.bytes += len(b); len(r.portion) < portionItems && r.bytes < portionBytes {
		return nil
	}
	return r.flush()
}

// flush gives a portion to the actors.
func (r *batchReader) flush() *answer.Refusal {
	if len(r.portion) == 0 {
		return nil
	}
	// The records of the items count when they are written.
	held, err := r.s.cfg.Ledger.Hold(r.account.ID, r.s.within(r.account), int64(r.bytes), 0)
	if err != nil {
		return answer.RefuseBy(api.RefusalFor(err))
	}
	defer held.Release()
	_, no := r.ask(&api.AddBatchItems{Account: access.ForActors(r.account), ID: r.id, From: r.sent, Before: r.sentSize, Items: r.portion})
	r.sent, r.sentSize = r.sent+len(r.portion), r.sentSize+int64(r.bytes)
	r.portion, r.bytes = nil, 0
	return no
}

func (r *batchReader) change(to api.BatchChange) *answer.Refusal {
	x, no := r.ask(&api.ChangeBatch{Account: access.ForActors(r.account), ID: r.id, Change: to, Items: r.sent, Bytes: r.sentSize})
	if no == nil {
		r.found = x.Batch
	}
	return no
}

func (r *batchReader) ask(m api.Request[api.Batched]) (*api.Batched, *answer.Refusal) {
	return ask(r.s, r.ctx, r.s.base, "make a batch", m)
}
