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

// keyRetention is how long the answer to a key is kept.
const keyRetention = 24 * time.Hour

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
// [persistence.ErrConflict].
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

// EndKey writes how the task of a key has ended.
func (r *Store) EndKey(ctx context.Context, account, key string, k Key) error {
	k.Node = r.Node
	return putJSON(ctx, r.Plain, KeyPath(account, key), account, k.Made.Add(keyRetention), k)
}

// Key reads the record of a key.
func (r *Store) Key(ctx context.Context, account, key string) (*Key, error) {
	k := new(Key)
	if err := ReadJSON(ctx, r.Plain, KeyPath(account, key), k); err != nil {
		return nil, err
	}
	return k, nil
}
