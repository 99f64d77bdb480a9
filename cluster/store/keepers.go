package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"troupe/persistence"
)

// Nodes that keep the store answer worker nodes: lists and keys from their index, and
// additions to counters, which they gather from all of their worker nodes. A worker node
// asks any of them, and the engine gives the question to the one that it is connected to.

const (
	// keeperSubjects begins the subjects of questions, which the keepers share.
	keeperSubjects = "troupe.keeper."
	keepers        = "keepers"
	listSubject    = keeperSubjects + "list"
	addSubject     = keeperSubjects + "add"

	// pageKeys and pageBytes bound the answer to one question.
	pageKeys  = 1000
	pageBytes = 1 << 20
	// maxAnswering bounds how many questions a keeper answers at the same time.
	maxAnswering = 256
)

// ListQuestion asks for the records below a prefix that follow a key, or for their keys.
type ListQuestion struct {
	Prefix []byte `json:"prefix"` // keys may have any bytes, and texts in JSON may not
	After  []byte `json:"after,omitempty"`
	Most   int    `json:"most"`
	Values bool   `json:"values,omitempty"`
}

// ListAnswer is one page.
type ListAnswer struct {
	Keys    []ListedKey    `json:"keys,omitempty"`
	Records []ListedRecord `json:"records,omitempty"`
	Next    []byte         `json:"next,omitempty"` // the key after which the rest follows; empty: nothing does
	Error   string         `json:"error,omitempty"`
}

// ListedKey is a [persistence.KeySize].
type ListedKey struct {
	Key  []byte `json:"key"`
	Size int    `json:"size"`
}

// ListedRecord is a [persistence.Record].
type ListedRecord struct {
	Key      []byte    `json:"key"`
	Value    []byte    `json:"value"`
	Revision uint64    `json:"revision"`
	Expires  time.Time `json:"expires,omitzero"`
}

