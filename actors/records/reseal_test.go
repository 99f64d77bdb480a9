package records

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"troupe/persistence"
)

// TestEverySealedRecordIsResealed: whatever is written sealed is opened by the new key
// alone after a change.
func TestEverySealedRecordIsResealed(t *testing.T) {
	ctx := context.Background()
	seal, err := persistence.NewSeal(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	store := persistence.NewMemory()
	r, err := Open(Config{Store: store, Files: persistence.NewMemoryFiles(), Seal: seal})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer store.Close()
	state := StateKey("s1", 3)
	err = r.Sealed.Put(ctx, persistence.Item{Key: state, Account: "ada", Value: []byte(`{}`), Expires: time.Now().Add(time.Hour), Durable: true})
	if err == nil {
		err = r.Queue().Add(ctx, "ada", "queued/ada/1", []byte(`{"id":"t1"}`), persistence.Absent, true)
	}
	if err == nil {
		err = r.Sealed.Put(ctx, persistence.Item{Key: DeadPrefix + "ada/1", Account: "ada", Value: []byte(`{}`)})
	}
	if err == nil {
		_, err = r.Batches().Put(ctx, Batch{ID: "b1", Account: "ada"}, 0)
	}
	if err == nil {
		err = r.Batches().PutItems(ctx, "ada", "b1", 0, []json.RawMessage{[]byte(`{"a":1}`)})
	}
	if err == nil {
		err = r.Schedules().Put(ctx, Schedule{ID: "s1", Account: "ada"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := seal.Use(bytes.Repeat([]byte{2}, 32), bytes.Repeat([]byte{1}, 32)); err != nil {
		t.Fatal(err)
	}
	done, err := r.Reseal(ctx)
	if err != nil || done.Records != 6 || done.Lost != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if err := seal.Use(bytes.Repeat([]byte{2}, 32)); err != nil {
		t.Fatal(err)
	}
	list, err := store.List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range list {
		if _, err := r.Sealed.Get(ctx, rec.Key); err != nil && !strings.HasPrefix(rec.Key, "file") {
			t.Errorf("%s: %v", rec.Key, err)
		}
	}
}
