package persistence

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// profileWriter is the record of the task that may save a profile. It expires, so that
// a node that is gone holds no profile.
type profileWriter struct {
	Task string `json:"task"`
	// Mark is another one each time that the right is given: by it a writer knows its own
	// writes whose answers were lost.
	Mark string `json:"mark,omitempty"`
}

// ProfileWriter is the right to save a profile. One at a time has it, on all nodes of a
// store. The profile is what it was when the right was given, or nothing is saved.
type ProfileWriter struct {
	of            *Profiles
	account, name string
	profile       Profile
	revision      uint64 // of the description; zero: there is none

	key   string
	value []byte // of the writer's record

	ends time.Time // when the last of its writes expires
	late bool      // that one has no answer: it may be stored later

	held chan uint64 // the record's revision, for one at a time; zero: the right is lost
	stop chan struct{}
	done chan struct{}
}

// Lock gives a task the right to save a profile, or returns [ErrProfileBusy]. The
// profile need not be there.
func (p *Profiles) Lock(ctx context.Context, account, name, task string) (*ProfileWriter, error) {
	return p.writer(ctx, account, name, task, false)
}

func (p *Profiles) writer(ctx context.Context, account, name, task string, again bool) (*ProfileWriter, error) {
	w, err := p.lock(ctx, account, name, task, again)
	if err != nil {
		return nil, err
	}
	w.profile, w.revision, err = p.read(ctx, account, name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		w.Close()
		return nil, err
	}
	return w, nil
}

// lock gives the right without a look at the profile. Again: also to the task that has it.
func (p *Profiles) lock(ctx context.Context, account, name, task string, again bool) (*ProfileWriter, error) {
	value, err := json.Marshal(profileWriter{task, rand.Text()})
	if err != nil {
		return nil, err
	}
	key := profileWriterPrefix + account + "/" + name
	w := &ProfileWriter{of: p, account: account, name: name, key: key, value: value, held: make(chan uint64, 1), stop: make(chan struct{}), done: make(chan struct{})}
	w.ends = time.Now().Add(writerLease)
	held, err := PutOwn(ctx, p.store, Write{Key: key, Value: value, Expires: w.ends, If: new(uint64)})
	if errors.Is(err, ErrConflict) && again {
		held, err = w.takeBack(ctx, task)
	}
	if errors.Is(err, ErrConflict) {
		return nil, ErrProfileBusy
	}
	if err != nil {
		go w.leave() // it may be written, now or soon
		return nil, fmt.Errorf("lock the profile %q: %w", name, err)
	}
	w.held <- held
	go w.renew()
	return w, nil
}

// renew keeps the right until Close.
func (w *ProfileWriter) renew() {
	defer close(w.done)
	tick := time.NewTicker(writerRenew)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), writerLease-writerRenew)
		err := w.extend(ctx)
		cancel()
		if errors.Is(err, ErrRightLost) { // after other errors, the next try may come in time
			return
		}
	}
}

// ErrRightLost: a writer has not renewed its right in time, or it was taken away.
var ErrRightLost = errors.New("it was removed, or its task was away for too long")

// extend writes over the writer's record, as nobody else has.
func (w *ProfileWriter) extend(ctx context.Context) error {
	var held uint64
	select {
	case held = <-w.held:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { w.held <- held }()
	for held != 0 {
		over := held
		w.ends = time.Now().Add(writerLease)
		now, err := PutOwn(ctx, w.of.store, Write{Key: w.key, Value: w.value, Expires: w.ends, If: &over})
		if w.late = err != nil && !errors.Is(err, ErrConflict); w.late {
			return err
		}
		if err == nil {
			held = now
			return nil
		}
		if now, err = w.reread(ctx); err != nil {
			return err
		}
		if held = now; now == over { // the store is behind: the next try may come in time
			return ErrConflict
		}
	}
	return ErrRightLost
}

// reread is the revision of the writer's record, zero where it is another one's: it may be
// an own write whose answer was lost.
func (w *ProfileWriter) reread(ctx context.Context) (uint64, error) {
	r, err := w.of.store.Get(ctx, w.key)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && !bytes.Equal(r.Value, w.value):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("look who may save the profile %q: %w", w.name, err)
	}
	return r.Revision, nil
}

// Version is the version that is there, zero if there is none.
func (w *ProfileWriter) Version() int { return w.profile.Newest().Version }

// Newest is the version that is there, zero if there is none.
func (w *ProfileWriter) Newest() ProfileVersion { return w.profile.Newest() }

// State is the state that is there, nil if there is none.
func (w *ProfileWriter) State(ctx context.Context) ([]byte, error) {
	if w.revision == 0 {
		return nil, nil
	}
	state, _, err := w.of.State(ctx, w.account, w.name, 0)
	return state, err
}

// Save stores the next version. What it says of the state is described by v.
func (w *ProfileWriter) Save(ctx context.Context, state []byte, v ProfileVersion) (Profile, error) {
	out, err := w.save(ctx, state, v)
	if err != nil {
		return Profile{}, fmt.Errorf("save the profile %q: %w", w.name, err)
	}
	return out, nil
}