// AddQuestion asks for an addition to a counter.
type AddQuestion struct {
	Key     []byte    `json:"key"`
	Delta   int64     `json:"delta"`
	Limit   int64     `json:"limit,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
}

// AddAnswer is what came of it.
type AddAnswer struct {
	Total  int64  `json:"total"`
	OK     bool   `json:"ok"`
	Error  string `json:"error,omitempty"`
	Quorum bool   `json:"quorum,omitempty"` // with an error: not for want of a majority
}

// serveWorkers answers worker nodes until ctx ends.
func (s *Store) serveWorkers(ctx context.Context) error {
	places := make(chan struct{}, maxAnswering)
	serve := func(subject string, most time.Duration, answer func(context.Context, []byte) any) error {
		sub, err := s.member.Conn().QueueSubscribe(subject, keepers, func(m *nats.Msg) {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return
			}
			go func() {
				defer func() { <-places }()
				bound, cancel := context.WithTimeout(ctx, most)
				defer cancel()
				b, err := json.Marshal(answer(bound, m.Data))
				if err == nil {
					err = m.Respond(b)
				}
				if err != nil && ctx.Err() == nil {
					s.log.Warn().Err(err).Str("question", subject).Msg("a worker node was not answered")
				}
			}()
		})
		if err != nil {
			return fmt.Errorf("listen to worker nodes: %w", err)
		}
		context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
		return nil
	}
	return errors.Join(
		serve(listSubject, tryTimeout, s.answerList),
		serve(addSubject, s.patience(), s.answerAdd),
	)
}

func (s *Store) answerList(ctx context.Context, text []byte) any {
	var q ListQuestion
	if err := json.Unmarshal(text, &q); err != nil {
		return &ListAnswer{Error: err.Error()}
	}
	a, err := s.page(ctx, q)
	if err != nil {
		return &ListAnswer{Error: err.Error()}
	}
	return a
}

// page makes one page of a list, from the index of this node.
func (s *Store) page(ctx context.Context, q ListQuestion) (*ListAnswer, error) {
	if err := s.upToDate(ctx); err != nil {
		return nil, err
	}
	most := min(max(q.Most, 1), pageKeys)
	keys := s.index.keys(string(q.Prefix), string(q.After), most)
	full := len(keys) == most
	a := &ListAnswer{}
	if !q.Values {
		for _, k := range keys {
			a.Keys = append(a.Keys, ListedKey{[]byte(k.Key), k.Size})
		}
	} else {
		bytes := 0
		for i, k := range keys {
			if bytes += k.Size; i > 0 && bytes > pageBytes {
				keys, full = keys[:i], true
				break
			}
		}
		all := make([]found, 0, len(keys))
		for _, k := range keys {
			f := found{Record: persistence.Record{Key: k.Key}}
			if e, known := s.index.last(k.Key); known && e.kept {
				f = found{e.record(k.Key), true}
			}
			all = append(all, f)
		}
		if err := s.fill(ctx, all); err != nil {
			return nil, err
		}
		for _, f := range all {
			if f.kept {
				a.Records = append(a.Records, ListedRecord{[]byte(f.Key), f.Value, f.Revision, f.Expires})
			}
		}
	}
	if full {
		a.Next = []byte(keys[len(keys)-1].Key)
	}
	return a, nil
}

func (s *Store) answerAdd(ctx context.Context, text []byte) any {
	var q AddQuestion
	err := json.Unmarshal(text, &q)
	a := &AddAnswer{}
	if err == nil {
		err = errors.Join(s.enter(ctx), persistence.CheckKey(string(q.Key)))
	}
	if err == nil { // without a limit nothing is to be decided
		a.Total, a.OK, err = s.add(string(q.Key), &addition{ctx: ctx, delta: q.Delta, limit: q.Limit, expires: q.Expires, gathers: q.Limit <= 0})
	}
	if err != nil {
		a.Error, a.Quorum = err.Error(), !errors.Is(err, persistence.ErrNoQuorum) && ctx.Err() == nil && s.ctx.Err() == nil
	}
	return a
}

// askKeeper asks a keeper, which answers within a time.
func askKeeper[A any](ctx context.Context, s *Store, subject string, q any) (*A, error) {
	b, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	r, err := s.member.Conn().RequestWithContext(ctx, subject, b)
	if err != nil {
		return nil, err
	}
	a := new(A)
	if err := json.Unmarshal(r.Data, a); err != nil {
		return nil, fmt.Errorf("read what a keeper answers: %w", err)
	}
	return a, nil
}

// askPages asks for all pages of a list, up to so many records or keys; zero: all.
func (s *Store) askPages(ctx context.Context, q ListQuestion, most int, take func(*ListAnswer)) error {
	for got := 0; ; {
		q.Most = pageKeys
		if most > 0 {
			q.Most = min(most-got, pageKeys)
		}
		var a *ListAnswer
		err := s.untilAnswered(ctx, func(try context.Context) (err error) {
			if a, err = askKeeper[ListAnswer](try, s, listSubject, q); err == nil && a.Error != "" {
				err = errors.New(a.Error)
			}
			return err
		})
		if err != nil {
			return err
		}
		take(a)
		got += len(a.Keys) + len(a.Records)
		if q.After = a.Next; len(a.Next) == 0 || most > 0 && got >= most {
			return nil
		}
	}
}

// listAsked is [Store.List] of a worker node.
func (s *Store) listAsked(ctx context.Context, prefix string) ([]persistence.Record, error) {
	list := []persistence.Record{}
	err := s.askPages(ctx, ListQuestion{Prefix: []byte(prefix), Values: true}, 0, func(a *ListAnswer) {
		for _, r := range a.Records {
			list = append(list, persistence.Record{Key: string(r.Key), Value: r.Value, Revision: r.Revision, Expires: r.Expires})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list %q: %w", prefix, err)
	}
	return list, nil
}

// keysAsked is [Store.Keys] of a worker node.
func (s *Store) keysAsked(ctx context.Context, prefix, after string, most int) (list []persistence.KeySize, err error) {
	if most <= 0 {
		return nil, nil
	}
	err = s.askPages(ctx, ListQuestion{Prefix: []byte(prefix), After: []byte(after)}, most, func(a *ListAnswer) {
		for _, k := range a.Keys {
			list = append(list, persistence.KeySize{Key: string(k.Key), Size: k.Size})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the keys of %q: %w", prefix, err)
	}
	return list, nil
}

// addAsked is [Store.Add] of a worker node. An addition is sent again only where nobody
// has had it: it may take effect although it gets no answer.
func (s *Store) addAsked(ctx context.Context, q AddQuestion) (int64, bool, error) {
	for end := time.Now().Add(s.patience()); ; {
		try, cancel := context.WithDeadline(ctx, end)
		a, err := askKeeper[AddAnswer](try, s, addSubject, q)
		cancel()
		switch {
		case err == nil && a.Error == "":
			return a.Total, a.OK, nil
		case err == nil && a.Quorum:
			return 0, false, errors.New(a.Error)
		case err == nil:
			return 0, false, fmt.Errorf("%w: %s", persistence.ErrNoQuorum, a.Error)
		case ctx.Err() != nil:
			return 0, false, context.Cause(ctx)
		case s.ctx.Err() != nil:
			return 0, false, persistence.ErrClosed
		case !unsent(err) || time.Now().Add(retryPause).After(end):
			return 0, false, fmt.Errorf("add to %q: %w: %w", q.Key, persistence.ErrNoQuorum, err)
		}
		pause(ctx, retryPause)
	}
}

// unsent reports whether certainly nobody has had a question.
func unsent(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded)
}
