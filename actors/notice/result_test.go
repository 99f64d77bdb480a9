package notice

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// TestResultsAreKeptOnce: a result that notices have in them is on the disk, and in the room of
// its account, once for all receivers. Each gets it, also after a restart, and for as long as
// its notice can be sent again. Notices of earlier releases have a copy of their own.
func TestResultsAreKeptOnce(t *testing.T) {
	const receivers, size = 20, 64 << 10
	for what, mode := range map[string]struct {
		node string
		end  func(b *bed, t records.Task, out *engine.Outcome) error
	}{
		"one node": {"", func(b *bed, t records.Task, out *engine.Outcome) error {
			return b.disk.EndTask(b.t.Context(), t, nil, out, "")
		}},
		"several nodes": {"n1", func(b *bed, t records.Task, out *engine.Outcome) error {
			pending := t
			pending.Status, pending.Ended = api.TaskPending, time.Time{}
			over, err := b.disk.PutTask(b.t.Context(), pending, nil)
			if err == nil {
				_, err = b.disk.FinishTask(b.t.Context(), t, over, out, "", nil)
			}
			return err
		}},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(b *bed) {
				ledger := persistence.NewLedger(0, nil)
				disk, err := records.Open(records.Config{
					Store: b.store, Seal: b.seal, Node: mode.node, Files: persistence.NewAccounted(persistence.NewMemoryFiles(), ledger), Log: zerolog.Nop(),
				})
				if err != nil {
					t.Fatal(err)
				}
				defer disk.Close()
				b.disk = disk
				again := func() {
					b.Stop()
					b.start()
				}
				b.result = func(p *api.Polled) ([]byte, error) { return p.Executed.Outcome.Data, nil }
				again()
				b.net.set(always(500))
				data := `"` + strings.Repeat("x", size) + `"`
				var to []engine.Notify
				for i := range receivers {
					to = append(to, engine.Notify{URL: fmt.Sprintf("https://r%d.example/", i), Events: []engine.NoticeEvent{engine.NoticeEnd}, Result: true})
				}
				notify, err := b.disk.SealNotify("t1", to)
				if err != nil {
					t.Fatal(err)
				}
				task := records.Task{ID: "t1", Account: ada.ID, Node: mode.node, Status: api.TaskComplete, Started: time.Now(), Ended: time.Now(), Notify: notify}
				if err := mode.end(b, task, &engine.Outcome{End: engine.EndCompleted, Data: []byte(data)}); err != nil {
					t.Fatal(err)
				}
				if mode.node != "" {
					again() // as the node that delivers, which follows the records
				} else {
					b.Ended(ada.ID, "t1")
				}
				synctest.Wait()
				used := ledger.Of(ada.ID).Bytes
				if used < size || used > 3*size { // the result of the task itself, and the one for its notices
					t.Errorf("with %d receivers of %d bytes the account has %d bytes", receivers, size, used)
				}
				t.Logf("%d receivers of a result of %d bytes: the account has %d bytes", receivers, size, used)

				gets := func(when string, n int) {
					t.Helper()
					synctest.Wait()
					all := b.net.all()
					if len(all) != n {
						t.Fatalf("%s: %d notices came, want %d", when, len(all), n)
					}
					for _, r := range all {
						var is struct {
							Data struct {
								Result json.RawMessage
								Large  bool `json:"resultTooLarge"`
							}
						}
						if err := json.Unmarshal(r.body, &is); err != nil || string(is.Data.Result) != data || is.Data.Large {
							t.Errorf("%s: %s got %.200s, %v", when, r.host, r.body, err)
						}
					}
					b.net.mu.Lock()
					b.net.got = nil
					b.net.mu.Unlock()
				}
				gets("at once", receivers)
				again()
				b.net.set(always(204))
				time.Sleep(time.Minute)
				gets("after a restart", receivers)

				log := b.list(false)
				if len(log) != receivers {
					t.Fatalf("%d of %d notices are in the log", len(log), receivers)
				}
				redeliver := func() {
					t.Helper()
					if x, err := b.Redeliver(t.Context(), &api.Redeliver{Account: ada, ID: log[0].ID}); err != nil || x.Refusal != nil {
						t.Fatalf("%+v, %v", x, err)
					}
					synctest.Wait()
				}
				for range 4 { // each time it stays in the log for another week
					time.Sleep(6 * 24 * time.Hour)
					redeliver()
					gets("sent again after "+time.Since(task.Ended).String(), 1)
				}

				// Without it, the notice says where to ask.
				if err := b.disk.Sealed.Delete(t.Context(), records.NoticeResultKey(ada.ID, "t1"), true); err != nil {
					t.Fatal(err)
				}
				redeliver()
				if all := b.net.all(); len(all) != 1 || !strings.Contains(string(all[0].body), `"resultTooLarge":true`) || !strings.Contains(string(all[0].body), "/v1/get-result?taskId=t1") {
					t.Errorf("a result that is gone: %s", all[0].body)
				}

				// One of an earlier release.
				old := records.Notice{
					ID: "msg_00000000001_" + strings.Repeat("a", 24), Account: ada.ID, URL: "https://r0.example/", Event: records.EventTaskComplete, At: time.Now(), Status: api.NoticeDelivered,
					Task: &records.NoticeTask{ID: "t0", Status: api.TaskComplete, Ended: time.Now(), Result: &api.Executed{TaskID: "t0", Outcome: &engine.Outcome{End: engine.EndCompleted, Data: []byte(data)}}},
				}
				value, err := json.Marshal(old)
				if err != nil {
					t.Fatal(err)
				}
				if err := b.disk.Sealed.Put(t.Context(), persistence.Item{Key: records.NoticeLogKey(ada.ID, old.ID), Account: ada.ID, Value: value, Expires: time.Now().Add(time.Hour)}); err != nil {
					t.Fatal(err)
				}
				b.net.mu.Lock()
				b.net.got = nil
				b.net.mu.Unlock()
				log[0].ID = old.ID
				redeliver()
				gets("one of an earlier release", 1)
			})
		})
	}
}
