package records

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/persistence"
	"troupe/persistence/owned"
	"troupe/persistence/sealed"
)

// KeyRetention is how long the answer to a key is kept.
const KeyRetention = 24 * time.Hour

// Key is the record of a request with a key, written before the request begins.
type Key struct {
	Digest []byte    `json:"digest"`
	TaskID string    `json:"taskId"`
	Made   time.Time `json:"made"`
	Node   string    `json:"node,omitempty"` // that plays it
	// Started answers the start of an asynchronous task, Executed any other. It
	// has no outcome until the task has ended.
	Started  *api.Started  `json:"started,omitempty"`
	Executed *api.Executed `json:"executed,omitempty"`
	// Call: the request runs no task. Answer is what it was answered, sealed, since it may
	// have a secret in it; none until it was carried out.
	Call   bool   `json:"call,omitempty"`
	Answer []byte `json:"answer,omitempty"`
}

var _ = sealed.Register(sealed.Kind{Prefix: KeyPrefix, Form: sealed.Field, Field: "answer", Holds: "answers to repeated requests"})

var _ = owned.Register(owned.Kind{Prefix: KeyPrefix, By: owned.Key})

// maxAnswer bounds the answer to a call, so that its record is no file.
const maxAnswer = 128 << 10

// EndCall writes the answer to a call.
func (r *Store) EndCall(ctx context.Context, account, key string, k Key, answer []byte) (err error) {
	if len(answer) > maxAnswer {
		return fmt.Errorf("write the answer to a key: it has %d bytes, more than %d", len(answer), maxAnswer)
	}
	k.Node = r.Node
	if k.Answer, err = r.seal.Close(KeyPath(account, key), answer); err != nil {
		return fmt.Errorf("write the answer to a key: %w", err)
	}
	return putJSON(ctx, r.Plain, KeyPath(account, key), account, k.Made.Add(KeyRetention), k)
}

// CallAnswer is the answer to a call.
func (r *Store) CallAnswer(account, key string, k *Key) ([]byte, error) {
	return r.openAnswer(KeyPath(account, key), k)
}

func (r *Store) openAnswer(path string, k *Key) ([]byte, error) {
	b, err := r.seal.Open(path, k.Answer)
	if err != nil {
		return nil, fmt.Errorf("read the answer to a key: %w", err)
	}
	return b, nil
}

// CloseAnswerFrom seals the answer in a record of another store for this one.
func (r *Store) CloseAnswerFrom(old *Store, path string, k *Key) error {
	if k.Answer == nil {
		return nil
	}
	b, err := old.openAnswer(path, k)
	if err == nil {
		k.Answer, err = r.seal.Close(path, b)
	}
	return err
}

// DropKey forgets a key whose request was refused.
func (r *Store) DropKey(ctx context.Context, account, key string) error {
	return r.Plain.Delete(ctx, KeyPath(account, key), true)
}

// KeyPath is where the record of a key is. Clients choose keys freely, so the
// path has the key's hash.
func KeyPath(account, key string) string {
	sum := sha256.Sum256([]byte(key))
	return keyPrefixOf(account) + hex.EncodeToString(sum[:])
}

// KeyPrefix begins the keys under which requests with a key are kept.
const KeyPrefix = "key/"

func keyPrefixOf(account string) string { return KeyPrefix + account + "/" }

// BeginKey writes the record of a key before its task begins. If another node has
// written one first, that node runs the task, and the error is
// [persistence.ErrConflict]. So it is where another task of the key is in the queue.
func (r *Store) BeginKey(ctx context.Context, account, key string, k Key) error {
	k.Node = r.Node
	b, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	return r.Plain.Put(ctx, persistence.Item{
		Key: KeyPath(account, key), Account: account, Value: b, Expires: k.Made.Add(KeyRetention), Durable: true,
		New: r.Node != "" || k.Call || k.Started != nil && k.Started.Queued != nil,
	})
}

