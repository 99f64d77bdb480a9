package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/lease"
	"troupe/actors/records"
	"troupe/persistence"
)

// OfflineData is what a node that does not run has left on disk.
type OfflineData struct {
	Store persistence.Store
	Files *persistence.Folder
	Seal  *persistence.Seal // nil: the key is lost, and what it has closed
}

// Imported counts what an import has copied.
type Imported struct {
	persistence.Adoption
	Tasks    int `json:"tasks"` // asynchronous ones, with their results
	Answers  int `json:"answersToKeys"`
	Sessions int `json:"sessions"`
	Workers  int `json:"workers"`
	Files    int `json:"files"`
}

// Import brings what a node has left into the store and the files of another one,
// which may run. From then on it is that node's. Import leaves existing data alone,
// so an interrupted one may be repeated.
//
// Of the configuration only Store, Files, Seal, Node and Log matter.
func Import(ctx context.Context, from OfflineData, to Config) (*Imported, error) {
	i := &importing{from: from}
	var err error
	if i.old, err = records.Open(records.Config{Store: from.Store, Files: from.Files, Seal: from.Seal, Log: to.Log}); err == nil {
		i.new, err = records.Open(to.records())
	}
	if err == nil {
		err = noneQueued(ctx, from.Store)
	}
	var files persistence.Adopter
	if err == nil {
		var ok bool
		if files, ok = to.Files.(persistence.Adopter); !ok {
			err = errors.New("these files take over no others")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	adopted, err := persistence.AdoptAccounts(ctx, from.Store, to.Store, from.Seal, to.Seal)
	i.Adoption = *adopted
	i.endpoints(ctx)
	// A record that names a file never comes before it, and what a record says
	// that there is never after that.
	for _, each := range []func(context.Context) error{
		func(ctx context.Context) error { return i.files(ctx, files) }, i.tasks, i.keys, i.sessions, i.workers, to.Store.Sync,
	} {
		if err == nil {
			err = each(ctx)
		}
	}
	if err != nil {
		return &i.Imported, fmt.Errorf("import: %w", err)
	}
	return &i.Imported, nil
}

// noneQueued refuses an import while tasks wait: a cluster has no queue.
func noneQueued(ctx context.Context, store persistence.Store) error {
	notices, err := store.Keys(ctx, records.NoticePrefix, "", 1)
	if err == nil && len(notices) > 0 {
		return errors.New("notices wait to be delivered: let the single node deliver them first")
	}
	waiting, err := store.Keys(ctx, backlog.Prefix, "", 1)
	if err == nil && len(waiting) > 0 {
		err = errors.New("tasks wait in the queue, and a cluster has none: let the single node work them off first")
	}
	return err
}

// importing is an import in progress.
type importing struct {
	Imported
	from     OfflineData
	old, new *records.Store
}

func (i *importing) leave(format string, a ...any) {
	i.Left = append(i.Left, fmt.Sprintf(format, a...))
}

// sealedIn reports whether a file has a value that is not the same in the other
// store: it is read and written instead.
func sealedIn(b persistence.Blob) bool {
	return strings.HasPrefix(b.Label, records.StatePrefix) || strings.HasPrefix(b.Label, records.KeyPrefix)
}

// endpoints says which receivers of notices stay behind.
func (i *importing) endpoints(ctx context.Context) {
	const most = 1000
	if keys, err := i.from.Store.Keys(ctx, records.EndpointPrefix, "", most); err == nil && len(keys) > 0 {
		i.leave("%d endpoints of notices: name them again in the cluster", len(keys))
	}
}

func (i *importing) files(ctx context.Context, to persistence.Adopter) error {
	for b, err := range i.from.Files.All(ctx) {
		if err != nil {
			return fmt.Errorf("read files: %w", err)
		}
		if !i.Same(b.Account) || sealedIn(b) {
			continue
		}
		switch err := i.file(ctx, b, to); {
		case errors.Is(err, persistence.ErrConflict):
			i.Present++
		case errors.Is(err, persistence.ErrNotFound): // it has expired
		case err != nil:
			return fmt.Errorf("bring the file %s: %w", b.ID, err)
		default:
			i.Files++
		}
	}
	return nil
}

func (i *importing) file(ctx context.Context, b persistence.Blob, to persistence.Adopter) error {
	b, r, err := i.from.Files.Open(ctx, b.ID)
	if err != nil {
		return err
	}
	defer r.Close()
	b.Durable = true
	return to.Adopt(ctx, b, r)
}

// tasks brings asynchronous tasks. One that had not ended was interrupted.
func (i *importing) tasks(ctx context.Context) error {
	var outcomes, tasks []persistence.Record
	recs, err := i.old.Store.List(ctx, records.TaskPrefix)
	if err != nil {
		return fmt.Errorf("read tasks: %w", err)
	}
	for _, r := range recs {
		var t records.Task
		if json.Unmarshal(r.Value, &t) != nil || !i.Same(t.Account) {
			continue
		}
		t.Node = i.new.Node
		out, err := i.old.Store.Get(ctx, records.OutcomePrefix+t.ID)
		switch {
		case t.Status == api.TaskPending:
			t.Status, t.Ended = api.TaskFailed, time.Now()
			text, err := json.Marshal(records.Interrupted())
			if err != nil {
				return fmt.Errorf("write how the task %s ended: %w", t.ID, err)
			}
			out = persistence.Record{Key: records.OutcomePrefix + t.ID, Value: persistence.Inline(text), Expires: t.Expires()}
		case errors.Is(err, persistence.ErrNotFound):
			continue // its time is over
		case err != nil:
			return fmt.Errorf("read how the task %s ended: %w", t.ID, err)
		}
		if r.Value, err = json.Marshal(t); err != nil {
			return fmt.Errorf("write the task %s: %w", t.ID, err)
		}
		r.Expires = t.Expires()
		outcomes, tasks = append(outcomes, out), append(tasks, r)
	}
	if _, _, err = persistence.AdoptRecords(ctx, i.new.Store, outcomes); err != nil {
		return err
	}
	return i.adopt(ctx, tasks, &i.Tasks)
}

func (i *importing) adopt(ctx context.Context, all []persistence.Record, count *int) error {
	brought, present, err := persistence.AdoptRecords(ctx, i.new.Store, all)
	*count, i.Present = *count+brought, i.Present+present
	return err
}

// keys brings the answers to keys, so that a request is not played again because
// its client comes to the cluster now.
func (i *importing) keys(ctx context.Context) error {
	recs, err := i.old.Store.List(ctx, records.KeyPrefix)
	if err != nil {
		return fmt.Errorf("read the answers to keys: %w", err)
	}
	for _, r := range recs {
		account, _, _ := strings.Cut(strings.TrimPrefix(r.Key, records.KeyPrefix), "/")
		if !i.Same(account) {
			continue
		}
		var k records.Key
		err := records.ReadJSON(ctx, i.old.Plain, r.Key, &k)
		if err == nil {
			err = i.new.CloseAnswerFrom(i.old, r.Key, &k)
		}
		if err != nil {
			i.leave("the answer to a key of the account %q: it cannot be read", persistence.AccountName(account))
			continue
		}
		k.Node = i.new.Node
		b, err := json.Marshal(k)
		if err != nil {
			return fmt.Errorf("write an answer to a key: %w", err)
		}
		if err := i.put(ctx, i.new.Plain, persistence.Item{Key: r.Key, Account: account, Value: b, Expires: r.Expires}, &i.Answers); err != nil {
			return err
		}
	}
	return nil
}

// put stores a value if the key has none.
func (i *importing) put(ctx context.Context, s *persistence.ValueStore, it persistence.Item, count *int) error {
	if _, err := i.new.Store.Get(ctx, it.Key); err == nil {
		i.Present++
		return nil
	} else if !errors.Is(err, persistence.ErrNotFound) {
		return fmt.Errorf("look for %s: %w", it.Key, err)
	}
	it.New, it.Durable = true, true
	switch err := s.Put(ctx, it); {
	case errors.Is(err, persistence.ErrConflict):
		i.Present++
	case err != nil:
		return fmt.Errorf("bring %s: %w", it.Key, err)
	default:
		*count++
	}
	return nil
}

// importedOwner owns an imported session until a request comes for it: no node has
// this name, and its lease is over, so the node with the request restores it.
const importedOwner = "(imported)"

// sessions brings sessions whose time is not over, with their state sealed anew.
func (i *importing) sessions(ctx context.Context) error {
	list, err := i.old.Store.List(ctx, records.SessionPrefix)
	if err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	var all []persistence.Record
	for _, r := range list {
		var s records.Session
		if json.Unmarshal(r.Value, &s) != nil || !i.Same(s.Account) || !time.Now().Before(s.Deadline) {
			continue
		}
		if _, err := i.new.Store.Get(ctx, r.Key); err == nil {
			i.Present++
			continue
		} else if !errors.Is(err, persistence.ErrNotFound) {
			return fmt.Errorf("look for a session: %w", err)
		}
		state, err := i.old.Sealed.Get(ctx, records.StateKey(s.ID, s.State))
		if errors.Is(err, persistence.ErrSealed) || errors.Is(err, persistence.ErrNotFound) {
			i.leave("a session of the account %q: its state cannot be read", persistence.AccountName(s.Account))
			continue
		}
		if err != nil {
			return fmt.Errorf("read the state of a session: %w", err)
		}
		var states int // the report has them with their sessions
		s.Node, s.Epoch, s.State = importedOwner, 0, 0
		if r.Value, err = json.Marshal(s); err != nil {
			return fmt.Errorf("write a session: %w", err)
		}
		it := persistence.Item{Key: records.StateKey(s.ID, 0), Account: s.Account, Value: state, Expires: r.Expires}
		present := i.Present
		if err := i.put(ctx, i.new.Sealed, it, &states); err != nil {
			return err
		}
		i.Present = present
		all = append(all, r)
	}
	if len(all) > 0 {
		over, err := json.Marshal(lease.Record{Node: importedOwner, Over: true})
		if err != nil {
			return fmt.Errorf("write whose sessions they are: %w", err)
		}
		if _, _, err = persistence.AdoptRecords(ctx, i.new.Store, []persistence.Record{{Key: lease.Prefix + importedOwner, Value: over}}); err != nil {
			return err
		}
	}
	return i.adopt(ctx, all, &i.Sessions)
}

// workers brings the workers that were added. They start with the node.
func (i *importing) workers(ctx context.Context) error {
	there, err := i.new.Workers(ctx, func(w records.Worker) bool { return w.Node == i.new.Node })
	if err != nil {
		return fmt.Errorf("read workers: %w", err)
	}
	added, err := i.old.Workers(ctx, func(w records.Worker) bool { return w.Owner == "" || i.Same(w.Owner) })
	if err != nil {
		return fmt.Errorf("read workers: %w", err)
	}
	var all []persistence.Record
	for _, w := range added {
		if t := named(there, w.Name); t != nil && t.ID != w.ID {
			i.leave("the worker %q: this node has another one of this name", w.Name)
			continue
		}
		w.Node = i.new.Node
		b, err := json.Marshal(w)
		if err != nil {
			return fmt.Errorf("write the worker %s: %w", w.ID, err)
		}
		all = append(all, persistence.Record{Key: records.WorkerPrefix + w.ID, Value: b})
	}
	return i.adopt(ctx, all, &i.Workers)
}
