package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/http/gate"
	"troupe/persistence"
)

// batchesPath is where batches are.
const batchesPath = "/v1/batches"

type (
	batchAnswer struct {
		Success bool          `json:"success"`
		Batch   *answer.Batch `json:"batch"`
	}
	batchList struct {
		Success bool            `json:"success"`
		Batches []*answer.Batch `json:"batches"`
		Next    string          `json:"next,omitempty"` // the cursor of the next part
		// Unreadable are the identifiers of batches that the service's key does not open.
		Unreadable []string `json:"unreadable,omitempty"`
	}
)

// batchRoutes are the routes of batches.
func (s *Server) batchRoutes() []route {
	one := batchesPath + "/{batchId}"
	all := []route{
		s.tokenRoute("POST", batchesPath, withoutName(s.newBatch)).reading(keyHeader),
		s.tokenRoute("GET", batchesPath, s.loading(withoutName(s.listBatches))),
		s.tokenRoute("GET", one+"/results", withinSites(s.mayBatch, s.batchResults)),
		s.tokenRoute("GET", one+"/failed", withinSites(s.mayBatch, s.batchItems(api.OrderFailed))),
		s.tokenRoute("GET", one+"/dropped", withinSites(s.mayBatch, s.batchItems(api.OrderDropped))),
	}
	for _, c := range []api.BatchChange{api.BatchPause, api.BatchResume, api.BatchCancel, api.BatchRetry} {
		all = append(all, s.callRoute(one+"/"+string(c), byName(withinSites(s.mayBatch, s.changesBatch(c))), asItIs(withinSites(s.mayBatch, s.changedBatch))))
	}
	return append(all, s.tokenRoute("GET", one, withinSites(s.mayBatch, s.getBatch)))
}

func noBatch(id string) *answer.Refusal {
	return answer.RefuseText(engine.CodeNotFound, fmt.Sprintf("There is no batch %q", lang.Short(id, 100)))
}

// sendBatch answers with one batch.
func (s *Server) sendBatch(ctx *fasthttp.RequestCtx, waiting context.Context, doing string, m api.Request[api.Batched]) *answer.Refusal {
	x, no := ask(s, ctx, waiting, doing, m)
	if no != nil {
		return no
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, batchAnswer{true, answer.OfBatch(x.Batch)})
	return nil
}

func (s *Server) getBatch(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	if !answer.SaneID([]byte(id)) {
		return noBatch(id)
	}
	wait, fault := readWait(ctx)
	if fault != nil {
		return answer.RefuseInvalid(*fault)
	}
	if wait > 0 { // examples of failures are loaded when it has ended, and there is room for them
		waiting, leave, no := s.waitFor(ctx, account)
		if no != nil {
			return no
		}
		_, no = ask(s, ctx, waiting, "wait for a batch", &api.GetBatch{Account: access.ForActors(account), ID: id, Wait: wait, Bare: true})
		leave()
		if no != nil {
			return no
		}
	}
	return s.changedBatch(ctx, account, id)
}

// changesBatch pauses batches, lets them go on, and so forth.
func (s *Server) changesBatch(to api.BatchChange) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
		if !answer.SaneID([]byte(id)) {
			return noBatch(id)
		}
		return s.sendBatch(ctx, s.base, "change a batch", &api.ChangeBatch{Account: access.ForActors(account), ID: id, Change: to})
	}
}

// changedBatch answers with a batch as it is, as a repeated change is answered, too.
func (s *Server) changedBatch(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	if no := s.load(ctx, account.ID); no != nil {
		return no
	}
	return s.sendBatch(ctx, s.base, "read a batch", &api.GetBatch{Account: access.ForActors(account), ID: id})
}

// listBatches lists the account's batches, the newest first.
func (s *Server) listBatches(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	most, faults := readCount(ctx, "limit", answer.DefaultRecent, maxRecent)
	after, fault := readCursor(ctx, batchCursors, nextWanted)
	faults = append(faults, fault...)
	if len(faults) > 0 {
		return answer.RefuseInvalid(faults...)
	}
	l, no := ask(s, ctx, s.base, "list the batches", &api.ListBatches{Account: access.ForActors(account), After: after, Most: most})
	if no != nil {
		return no
	}
	list := batchList{Success: true, Batches: []*answer.Batch{}, Next: l.Next, Unreadable: l.Unreadable}
	for _, b := range within(account, l.Batches, func(b api.Batch) []string { return b.Sites }) {
		list.Batches = append(list.Batches, answer.OfBatch(&b))
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, list)
	return nil
}

// readCount reads a parameter that is a number.
func readCount(ctx *fasthttp.RequestCtx, name string, standard, most int) (int, []lang.Fault) {
	if !ctx.QueryArgs().Has(name) {
		return standard, nil
	}
	text := string(ctx.QueryArgs().Peek(name))
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, []lang.Fault{{Path: "/" + name, Message: fmt.Sprintf("want 1 to %d, not %q", most, lang.Short(text, 100))}}
	}
	return n, nil
}

// readBool reads a parameter that is true or false.
func readBool(ctx *fasthttp.RequestCtx, name string) (bool, []lang.Fault) {
	if !ctx.QueryArgs().Has(name) {
		return false, nil
	}
	switch text := string(ctx.QueryArgs().Peek(name)); text {
	case "true", "false":
		return text == "true", nil
	default:
		return false, []lang.Fault{{Path: "/" + name, Message: fmt.Sprintf("want true or false, not %q", lang.Short(text, 100))}}
	}
}

