package records

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/persistence"
)

// keepKey is how long the answer to a key is kept.
const keyRetention = 24 * time.Hour

// keyRecord is what is on disk of a request with a key, from before it begins.
type Key struct {
	Digest []byte    `json:"digest"`
	TaskID string    `json:"taskId"`
	Made   time.Time `json:"made"`
	Node   string    `json:"node,omitempty"` // that plays it
	// Started answers the start of an asynchronous task, Executed any other. It
	// has no outcome until the task has ended.
	Started  *api.Started  `json:"started,omitempty"`
	Executed *api.Executed `json:"executed,omitempty"`
}

// KeyPath is where the record of a key is. Keys are the clients' words, so their
// hashes stand for them.
func KeyPath(account, key string) string {
	sum := sha256.Sum256([]byte(key))
	return keyPrefixOf(account) + hex.EncodeToString(sum[:])
}

const KeyPrefix = "key/"

func keyPrefixOf(account string) string { return KeyPrefix + account + "/" }

// BeginKey writes a key down before its task begins, unless another node has:
// then that plays it, and the error is [persistence.ErrConflict].
func (r *Store) BeginKey(ctx context.Context, account, key string, k Key) error {
	k.Node = r.Node
	b, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	return r.Plain.Put(ctx, persistence.Item{
		Key: KeyPath(account, key), Account: account, Value: b, Expires: k.Made.Add(keyRetention), Durable: true, New: r.Node != "",
	})
}

// KeepKey writes down how the task of a key has ended.
func (r *Store) EndKey(ctx context.Context, account, key string, k Key) error {
	k.Node = r.Node
	return putJSON(ctx, r.Plain, KeyPath(account, key), account, k.Made.Add(keyRetention), k)
}

func (r *Store) Key(ctx context.Context, account, key string) (*Key, error) {
	k := new(Key)
	if err := ReadJSON(ctx, r.Plain, KeyPath(account, key), k); err != nil {
		return nil, err
	}
	return k, nil
}
