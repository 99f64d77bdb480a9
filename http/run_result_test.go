package http_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/actors/runs"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// TestResultsOfRuns: runs of all kinds of tasks have the results that their tasks ask for, or all
// where the operator says so. They are sealed, and removed with their runs and their account.
func TestResultsOfRuns(t *testing.T) {
	beside(t)
	for _, everything := range []bool{false, true} {
		bounds := runs.StandardBounds
		bounds.Results = everything
		k, e := runKit(t, func(c *actors.Config) { c.History = &bounds })
		kept := map[string]bool{}
		for body, status := range map[string]int{`"actions":[{"open":"https://shop.example/"}]}`: 200, `"async":true,"actions":[{"open":"https://shop.example/"}]}`: 200, `"queue":true,"actions":[{"open":"https://shop.example/"}]}`: 202} {
			kept[askRuns(t, e, "POST", "/v1/", `{"keepResult":true,`+body, status).TaskID] = true
			kept[askRuns(t, e, "POST", "/v1/", `{`+body, status).TaskID] = everything
		}
		b := askBatch(t, e, "POST", "/v1/batches", "application/json", `{"task":{"keepResult":true,"actions":[{"open":"https://shop.example/${item.n}"}]},"items":[{"n":1}]}`, 202)
		ended(t, e, b.Batch.BatchID)
		eventually(t, "all runs are listed", func() bool {
			return len(askRuns(t, e, "GET", "/v1/runs?limit=100", "", 200).Runs) == 7
		})
		kept[askRuns(t, e, "GET", "/v1/runs?origin=batch", "", 200).Runs[0].RunID] = true
		results := func() int {
			list, err := k.Store.List(t.Context(), runs.ResultPrefix)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				if left := time.Until(r.Expires); strings.Contains(string(r.Value), `"ok"`) || left < 6*24*time.Hour || left > 7*24*time.Hour {
					t.Errorf("%s is not sealed, or expires in %v", r.Key, left)
				}
			}
			return len(list)
		}
		want := 0
		for id, is := range kept {
			status, text := call(t, e, "GET", "/v1/runs/"+id, "good", "")
			if status != 200 || strings.Contains(text, `"result":"ok"`) != is || strings.Contains(text, `"resultKept":true`) != is {
				t.Errorf("%s, kept %v: %d %s", id, is, status, text)
			}
			if is {
				want++
			}
		}
		if _, text := call(t, e, "GET", "/v1/runs?limit=100", "good", ""); strings.Contains(text, `"result":`) || strings.Count(text, `"resultKept":true`) != want {
			t.Errorf("the list: %s", text)
		}
		if got := results(); got != want {
			t.Errorf("%d results, want %d", got, want)
		}
		askRuns(t, e, "DELETE", "/v1/runs?origin=batch", "", 200)
		if got := results(); got != want-1 {
			t.Errorf("%d results after a run was removed, want %d", got, want-1)
		}
		testkit.Ask(k, &api.RemoveAccount{Account: "acc1"})
		if got := results(); got != 0 {
			t.Errorf("%d results after the account was removed", got)
		}
	}
	off := openServer(t, testkit.New(t, testkit.Options{Workers: 1}).Node)
	if a := askRuns(t, off, "POST", "/v1/", `{"keepResult":true,"actions":[{"wait":1}]}`, 400); len(a.Details) != 1 || a.Details[0].Path != "/keepResult" {
		t.Errorf("without a history: %+v", a)
	}
	if a := askRuns(t, off, "POST", "/v1/", `{"keepResult":1,"actions":[{"wait":1}]}`, 400); len(a.Details) != 1 || a.Details[0].Path != "/keepResult" {
		t.Errorf("a number: %+v", a)
	}
}

// TestLargeResultsOfRuns: a large copy is a file of the account, counts in its storage, and goes
// with its run. Without room there is a run without a copy.
func TestLargeResultsOfRuns(t *testing.T) {
	store, ledger := persistence.NewMemory(), persistence.NewLedger(0, nil)
	defer store.Close()
	files := persistence.NewAccounted(persistence.NewMemoryFiles(), ledger)
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	h := runs.New(runs.Config{Store: store, Values: persistence.NewValueStore(store, files).Sealed(seal)})
	h.BoundBy(func(engine.Plan) persistence.Allowance { return persistence.Allowance{Bytes: 1 << 20} })
	run := func(id string) *runs.Run {
		r := &runs.Run{ID: id, Account: "acc1", KeepResult: true}
		r.Ends(&engine.Outcome{End: engine.EndCompleted, Data: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}, time.Now())
		return r
	}
	h.Add(run("task_1"))
	if err := h.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, err := h.Get(t.Context(), "acc1", "task_1")
	if err != nil || !first.Kept {
		t.Fatalf("%+v, %v", first, err)
	}
	if b, err := h.Result(t.Context(), first); err != nil || len(b) != 1<<20+2 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if k := ledger.Of("acc1"); k.Files != 1 || k.Bytes < 1<<20 {
		t.Errorf("the storage is %+v", k)
	}
	if err := h.Put(t.Context(), run("task_2")); err != nil {
		t.Fatal(err)
	}
	if r, err := h.Get(t.Context(), "acc1", "task_2"); err != nil || r.Kept || r.Result != 1<<20+2 {
		t.Errorf("without room: %+v, %v", r, err)
	}
	if err := h.Delete(t.Context(), "acc1", "task_1"); err != nil {
		t.Fatal(err)
	}
	if k := ledger.Of("acc1"); k.Files != 0 || k.Bytes > 4<<10 {
		t.Errorf("after its run was removed, the storage is %+v", k)
	}
}
