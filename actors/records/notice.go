package records

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/owned"
	"troupe/persistence/sealed"
)

// Notice is the record of a notice: of one that is to be delivered, or of what became
// of it.
type Notice struct {
	ID       string           `json:"id"`
	Account  string           `json:"account"`
	URL      string           `json:"url"`
	Event    string           `json:"event"`
	At       time.Time        `json:"at"` // when the event happened
	Task     *NoticeTask      `json:"task,omitempty"`
	Batch    *NoticeBatch     `json:"batch,omitempty"`
	Off      *EndpointState   `json:"off,omitempty"` // an endpoint that was switched off
	Status   api.NoticeStatus `json:"status"`
	Attempts int              `json:"attempts,omitempty"`
	Tries    []api.NoticeTry  `json:"tries,omitempty"` // the last ones
	Round    int              `json:"round,omitempty"` // attempts since it was last sent by hand
	Since    time.Time        `json:"since"`           // the first attempt was due
	Next     time.Time        `json:"next,omitzero"`
	Ended    time.Time        `json:"ended,omitzero"`
}

// NoticeTask is a task that has ended.
type NoticeTask struct {
	ID       string         `json:"id"`
	Status   api.TaskStatus `json:"status"`
	Code     engine.Code    `json:"code,omitempty"`
	Attempts int            `json:"attempts,omitempty"`
	Ended    time.Time      `json:"ended"`
	Batch    *api.BatchRef  `json:"batch,omitempty"`
	Result   *api.Executed  `json:"result,omitempty"` // where the notice has it in it
	Large    bool           `json:"large,omitempty"`  // it was to have it, and that is too large
	// Apart says that the result is at [NoticeResultKey], for all receivers. Large is set with
	// it, for releases that know of no such place.
	Apart bool `json:"apart,omitempty"`
}

// NoticeBatch is a batch that has ended.
type NoticeBatch struct {
	ID     string         `json:"id"`
	Name   string         `json:"name,omitempty"`
	State  api.BatchState `json:"state"`
	Items  int            `json:"items"`
	Ended  int            `json:"ended"`
	Failed int            `json:"failed"`
}

// The events that notices report.
const (
	EventTaskComplete = "task.complete"
	EventTaskFailed   = "task.failed"
	EventBatchEnd     = "batch.end"
	EventEndpointOff  = "endpoint.off"
)

// How long notices are kept: in the log, and if they are never delivered.
const (
	NoticeRetention = 7 * 24 * time.Hour
	noticeAbandoned = 2 * NoticeRetention
)

// The keys of notices begin so: of those to be delivered, in the order of their times,
// and of the others, the newest first.
const (
	NoticePrefix    = "notice/"
	NoticeLogPrefix = "noticelog/"
)

var (
	_ = sealed.Register(sealed.Kind{Prefix: NoticePrefix, Holds: "notices that wait"})
	_ = sealed.Register(sealed.Kind{Prefix: NoticeLogPrefix, Holds: "notices in the log"})
	_ = owned.Register(owned.Kind{Prefix: NoticePrefix, By: owned.Key})
	_ = owned.Register(owned.Kind{Prefix: NoticeLogPrefix, By: owned.Key})
)

// noticeID is the identifier of a notice. It is the same whenever the same end is
// written, so that receivers know one that comes twice.
func noticeID(from time.Time, about, url string) string {
	sum := sha256.Sum256([]byte(about + "\n" + url))
	return fmt.Sprintf("msg_%011x_%s", from.UnixMilli(), strings.ToLower(base32.StdEncoding.EncodeToString(sum[:15])))
}

// maxNoticeResult is how large a result may be that a notice has in it.
const maxNoticeResult = 1 << 20

const noticeIDLength = 4 + 11 + 1 + 24

// NoticeKey is where a notice is that is to be delivered.
func NoticeKey(account, id string) string { return NoticePrefix + account + "/" + id }

// NoticeLogKey is where a notice is that was delivered or given up.
func NoticeLogKey(account, id string) string {
	ms, err := strconv.ParseUint(id[4:15], 16, 44)
	if err != nil {
		ms = 0
	}
	return fmt.Sprintf("%s%s/%011x/%s", NoticeLogPrefix, account, 1<<44-1-ms, id)
}

// Notices are the notices on the disk.
type Notices struct{ r *Store }

// Notices returns the notices.
func (r *Store) Notices() Notices { return Notices{r} }

