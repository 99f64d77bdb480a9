package telemetry_test

import (
	"context"
	"errors"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/http/live"
	"troupe/http/telemetry"
	"troupe/testkit"
)

// page is what somebody sees who asks for the metrics.
func page(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != nethttp.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Fatalf("%d %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	return w.Body.String()
}

// wants compares single lines of the page.
func wants(t *testing.T, m *telemetry.Metrics, lines ...string) {
	t.Helper()
	text := page(t, m)
	for _, line := range lines {
		if !strings.Contains(text, "\ntroupe_"+line+"\n") {
			name, _, _ := strings.Cut(line, " ")
			name, _, _ = strings.Cut(name, "{")
			t.Errorf("there is no %q, but\n%s", line, strings.Join(regexp.MustCompile("(?m)^troupe_"+name+".*$").FindAllString(text, -1), "\n"))
		}
	}
}

// counting makes metrics and the options of a kit that is counted.
func counting(workers int) (*telemetry.Metrics, testkit.Options) {
	m := telemetry.NewMetrics()
	return m, testkit.Options{Workers: workers, Config: func(c *actors.Config) { c.Engine = m.Engine(c.Engine) }}
}

// TestLiveViewersAreCounted: the edge's numbers are exported as they are.
func TestLiveViewersAreCounted(t *testing.T) {
	m := telemetry.NewMetrics()
	m.Live(func() live.Stats {
		return live.Stats{Viewers: 2, Pictures: 300, Bytes: 4000, Slow: 5, Feeds: 6}
	})
	wants(t, m, "live_watchers 2", "live_pictures_total 300", "live_bytes_total 4000", "live_slow_total 5", "live_feeds 6")
}

// TestDeliveriesAreCounted: notices and schedules are told as they are.
func TestDeliveriesAreCounted(t *testing.T) {
	m := telemetry.NewMetrics()
	m.Deliveries(func() api.NoticeNumbers {
		return api.NoticeNumbers{Waiting: 2, Oldest: 90 * time.Second, EndpointsOff: 3, Delivered: 4, Failed: 5, Off: 6}
	}, func() api.ScheduleNumbers {
		return api.ScheduleNumbers{Active: 2, Paused: 1, Late: 1500 * time.Millisecond, Begun: 7, Skipped: 8, Missed: 9}
	})
	wants(t, m, "notices_waiting 2", "notices_oldest_seconds 90", "notice_endpoints_off 3",
		`notices_total{status="delivered"} 4`, `notices_total{status="failed"} 5`, `notices_total{status="off"} 6`,
		`schedules{state="active"} 2`, `schedules{state="paused"} 1`, "schedules_late_seconds 1.5",
		`schedule_times_total{status="begun"} 7`, `schedule_times_total{status="skipped"} 8`, `schedule_times_total{status="missed"} 9`)
}

// TestNodesAreCounted: what is known of the nodes is told as it is, and one that
// never came is down.
func TestNodesAreCounted(t *testing.T) {
	m := telemetry.NewMetrics()
	now := telemetry.Cluster{Size: 3, Up: 2, Majority: true, Leads: true, Lag: 40, Age: 1500 * time.Millisecond, Forwarded: 7, Lost: 1}
	m.Cluster(func() telemetry.Cluster { return now })
	wants(t, m, `cluster_nodes{state="up"} 2`, `cluster_nodes{state="down"} 1`, "cluster_majority 1", "cluster_leader 1",
		"cluster_lag_changes 40", "cluster_news_age_seconds 1.5", "cluster_forwarded_total 7", "cluster_lost_total 1")
	now = telemetry.Cluster{Size: 3, Up: 4} // one that was taken out of the list is still there
	wants(t, m, `cluster_nodes{state="up"} 4`, `cluster_nodes{state="down"} 0`, "cluster_majority 0", "cluster_leader 0")
}

// TestEvidenceIsCounted: what a task has left of its failure, and what it was to
// leave and could not.
func TestEvidenceIsCounted(t *testing.T) {
	m, o := counting(1)
	testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
		play := func(out engine.Outcome) {
			t.Helper()
			task := testkit.Task()
			task.Config.OnFailure, task.Config.FullTrace = engine.OnFailure{Screenshot: true, HTML: true, Console: true}, true
			k.WantEnd(k.Start(testkit.Pro("anna"), task, testkit.Script{Do: func(context.Context, testkit.Call) *engine.Outcome { return &out }}), out.End)
			k.Until("w1", api.Online)
		}
		play(engine.Outcome{End: engine.EndCompleted, Trace: "u"})
		play(engine.Outcome{End: engine.EndStopped, Trace: "u", Evidence: &engine.Evidence{Screenshot: "u", HTML: "u", Console: "u"}})
		play(engine.Outcome{End: engine.EndTimeout, Evidence: &engine.Evidence{Console: "u"}})
		play(engine.Outcome{End: engine.EndInterrupted, Evidence: &engine.Evidence{}})
		wants(t, m, `evidence_total{kind="trace",result="kept"} 2`, `evidence_total{kind="trace",result="missing"} 1`,
			`evidence_total{kind="screenshot",result="kept"} 1`, `evidence_total{kind="screenshot",result="missing"} 1`,
			`evidence_total{kind="html",result="missing"} 1`, `evidence_total{kind="console",result="kept"} 2`)
		if strings.Contains(page(t, m), `kind="network"`) {
			t.Error("what nobody asked for is counted")
		}
	})
}