func (w *ProfileWriter) save(ctx context.Context, state []byte, v ProfileVersion) (Profile, error) {
	p := w.of
	if len(state) > MaxProfileState {
		return Profile{}, fmt.Errorf("%w: it has %d bytes, and %d are the limit", ErrTooMany, len(state), MaxProfileState)
	}
	if err := w.extend(ctx); err != nil { // another task may have the profile since
		return Profile{}, err
	}
	packed, err := pack(state)
	if err != nil {
		return Profile{}, err
	}
	v.Version, v.ID, v.Bytes, v.Packed, v.Saved = w.Version()+1, newVersionID(), len(state), len(packed), time.Now().UTC()
	var out Profile
	err = InTurn(ctx, p.store, "profiles/"+w.account, func(ctx context.Context) error {
		if err := p.room(ctx, w.account, w.name, len(packed)); err != nil {
			return err
		}
		out, err = w.put(ctx, packed, v)
		return err
	})
	return out, err
}

// put writes a version for which there is room.
func (w *ProfileWriter) put(ctx context.Context, packed []byte, v ProfileVersion) (Profile, error) {
	p := w.of
	for ; len(packed) > 0; v.Parts++ {
		n := min(len(packed), profilePart)
		key := partKey(w.account, w.name, v.ID, v.Parts)
		closed, err := p.seal.Close(key, packed[:n])
		if err == nil {
			_, err = p.store.Put(ctx, Write{Key: key, Value: closed, Durable: true})
		}
		if err != nil {
			return Profile{}, err
		}
		packed = packed[n:]
	}
	next := Profile{Name: w.name, Created: w.profile.Created, Versions: append(w.profile.Versions[:len(w.profile.Versions):len(w.profile.Versions)], v)}
	if next.Created.IsZero() {
		next.Created = v.Saved
	}
	next.Versions = next.Versions[max(0, len(next.Versions)-ProfileVersions):]
	key := profileKey(w.account, w.name)
	closed, err := sealJSON(p.seal, key, next)
	if err != nil {
		return Profile{}, err
	}
	revision, err := PutOwn(ctx, p.store, Write{Key: key, Value: closed, If: &w.revision, Durable: true})
	if errors.Is(err, ErrConflict) && w.sealedAgain(ctx) {
		revision, err = PutOwn(ctx, p.store, Write{Key: key, Value: closed, If: &w.revision, Durable: true})
	}
	if err != nil {
		return Profile{}, err
	}
	w.profile, w.revision = next, revision
	w.sweep(ctx)
	return next, nil
}

// sealedAgain finds out whether the description is what the writer knows, and only has
// another revision: a change of the key has sealed it again.
func (w *ProfileWriter) sealedAgain(ctx context.Context) bool {
	now, revision, err := w.of.read(ctx, w.account, w.name)
	if err != nil || revision == w.revision {
		return false
	}
	was, err := json.Marshal(w.profile)
	is, no := json.Marshal(now)
	if err != nil || no != nil || !bytes.Equal(was, is) {
		return false
	}
	w.revision = revision
	return true
}

// sweep deletes the parts of versions that are not kept, also those that a node which is
// gone has left. What stays after an error goes with the next version.
func (w *ProfileWriter) sweep(ctx context.Context) {
	kept := map[string]bool{}
	for _, v := range w.profile.Versions {
		kept[v.ID] = true
	}
	prefix := profilePartPrefix + w.account + "/" + w.name + "/"
	all, err := w.of.store.Keys(ctx, prefix, "", 1000)
	if err != nil {
		return
	}
	for _, k := range all {
		if id, _, _ := strings.Cut(strings.TrimPrefix(k.Key, prefix), "/"); !kept[id] {
			_ = w.of.store.Delete(ctx, k.Key, nil, false)
		}
	}
}

// end stops the renewal. Nothing is saved any more.
func (w *ProfileWriter) end() (held uint64) {
	close(w.stop)
	<-w.done
	return <-w.held
}

// Close gives the right back.
func (w *ProfileWriter) Close() {
	held := w.end()
	if held == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writerLeaves)
	defer cancel()
	if w.of.store.Delete(ctx, w.key, &held, false) == nil {
		return
	}
	if there, err := w.remove(ctx); err != nil || !there && w.late {
		go w.leave()
	}
}

// remove removes the writer's record as it is now, and reports whether there was one.
func (w *ProfileWriter) remove(ctx context.Context) (there bool, err error) {
	held, err := w.reread(ctx)
	if err != nil || held == 0 {
		return false, err
	}
	return true, w.of.store.Delete(ctx, w.key, &held, false)
}

// leave removes the writer's record once the store answers, also one that is written late.
// Then nobody waits until it expires.
func (w *ProfileWriter) leave() {
	ctx, cancel := context.WithDeadline(context.Background(), w.ends)
	defer cancel()
	tick := time.NewTicker(writerLooksBack)
	defer tick.Stop()
	for {
		there, err := w.remove(ctx)
		if there && err == nil || errors.Is(err, ErrClosed) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