// maxResults is how many results one answer may have.
const maxResults = 1_000_000

// batchResults streams the results of a batch, one in each line.
func (s *Server) batchResults(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	most, faults := readCount(ctx, "limit", maxResults, maxResults)
	m := &api.ListBatchItems{Account: access.ForActors(account), ID: id, Order: api.OrderEnded}
	if ctx.QueryArgs().Has("order") {
		m.Order = api.BatchOrder(ctx.QueryArgs().Peek("order"))
	}
	if words := []string{string(api.OrderEnded), string(api.OrderItems)}; m.Order != api.OrderEnded && m.Order != api.OrderItems {
		faults = append(faults, lang.Fault{Path: "/order", Message: fmt.Sprintf("want %s, not %q%s",
			strings.Join(words, " or "), lang.Short(string(m.Order), 100), lang.DidYouMean(string(m.Order), words))})
	} else {
		after, fault := readCursor(ctx, resultCursors[m.Order], "the cursor of a line in the same order")
		m.After, faults = after, append(faults, fault...)
	}
	if len(faults) > 0 {
		return answer.RefuseInvalid(faults...)
	}
	return s.streamItems(ctx, m, most, func(it *api.BatchItem) any { return answer.OfBatchItem(id, it) })
}

// batchItems streams items that failed, or that did not begin, as items for another batch.
func (s *Server) batchItems(order api.BatchOrder) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
		if no := noCursor(ctx, string(order)+" items come in one part: leave cursor out"); no != nil {
			return no
		}
		m := &api.ListBatchItems{Account: access.ForActors(account), ID: id, Order: order}
		return s.streamItems(ctx, m, maxResults, func(it *api.BatchItem) any {
			if it.Item == nil {
				return nil
			}
			return it.Item
		})
	}
}

// streamItems answers with one line for each item.
func (s *Server) streamItems(ctx *fasthttp.RequestCtx, m *api.ListBatchItems, most int, line func(*api.BatchItem) any) *answer.Refusal {
	if !answer.SaneID([]byte(m.ID)) {
		return noBatch(m.ID)
	}
	leave, no := s.waits.Take(m.Account.ID)
	if no != nil {
		return no
	}
	weight, no := s.room(ctx, m.Account.ID, partWeight)
	if no != nil {
		leave()
		return no
	}
	m.Most = min(itemsAtOnce, most)
	first, no := ask(s, ctx, s.base, "read the results of a batch", m)
	if no != nil {
		weight.Release()
		leave()
		return no
	}
	r := &itemStream{base: s.base, actors: s.cfg.Actors, conn: ctx.Conn(), patience: s.cfg.WriteTimeout, ask: *m, left: most, line: line, leave: leave, weight: weight, part: min(partWeight, s.mostLoaded()),
		log: s.cfg.Log.With().Str("request", answer.RequestID(ctx)).Str("batch", m.ID).Logger()}
	r.take(first)
	weight.Is(int64(r.buf.Len()))
	ctx.SetContentType(ndjson[0])
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	ctx.Response.Header.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	ctx.SetBodyStream(r, -1)
	return nil
}

// itemsAtOnce is how many results are in memory at once.
const itemsAtOnce = 32

// itemStream is the body of an answer with one line for each item.
type itemStream struct {
	base     context.Context
	actors   Actors
	conn     net.Conn
	patience time.Duration // for the client to take what is there
	log      zerolog.Logger
	ask      api.ListBatchItems
	left     int
	line     func(*api.BatchItem) any
	leave    func()
	weight   *gate.Weight // of what is not sent
	part     int64        // how much room a part takes

	buf  bytes.Buffer
	over bool
}

func (r *itemStream) take(l *api.BatchItemsListed) {
	enc := json.NewEncoder(&r.buf)
	enc.SetEscapeHTML(false)
	for i := range l.Items {
		v := r.line(&l.Items[i])
		if v == nil {
			continue
		}
		if err := enc.Encode(v); err != nil {
			r.log.Error().Err(err).Msg("a result was not written")
			r.over = true
			return
		}
	}
	r.left -= len(l.Items)
	r.ask.After, r.ask.Most = l.Next, min(itemsAtOnce, r.left)
	r.over = !l.More || r.left <= 0
}

// Read gives what is there, and asks for more.
func (r *itemStream) Read(p []byte) (int, error) {
	for r.buf.Len() == 0 {
		if r.over {
			return 0, io.EOF
		}
		l, err := r.more()
		if err == nil && l.Refusal != nil {
			err = l.Refusal
		}
		if err != nil { // the client goes on behind the last line that it has
			if !errors.Is(err, engine.ErrDraining) {
				r.log.Error().Err(err).Msg("results not read")
			}
			return 0, io.ErrUnexpectedEOF
		}
		r.take(l)
		r.weight.Is(int64(r.buf.Len()))
	}
	_ = r.conn.SetWriteDeadline(time.Now().Add(r.patience))
	return r.buf.Read(p)
}

// more reads the next part, as soon as there is room for it.
func (r *itemStream) more() (*api.BatchItemsListed, error) {
	r.weight.Release()
	r.buf = bytes.Buffer{} // the one before may be large
	patient, cancel := context.WithTimeout(r.base, r.patience)
	defer cancel()
	if err := r.weight.Wait(patient, r.part); err != nil {
		return nil, tooMuch(err)
	}
	return api.Ask(r.base, r.actors, &r.ask)
}

// Close is called when the client is gone, too.
func (r *itemStream) Close() error {
	r.weight.Release()
	r.leave()
	return nil
}
