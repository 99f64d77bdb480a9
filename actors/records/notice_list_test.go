package records_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit/heap"
	"troupe/testkit/need"
)

// TestListsOfNoticesAreHeads: a list of notices has nothing of the results that they have in
// them, also where a notice has its own because it has one receiver. All else is as it was
// written, and whoever reads one notice gets its result.
func TestListsOfNoticesAreHeads(t *testing.T) {
	need.NoRace(t)
	store := persistence.NewMemory()
	defer store.Close()
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	r, err := records.Open(records.Config{Store: store, Seal: seal, Node: "n1", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	const notices, size = 20, 900 << 10
	at := time.Now().UTC().Round(0)
	want := map[string]records.Notice{}
	for i := range notices {
		n := records.Notice{
			ID: fmt.Sprintf("msg_%011x_%024d", at.UnixMilli()+int64(i), i), Account: "ada~1", URL: "https://a.example/", Event: records.EventTaskComplete, At: at,
			Status: api.NoticeDelivered, Attempts: 2, Tries: []api.NoticeTry{{At: at, Status: 200}}, Since: at, Ended: at,
			Task: &records.NoticeTask{ID: fmt.Sprint("t", i), Status: api.TaskComplete, Code: "x", Attempts: 1, Ended: at, Batch: &api.BatchRef{Batch: "b", Item: i}, Result: &api.Executed{
				TaskID: fmt.Sprint("t", i), Outcome: &engine.Outcome{End: engine.EndCompleted, Data: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)}}},
		}
		if err := r.Notices().Again(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		of := *n.Task
		of.Result = nil
		n.Task = &of
		want[n.ID] = n
	}
	var list []records.Notice
	left := heap.Left(func() any {
		var err error
		if list, _, _, err = r.Notices().List(t.Context(), records.NoticePrefix+"ada~1/", "", 100); err != nil {
			t.Fatal(err)
		}
		return list
	})
	if len(list) != notices || left > size {
		t.Errorf("a list of %d notices has %d KiB in memory", len(list), left>>10)
	}
	for _, n := range list {
		w := want[n.ID]
		n.Next, w.Next, n.Since, w.Since = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		if !reflect.DeepEqual(n, w) {
			t.Errorf("listed as\n%+v, want\n%+v", n, w)
		}
	}
	one, err := r.Notices().Find(t.Context(), "ada~1", list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := r.Notices().Result(t.Context(), one); err != nil || out == nil || len(out.Outcome.Data) != size+2 {
		t.Errorf("a single notice has no result: %v", err)
	}
}
