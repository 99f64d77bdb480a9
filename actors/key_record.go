package actors

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
const keepKey = 24 * time.Hour

// keyRecord is what is on disk of a request with a key, from before it begins.
type keyRecord struct {
	Digest []byte    `json:"digest"`
	TaskID string    `json:"taskId"`
	Made   time.Time `json:"made"`
	Node   string    `json:"node,omitempty"` // that plays it
	// Started answers the start of an asynchronous task, Executed any other. It
	// has no outcome until the task has ended.
	Started  *api.Started  `json:"started,omitempty"`
	Executed *api.Executed `json:"executed,omitempty"`
}

// keyPath is where the record of a key is. Keys are the clients' words, so their
// hashes stand for them.
func keyPath(account, key string) string {
	sum := sha256.Sum256([]byte(key))
	return keysOf(account) + hex.EncodeToString(sum[:])
}

const keyPrefix = "key/"

func keysOf(account string) string { return keyPrefix + account + "/" }

// beginKey writes a key down before its task begins, unless another node has:
// then that plays it, and the error is [persistence.ErrConflict].
func (r *records) beginKey(ctx context.Context, account, key string, k keyRecord) error {
	k.Node = r.node
	b, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	return r.plain.Put(ctx, persistence.Item{
		Key: keyPath(account, key), Account: account, Value: b, Expires: k.Made.Add(keepKey), Durable: true, New: r.node != "",
	})
}

// keepKey writes down how the task of a key has ended.
func (r *records) keepKey(ctx context.Context, account, key string, k keyRecord) error {
	k.Node = r.node
	return keepJSON(ctx, r.plain, keyPath(account, key), account, k.Made.Add(keepKey), k)
}

func (r *records) key(ctx context.Context, account, key string) (*keyRecord, error) {
	k := new(keyRecord)
	if err := readJSON(ctx, r.plain, keyPath(account, key), k); err != nil {
		return nil, err
	}
	return k, nil
}