// SealNotify is how the record of a task keeps its receivers.
func (r *Store) SealNotify(task string, all []engine.Notify) ([]byte, error) {
	if len(all) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("write the receivers of %s: %w", task, err)
	}
	return r.seal.Close(TaskPrefix+task, b)
}

// receivers are those that a task names: in its record, or, where it has not begun, in
// that of the queue.
func (r *Store) receivers(ctx context.Context, t Task, q *Queued) (all []engine.Notify, err error) {
	switch {
	case t.Notify != nil:
		b, err := r.seal.Open(TaskPrefix+t.ID, t.Notify)
		if errors.Is(err, persistence.ErrSealed) { // the record was sealed again after it was read
			if now, _, no := r.taskAt(ctx, t.ID); no == nil && now.Notify != nil && !bytes.Equal(now.Notify, t.Notify) {
				b, err = r.seal.Open(TaskPrefix+t.ID, now.Notify)
			}
		}
		if err == nil {
			err = json.Unmarshal(b, &all)
		}
		return all, err
	case q != nil && bytes.Contains(q.Task, []byte("notify")):
		task, err := q.Parse()
		if err != nil {
			return nil, err
		}
		return task.Notify, nil
	}
	return nil, nil
}

// announce writes the notices of the end of a task, before its record says that it has
// ended. What it writes again is the same.
func (r *Store) announce(ctx context.Context, t Task, q *Queued, out *engine.Outcome, code engine.Code) ([]Notice, error) {
	list, err := r.noticesOf(ctx, t, q, out, code, false)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list, r.Notices().Put(ctx, list)
}

// noticesOf makes the notices of the end of a task. Without an outcome it is read where it is
// needed. Late leaves out the endpoints that were named after the end.
func (r *Store) noticesOf(ctx context.Context, t Task, q *Queued, out *engine.Outcome, code engine.Code, late bool) (list []Notice, err error) {
	own, err := r.receivers(ctx, t, q)
	if err != nil { // the key is lost, or a later version has written it: the task has ended all the same
		r.log.Error().Err(err).Str("task", t.ID).Msg("receivers of a task not read: they get no notice")
	}
	before := time.Time{}
	if late {
		before = t.Ended
	}
	all, err := r.Notices().with(ctx, t.Account, own, before)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	about := NoticeTask{ID: t.ID, Status: outcome.Counted(t.Status, code), Code: code, Ended: t.Ended, Attempts: 1}
	if t.Queue != nil {
		about.Attempts = t.Queue.Attempts
	}
	if q != nil {
		about.Batch = q.Batch
	}
	event, wanted := EventTaskComplete, []engine.NoticeEvent{engine.NoticeEnd}
	if about.Status == api.TaskFailed {
		event, wanted = EventTaskFailed, append(wanted, engine.NoticeFailed)
	}
	var result *api.Executed // the same for all
	large := false
	for _, to := range all {
		if !to.Wants(wanted...) {
			continue
		}
		of := about
		if to.Result && result == nil && !large {
			if out == nil {
				p, err := r.ended(ctx, t)
				if err != nil {
					return nil, err
				}
				out = p.Executed.Outcome
			}
			result = t.Executed(out)
			if b, err := json.Marshal(result); err != nil || len(b) > maxNoticeResult {
				result, large = nil, true
			}
		}
		if to.Result {
			of.Result, of.Large = result, large
		}
		list = append(list, Notice{ID: noticeID(t.Started, t.ID, to.URL), Account: t.Account, URL: to.URL, Event: event, At: t.Ended, Task: &of})
	}
	return list, nil
}

// OfBatch writes the notices of the end of a batch.
func (u Notices) OfBatch(ctx context.Context, b Batch) ([]Notice, error) {
	all, err := u.with(ctx, b.Account, b.Notify, time.Time{})
	if err != nil {
		return nil, err
	}
	about := NoticeBatch{ID: b.ID, Name: b.Name, State: b.State, Items: b.Items}
	if b.Sum != nil {
		about.Ended = b.Sum.Ended
		for _, f := range b.Sum.Failed {
			about.Failed += f.Count
		}
	}
	var list []Notice
	for _, to := range all {
		if to.Wants(engine.NoticeBatchEnd) {
			id := noticeID(b.Created, fmt.Sprintf("%s/%d", b.ID, b.Round), to.URL)
			list = append(list, Notice{ID: id, Account: b.Account, URL: to.URL, Event: EventBatchEnd, At: b.Ended, Batch: &about})
		}
	}
	if u.r.Node != "" { // another node may have written them
		_, err := u.putNew(ctx, list)
		return list, err
	}
	return list, u.Put(ctx, list)
}

