package records_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// TestRecordsOfAccountsCount: what an account has in the store counts in its room, sealed or
// not, until it is removed or has expired. Another process, which counts what is there, comes
// to the same.
func TestRecordsOfAccountsCount(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := persistence.NewMemory()
	defer store.Close()
	seal, err := persistence.NewSeal(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	l := persistence.NewLedger(0, nil)
	r, err := records.Open(records.Config{Store: store, Seal: seal, Files: persistence.NewAccounted(persistence.NewMemoryFiles(), l)})
	if err != nil {
		t.Fatal(err)
	}
	size := func(account string) (n int64) {
		t.Helper()
		all, err := store.List(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range all {
			if bytes.Contains([]byte(rec.Key), []byte(account)) && !bytes.HasPrefix([]byte(rec.Key), []byte("queued/")) {
				n += int64(len(rec.Key) + len(rec.Value))
			}
		}
		return n
	}
	x := rand.New(rand.NewPCG(5, 8))
	text := func() json.RawMessage {
		return json.RawMessage(fmt.Sprintf("%q", bytes.Repeat([]byte("x"), x.IntN(3000))))
	}
	accounts := []string{"ada", "bob"}
	batches := map[string]uint64{}
	for i := range 300 {
		account := accounts[x.IntN(2)]
		id := fmt.Sprintf("%s%d", account, x.IntN(5)) // so that a key tells the test whose it is
		what := x.IntN(6)
		switch what {
		case 0:
			revision, err := r.Batches().Put(ctx, records.Batch{ID: id, Account: account, Task: text()}, batches[id])
			if err != nil {
				t.Fatal(err)
			}
			batches[id] = revision
		case 1:
			if err := r.Batches().PutItems(ctx, account, id, x.IntN(4), []json.RawMessage{text(), text()}); err != nil {
				t.Fatal(err)
			}
			if batches[id] == 0 { // its items come first
				if batches[id], err = r.Batches().Put(ctx, records.Batch{ID: id, Account: account}, 0); err != nil {
					t.Fatal(err)
				}
			}
		case 2:
			if err := r.Batches().Erase(ctx, account, id); err != nil {
				t.Fatal(err)
			}
			delete(batches, id)
		case 3:
			at := time.Now().Add(time.Duration(x.IntN(3000)) * time.Minute)
			if err := r.Plain.Put(ctx, persistence.Item{Key: records.KeyPath(account, id), Account: account, Value: text(), Expires: at}); err != nil {
				t.Fatal(err)
			}
		case 4:
			n := records.Notice{ID: fmt.Sprintf("msg_%011x_%024d", i, x.IntN(3)), Account: account, URL: "https://example.org", Status: api.NoticeWaiting, At: time.Now(), Since: time.Now(), Ended: time.Now()}
			if err := r.Notices().Retry(ctx, n); err != nil {
				t.Fatal(err)
			}
			if x.IntN(2) == 0 {
				if err := r.Notices().End(ctx, n); err != nil {
					t.Fatal(err)
				}
			}
		case 5:
			if err := r.Schedules().Put(ctx, records.Schedule{ID: id, Account: account}); err != nil {
				t.Fatal(err)
			}
		}
		for _, a := range accounts {
			if got, want := l.Of(a).Bytes, size(a); got != want {
				t.Fatalf("step %d (%d): %s keeps %d bytes, and %d are counted", i, what, a, want, got)
			}
		}
	}
	ended := records.Task{ID: "task-ada", Account: "ada", Status: api.TaskComplete, Started: time.Now(), Ended: time.Now()}
	if err := r.EndTask(ctx, ended, nil, &engine.Outcome{End: engine.EndCompleted}, ""); err != nil {
		t.Fatal(err)
	}
	restarted := persistence.NewLedger(0, nil)
	for _, now := range []*persistence.Ledger{restarted, l} {
		if err := now.CountRecords(ctx, store); err != nil {
			t.Fatal(err)
		}
		for _, a := range accounts {
			if got, want := now.Of(a).Bytes, size(a); got != want || want == 0 {
				t.Errorf("counted again: %s keeps %d bytes, and %d are counted", a, want, got)
			}
		}
	}
	if all := restarted.All().Bytes; all != size("ada")+size("bob") {
		t.Errorf("all keep %d", all)
	}
}
