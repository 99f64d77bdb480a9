package outside_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/testkit/need"
)

// clockSteps is a service whose wall clock is set while everything that waits for
// something or lasts until something is under way.
type clockSteps struct {
	t     *testing.T
	d     operatorCLI
	base  string
	token string
	site  string
}

// reply is what came of a request.
type reply struct {
	status int
	body   string
	err    error
	took   time.Duration
}

// sends begins a request.
func (x *clockSteps) sends(task string) <-chan reply {
	done := make(chan reply, 1)
	began := time.Now()
	go func() {
		status, body, err := post(x.base, x.token, task)
		done <- reply{status, body, err, time.Since(began)}
	}()
	return done
}

// plays plays a task that works.
func (x *clockSteps) plays(what, task string) of {
	x.t.Helper()
	a := <-x.sends(task)
	return x.works(what, a)
}

func (x *clockSteps) works(what string, a reply) of {
	x.t.Helper()
	if a.err != nil || a.status != 200 || !strings.Contains(a.body, `"success":true`) || a.took > promised(20*time.Second) {
		x.t.Errorf("%s: %d after %v, %v: %s", what, a.status, a.took, a.err, a.body)
		return of{}
	}
	return read(x.t, a.body)
}

// TestClockSteps sets the clock of a running service forward and back, by hours
// and by days, while tasks run and wait, a session rests and a ticket is used.
func TestClockSteps(t *testing.T) {
	need.All(t)
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	x := &clockSteps{t: t, d: operatorCLI{t, filepath.Join(dir, "data")}, site: account(t)}
	start := func() *child {
		var c *child
		c, x.base = serve(t, x.d.data, "--workers=2", "--allow-private", "--file-ttl=1h")
		return c
	}
	c := start()
	x.token = x.d.says("token", "create", "--account=ada", "--plan=pro")
	ada := x.token
	counted := x.d.says("token", "create", "--account=bob", "--plan=basic")
	session := x.plays("the session", `{"session":{"preserve":true,"timeout":600000},"queueTimeout":20000,"actions":[{"open":"`+x.site+`/login"}]}`).SessionID
	kept := x.plays("the task that is kept", `{"async":true,"queueTimeout":20000,"actions":[{"open":"`+x.site+`"},{"screenshot":"viewport"}]}`).TaskID
	_, got := get(t, x.base, ada, "/v1/get-result?wait=20000&taskId="+kept)
	picture := regexp.MustCompile(`/files/[a-z0-9.]+`).FindString(got)
	if picture == "" {
		t.Fatalf("the task that is kept: %s", got)
	}
	clock := wallClockOf(t, c.Process.Pid)
	var ahead time.Duration
	days := map[string]int{} // tasks of bob's by day
	for _, step := range []struct {
		ahead time.Duration
		file  int // what is answered for a file that is kept for an hour; zero: it may have been swept
	}{{-12 * time.Hour, 200}, {30 * time.Minute, 200}, {7 * time.Hour, 404}, {-72 * time.Hour, 0}, {60 * 24 * time.Hour, 404}} {
		what := fmt.Sprintf("%v after %v", step.ahead, ahead)
		ahead = step.ahead

		// One worker rests for the session, the other has a task; a third waits.
		running := x.plays("the running task, "+what, `{"async":true,"timeout":30000,"queueTimeout":20000,"actions":[{"wait":1000},{"evaluate":"return 'ran'"}]}`).TaskID
		waits := x.sends(`{"queueTimeout":20000,"timeout":15000,"config":{"actionTimeout":3000},"actions":[{"open":"` + x.site + `"},{"getText":"h1"}]}`)
		_, made, err := postTo(x.base+"/v1/tickets", ada, `{"object":"`+running+`"}`)
		var ticket struct{ Ticket string }
		if err != nil || json.Unmarshal([]byte(made), &ticket) != nil || ticket.Ticket == "" {
			t.Fatalf("the ticket, %s: %v: %s", what, err, made)
		}
		x.waiting(what)
		clock.set(ahead)

		resp, err := http.Get(x.base + "/v1/tasks/" + running + "/events?ticket=" + ticket.Ticket)
		if err != nil {
			t.Fatalf("the ticket, %s: %v", what, err)
		}
		events, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || err != nil || !strings.Contains(string(events), "event: end") {
			t.Errorf("the ticket, %s: %d, %v: %s", what, resp.StatusCode, err, events)
		}
		a := <-waits
		if got := x.works("the task that waited, "+what, a); got.Data != "nobody" {
			t.Errorf("the task that waited, %s: %s", what, a.body)
		}
		status, got := get(t, x.base, ada, "/v1/get-result?wait=20000&taskId="+running)
		if status != 200 || read(t, got).Data != "ran" {
			t.Errorf("the running task, %s: %d: %s", what, status, got)
		}
		// The clock was really set, and what took a second took a second.
		id := x.plays("the next task, "+what, `{"queueTimeout":20000,"actions":[{"wait":1}]}`).TaskID
		var second int64
		if _, err := fmt.Sscanf(id[strings.LastIndexByte(id, '_')+1:], "%d", &second); err != nil || time.Since(time.Unix(second, 0).Add(-ahead)).Abs() > time.Minute {
			t.Fatalf("the clock is not set, %s: %s, %v", what, id, err)
		}
		if got := x.plays("the session, "+what, `{"session":{"id":"`+session+`"},"actions":[{"open":"`+x.site+`"},{"getText":"h1"}]}`); got.Data != "ada" {
			t.Errorf("the session, %s: it shows %v", what, got.Data)
		}
		if status, got := get(t, x.base, ada, "/v1/get-result?taskId="+kept); status != 200 || !strings.Contains(got, picture) {
			t.Errorf("the task that is kept, %s: %d: %s", what, status, got)
		}
		if status, _ := get(t, x.base, "", picture); step.file != 0 && status != step.file {
			t.Errorf("its picture, %s: %d, want %d", what, status, step.file)
		}
		x.token = counted
		x.plays("a task that counts, "+what, `{"queueTimeout":20000,"actions":[{"wait":1}]}`)
		x.token = ada
		day := time.Now().Add(ahead).UTC().Format(time.DateOnly)
		days[day]++
		_, got = get(t, x.base, counted, "/v1/usage")
		var used struct {
			UsedToday int
			ResetAt   time.Time
		}
		if err := json.Unmarshal([]byte(got), &used); err != nil || used.UsedToday != days[day] || !used.ResetAt.Add(-24*time.Hour).Equal(dayStart(day)) {
			t.Errorf("the count of %s, %s: %v: %s, want %d", day, what, err, got, days[day])
		}
		if status, got := get(t, x.base, "", "/readyz"); status != 200 {
			t.Errorf("/readyz, %s: %d: %s", what, status, got)
		}
	}
	if strings.Contains(c.errs.String(), `"level":"error"`) || strings.Contains(c.errs.String(), "panic") {
		t.Errorf("the log has errors: %s", c.errs.String())
	}
	// A service that ends in the future starts in the present.
	clock.set(40 * time.Hour)
	if got := x.plays("the session, written in the future", `{"session":{"id":"`+session+`"},"actions":[{"wait":1}]}`); got.SessionID != session {
		t.Errorf("the session in the future: %+v", got)
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.end(t, promised(20*time.Second)); err != nil {
		t.Errorf("the stop: %v", err)
	}
	start()
	if got := x.plays("the session after the restart", `{"session":{"id":"`+session+`"},"queueTimeout":20000,"actions":[{"open":"`+x.site+`"},{"getText":"h1"}]}`); got.Data != "ada" {
		t.Errorf("the session after the restart shows %v", got.Data)
	}
}

func dayStart(day string) time.Time {
	at, _ := time.Parse(time.DateOnly, day)
	return at
}

// waiting waits until somebody waits for a worker.
func (x *clockSteps) waiting(what string) {
	x.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		_, got := get(x.t, x.base, x.token, "/v1/capacity")
		if strings.Contains(got, `"waiting":1`) {
			return
		}
		if time.Now().After(end) {
			x.t.Fatalf("nobody waits, %s: %s", what, got)
		}
	}
}
