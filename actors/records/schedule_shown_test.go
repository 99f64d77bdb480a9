package records_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/testkit/need"
)

// TestShownSchedules: what a list shows of a schedule is as its record says, and has nothing
// of its task and its items in memory.
func TestShownSchedules(t *testing.T) {
	need.NoRace(t)
	r, err := records.Open(records.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const items = 500
	text := `{"actions":[{"set":{"n":"` + strings.Repeat("x", 400<<10) + `"}},{"set":{"m":"${item.n}"}}]}`
	template, err := engine.ParseTemplate([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := api.ScheduleSpec{Name: "n", Every: time.Hour, Zone: "UTC", Missed: api.MissedAll, Overlap: api.OverlapQueue, Jitter: time.Second,
		Task: template.Task.Within([]string{"shop.example"}), Batch: &api.ScheduleBatch{Name: "b", Notify: []engine.Notify{{URL: "https://hooks.example/"}}}}
	for i := range items {
		spec.Batch.Items = append(spec.Batch.Items, json.RawMessage(fmt.Sprintf(`{"n":%q}`, strings.Repeat(fmt.Sprint(i%10), 1000))))
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	def := records.Schedule{ID: "s", Account: "a", Plan: engine.Pro, Spec: spec, Created: at, Changed: at}
	if err := r.Schedules().Put(t.Context(), def); err != nil {
		t.Fatal(err)
	}
	whole, err := r.Schedules().Show(t.Context(), "a", "s", true)
	if err != nil {
		t.Fatal(err)
	}
	if string(whole.Source) != string(template.Task.Source()) || whole.Items != items || fmt.Sprint(whole.Sites) != "[shop.example]" || whole.Spec.Task != nil ||
		len(whole.Spec.Batch.Items) != items || string(whole.Spec.Batch.Items[7]) != string(spec.Batch.Items[7]) || len(whole.Spec.Batch.Notify) != 1 {
		t.Errorf("whole: %v of %d bytes, %d items, sites %v, %v, %+v", string(whole.Source) == string(template.Task.Source()), len(whole.Source), whole.Items, whole.Sites, whole.Spec.Task, whole.Spec.Batch.Notify)
	}
	var shown []*records.ScheduleShown
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	for range 20 {
		head, err := r.Schedules().Show(t.Context(), "a", "s", false)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, head)
	}
	if each := (live() - before) / 20; each > 64<<10 {
		t.Errorf("each schedule in a list has %d bytes in memory", each)
	}
	for _, s := range []*records.ScheduleShown{shown[0], whole} {
		got := s.Spec
		got.Task, got.Batch = nil, nil
		want := spec
		want.Task, want.Batch = nil, nil
		if got != want || s.ID != "s" || s.Account != "a" || s.Plan != engine.Pro || !s.Created.Equal(at) || !s.Changed.Equal(at) || s.Items != items || s.Spec.Batch.Name != "b" || fmt.Sprint(s.Sites) != "[shop.example]" {
			t.Errorf("shown: %+v", s)
		}
	}
	if shown[0].Source != nil || shown[0].Spec.Batch.Items != nil {
		t.Error("the head has a task or items")
	}
}