// UndoKey removes the record of a key whose request has not begun, because nobody knew
// whether the record was written. Another one's, or one with an answer, stays.
func (r *Store) UndoKey(ctx context.Context, account, key, task string) error {
	for {
		k, revision, err := r.keyAt(ctx, account, key)
		if errors.Is(err, persistence.ErrNotFound) || err == nil && (k.TaskID != task || k.Answer != nil || k.Executed != nil && k.Executed.Outcome != nil) {
			return nil
		}
		if err == nil {
			err = r.Store.Delete(ctx, KeyPath(account, key), &revision, true)
		}
		if !errors.Is(err, persistence.ErrConflict) {
			return err
		}
	}
}

// EndKey writes how the task of a key has ended, unless its record has another task or
// an end already: then it returns that one.
func (r *Store) EndKey(ctx context.Context, account, key string, k Key) (found *Key, err error) {
	k.Node = r.Node
	it := persistence.Item{Key: KeyPath(account, key), Account: account, Expires: k.Made.Add(KeyRetention), Durable: true}
	if it.Value, err = json.Marshal(k); err != nil {
		return nil, fmt.Errorf("write a key: %w", err)
	}
	if r.Node == "" { // there are no other nodes
		return nil, r.Plain.Put(ctx, it)
	}
	for {
		now, revision, err := r.keyAt(ctx, account, key)
		it.New, it.Over = errors.Is(err, persistence.ErrNotFound), &revision
		switch {
		case err != nil && !it.New:
			return nil, err
		case err == nil && (now.TaskID != k.TaskID || now.answered()):
			return now, nil
		}
		if err = r.Plain.Put(ctx, it); !errors.Is(err, persistence.ErrConflict) {
			return nil, err
		}
	}
}

// GiveUpKey records that what a node has begun of a request with a key is lost, unless
// the record has an end. It returns the record, and whether that was so.
func (r *Store) GiveUpKey(ctx context.Context, account, key, node string) (k *Key, lost bool, err error) {
	for {
		k, revision, err := r.keyAt(ctx, account, key)
		if err != nil || k.Call || k.answered() || k.Node != node {
			return k, false, err
		}
		k.Executed = k.Executed.With(lostTask())
		b, err := json.Marshal(k)
		if err != nil {
			return nil, false, fmt.Errorf("write a key: %w", err)
		}
		err = r.Plain.Put(ctx, persistence.Item{
			Key: KeyPath(account, key), Account: account, Value: b, Expires: k.Made.Add(KeyRetention), Durable: true, Over: &revision,
		})
		if !errors.Is(err, persistence.ErrConflict) {
			return k, err == nil, err
		}
	}
}

// answered reports whether the record says what the request is answered with.
func (k *Key) answered() bool {
	return k.Started != nil || k.Executed == nil || k.Executed.Outcome != nil
}

func (r *Store) keyAt(ctx context.Context, account, key string) (*Key, uint64, error) {
	b, revision, err := r.Plain.GetRevision(ctx, KeyPath(account, key))
	if err != nil {
		return nil, 0, err
	}
	k := new(Key)
	if err := json.Unmarshal(b, k); err != nil {
		return nil, 0, fmt.Errorf("read a key: %w", err)
	}
	return k, revision, nil
}

// AnswerSize is how many bytes there are to load for the answer to a key; zero: none is kept.
func (r *Store) AnswerSize(ctx context.Context, account, key string) (int64, error) {
	n, err := r.Plain.Size(ctx, KeyPath(account, key))
	if errors.Is(err, persistence.ErrNotFound) {
		return 0, nil
	}
	return n, err
}

// Key reads the record of a key.
func (r *Store) Key(ctx context.Context, account, key string) (*Key, error) {
	k := new(Key)
	if err := ReadJSON(ctx, r.Plain, KeyPath(account, key), k); err != nil {
		return nil, err
	}
	return k, nil
}