// TestTasksAreCounted: how tasks and actions end, how long they take and how
// long their requests wait.
func TestTasksAreCounted(t *testing.T) {
	m, o := counting(1)
	testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
		m.Node(k.Node.Status, func() bool { return k.Node.Status().Ready() })
		anna := api.Account{ID: "anna", Plan: engine.Pro}
		bert := api.Account{ID: "bert", Plan: "no plan of ours"}
		steps := func(_ context.Context, c testkit.Call) *engine.Outcome {
			time.Sleep(700 * time.Millisecond)
			c.Env.Measure(engine.StepReport{Action: "click", Success: true, Millis: 20})
			c.Env.Measure(engine.StepReport{Action: "click", Millis: 3000, Error: "not there", Code: engine.CodeElementNotFound})
			c.Env.Measure(engine.StepReport{Action: "getText", Success: true, Millis: 2})
			return &engine.Outcome{End: engine.EndStopped}
		}
		first := k.Start(anna, testkit.Task(), testkit.Script{Takes: 3 * time.Second})
		k.Until("w1", api.Busy)
		asked := make(chan *api.Executed)
		k.Engine.Script("waiter", testkit.Script{Do: steps})
		go func() {
			x, err := k.Node.Execute(context.Background(), &api.Execute{TaskID: "waiter", Account: anna, Task: testkit.Task(testkit.Waiting(time.Minute)), Asked: time.Now()})
			if err != nil {
				t.Error(err)
			}
			asked <- x
		}()
		k.AwaitIdle()
		wants(t, m, `queue_size 1`, `workers{state="busy"} 1`, `workers{state="online"} 0`, `ready 1`, `draining 0`)
		k.WantEnd(first, engine.EndCompleted)
		if x := <-asked; x.Outcome == nil || x.Outcome.End != engine.EndStopped {
			t.Errorf("%+v", x)
		}
		k.WantEnd(k.Start(anna, testkit.Task(), testkit.Script{}), engine.EndCompleted)
		k.WantRefused(k.Start(bert, testkit.Task(), testkit.Script{}), engine.CodePlanRequired)
		k.Until("w1", api.Online)
		wants(t, m,
			`tasks_total{plan="pro",status="completed"} 2`, `tasks_total{plan="pro",status="stopped"} 1`,
			`task_duration_seconds_sum{status="completed"} 3`, `task_duration_seconds_count{status="stopped"} 1`, `task_duration_seconds_sum{status="stopped"} 0.7`,
			`queue_wait_seconds_count 1`, `queue_wait_seconds_sum 3`, // who says nothing of when it came is not counted
			`action_duration_seconds_count{type="click"} 2`, `action_duration_seconds_sum{type="click"} 3.02`, `action_duration_seconds_count{type="getText"} 1`,
			`action_errors_total{code="element_not_found",type="click"} 1`,
			`queue_size 0`, `workers{state="online"} 1`, `workers{state="busy"} 0`, `sessions_active 0`)

		k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve()), testkit.Script{}), engine.EndCompleted)
		k.Until("w1", api.Reserved)
		wants(t, m, `sessions_active 1`, `workers{state="reserved"} 1`)
		if text := page(t, m); strings.Contains(text, "anna") || strings.Contains(text, "waiter") {
			t.Error("the page names accounts or tasks")
		}
	})
}