// OfEndpoint writes the notices about an endpoint that was switched off, for the others
// of the account.
func (u Notices) OfEndpoint(ctx context.Context, account string, off EndpointState) ([]Notice, error) {
	all, err := u.with(ctx, account, nil, time.Time{})
	if err != nil {
		return nil, err
	}
	var list []Notice
	for _, to := range all {
		if to.URL != off.URL {
			list = append(list, Notice{ID: noticeID(off.Off, off.URL, to.URL), Account: account, URL: to.URL, Event: EventEndpointOff, At: off.Off, Off: &off})
		}
	}
	return list, u.Put(ctx, list)
}

// with adds the endpoints of an account to receivers: those that were named before a time,
// or all. One that both name gets the events of both.
func (u Notices) with(ctx context.Context, account string, own []engine.Notify, before time.Time) ([]engine.Notify, error) {
	points, err := u.Endpoints(ctx, account)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(own)
	for _, p := range points {
		if !before.IsZero() && p.Created.After(before) {
			continue
		}
		if i := slices.IndexFunc(all, func(n engine.Notify) bool { return n.URL == p.URL }); i >= 0 {
			all[i].Events = slices.Concat(all[i].Events, p.Events)
			all[i].Result = all[i].Result || p.Result
		} else {
			all = append(all, p.Notify)
		}
	}
	return all, nil
}

// Put writes notices that are to be delivered. They survive a loss of power with the
// next durable write.
func (u Notices) Put(ctx context.Context, list []Notice) error {
	if err := u.apart(ctx, list, false); err != nil {
		return err
	}
	for i := range list {
		n := &list[i]
		n.Status = api.NoticeWaiting
		if n.Since.IsZero() {
			n.Since = n.At
		}
		if err := u.put(ctx, NoticeKey(n.Account, n.ID), *n, n.At.Add(noticeAbandoned), false); err != nil {
			return err
		}
	}
	return nil
}

// putNew is Put for those notices that are not there yet, delivered or not: several nodes
// may write those of one end. It returns those that were not delivered.
func (u Notices) putNew(ctx context.Context, list []Notice) (wait []Notice, err error) {
	if err := u.apart(ctx, list, true); err != nil {
		return nil, err
	}
	for i := range list {
		n := &list[i]
		_, err := u.r.Store.Get(ctx, NoticeLogKey(n.Account, n.ID))
		if err == nil {
			continue
		} else if !errors.Is(err, persistence.ErrNotFound) {
			return nil, err
		}
		n.Status, n.Since = api.NoticeWaiting, n.At
		b, err := json.Marshal(n)
		if err != nil {
			return nil, fmt.Errorf("write the notice %s: %w", n.ID, err)
		}
		err = u.r.Sealed.Put(ctx, persistence.Item{
			Key: NoticeKey(n.Account, n.ID), Account: n.Account, Value: b, Expires: n.At.Add(noticeAbandoned), New: true, Durable: true,
		})
		if err != nil && !errors.Is(err, persistence.ErrConflict) {
			return nil, err
		}
		wait = append(wait, *n)
	}
	return wait, nil
}

// Retry writes when the next attempt is.
func (u Notices) Retry(ctx context.Context, n Notice) error {
	return u.put(ctx, NoticeKey(n.Account, n.ID), n, n.Since.Add(noticeAbandoned), false)
}

// End moves a notice to the log. If the process ends between the two writes, it is
// delivered again, with the same identifier.
func (u Notices) End(ctx context.Context, n Notice) error {
	if err := u.put(ctx, NoticeLogKey(n.Account, n.ID), n, n.Ended.Add(NoticeRetention), false); err != nil {
		return err
	}
	return u.r.Sealed.Delete(ctx, NoticeKey(n.Account, n.ID), false)
}

// Again moves a notice from the log back to those that are to be delivered.
func (u Notices) Again(ctx context.Context, n Notice) error {
	if err := u.put(ctx, NoticeKey(n.Account, n.ID), n, n.Since.Add(noticeAbandoned), true); err != nil {
		return err
	}
	return u.r.Sealed.Delete(ctx, NoticeLogKey(n.Account, n.ID), false)
}

func (u Notices) put(ctx context.Context, key string, n Notice, expires time.Time, durable bool) error {
	if err := u.lasts(ctx, n, expires); err != nil {
		return err
	}
	b, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("write the notice %s: %w", n.ID, err)
	}
	return u.r.Sealed.Put(ctx, persistence.Item{Key: key, Account: n.Account, Value: b, Expires: expires, Durable: durable})
}