// TestRestartsAreCounted: a browser in the place of another one, by why.
func TestRestartsAreCounted(t *testing.T) {
	m, o := counting(1)
	testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
		if strings.Contains(page(t, m), "restarts_total{") {
			t.Error("the first start counts as another one")
		}
		again := func() { t.Helper(); k.Until("w1", api.Offline); k.Until("w1", api.Online) }
		k.WantEnd(k.Start(testkit.Pro("anna"), testkit.Task(), testkit.Script{Crash: true}), engine.EndCrashed)
		again()
		wants(t, m, `worker_restarts_total{reason="crashed"} 1`, `tasks_total{plan="pro",status="crashed"} 1`)

		k.Engine.FailLaunches("w1", 2)
		k.Engine.Kill("w1")
		again()
		wants(t, m, `worker_restarts_total{reason="crashed"} 2`, `worker_restarts_total{reason="not_up"} 2`)

		ctx := context.Background()
		if _, err := api.Ask(ctx, k.Node, &api.DrainWorker{Worker: "w1"}); err != nil {
			t.Fatal(err)
		}
		k.Until("w1", api.Offline)
		if _, err := api.Ask(ctx, k.Node, &api.ResumeWorker{Worker: "w1"}); err != nil {
			t.Fatal(err)
		}
		k.Until("w1", api.Online)
		wants(t, m, `worker_restarts_total{reason="crashed"} 2`, `worker_restarts_total{reason="not_up"} 2`, `worker_restarts_total{reason="replaced"} 1`)

		k.Engine.OnReset("w1", testkit.Reset{Err: errors.New("it does not work")})
		k.WantEnd(k.Start(testkit.Pro("anna"), testkit.Task(), testkit.Script{}), engine.EndCompleted)
		k.AwaitIdle()
		wants(t, m, `worker_restarts_total{reason="replaced"} 2`)
	})
}

// TestRefusalsAreCounted: by their codes.
func TestRefusalsAreCounted(t *testing.T) {
	m := telemetry.NewMetrics()
	m.Refused(engine.CodeDailyLimit)
	m.Refused(engine.CodeDailyLimit)
	m.Refused(engine.CodeUnauthorized)
	wants(t, m, `rejected_total{reason="daily_limit"} 2`, `rejected_total{reason="unauthorized"} 1`)
}

// TestProcessesAreCounted: those that descend from this one, and what they need.
func TestProcessesAreCounted(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system does not tell")
	}
	m := telemetry.NewMetrics()
	number := func(name string) float64 {
		found := regexp.MustCompile(`(?m)^troupe_` + name + ` (.+)$`).FindStringSubmatch(page(t, m))
		if found == nil {
			t.Fatalf("there is no %s", name)
		}
		v, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if n, rss := number("chrome_processes"), number("chrome_rss_bytes"); n != 0 || rss != 0 {
		t.Errorf("before: %v processes with %v bytes", n, rss)
	}
	// A shell with a child of its own, which says when it is there.
	c := exec.Command("sh", "-c", "sleep 60 & echo up; wait")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Wait() }()
	defer func() {
		defer func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }() // with its child: the group is its own
	}()
	if _, err := out.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if n, rss := number("chrome_processes"), number("chrome_rss_bytes"); n != 2 || rss < 256<<10 || rss > 64<<20 {
		t.Errorf("with two: %v processes with %v bytes", n, rss)
	}
}

// TestNamesAreAsTheyShouldBe: what Prometheus itself says of the names.
func TestNamesAreAsTheyShouldBe(t *testing.T) {
	m, o := counting(1)
	k := testkit.New(t, o)
	m.Node(k.Node.Status, func() bool { return k.Node.Status().Ready() })
	m.Cluster(func() telemetry.Cluster { return telemetry.Cluster{} })
	m.Live(func() live.Stats { return live.Stats{} })
	m.Machine(func() telemetry.Machine {
		return telemetry.Machine{DiskFree: 1, DiskSize: 2, Certificate: time.Unix(1, 0)}
	})
	m.Deliveries(func() api.NoticeNumbers { return api.NoticeNumbers{} }, func() api.ScheduleNumbers { return api.ScheduleNumbers{} })
	m.Refused(engine.CodeDailyLimit)
	k.WantEnd(k.Start(testkit.Pro("anna"), testkit.Task(), testkit.Script{Steps: 1}), engine.EndCompleted)
	faults, err := promlint.New(strings.NewReader(page(t, m))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Errorf("%s: %s", f.Metric, f.Text)
	}
}

// TestTheMachineIsTold: what the system does not tell, and a certificate that is
// not there, have no numbers.
func TestTheMachineIsTold(t *testing.T) {
	m := telemetry.NewMetrics()
	var now telemetry.Machine
	m.Machine(func() telemetry.Machine { return now })
	if got := page(t, m); strings.Contains(got, "troupe_disk") || strings.Contains(got, "troupe_certificate") {
		t.Error(got)
	}
	now = telemetry.Machine{DiskFree: 2 << 20, DiskSize: 8 << 20, Certificate: time.Unix(1700000000, 0)}
	wants(t, m, "disk_free_bytes 2.097152e+06", "disk_size_bytes 8.388608e+06", "certificate_expires_timestamp_seconds 1.7e+09")
}
