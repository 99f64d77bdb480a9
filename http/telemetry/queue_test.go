package telemetry_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http/telemetry"
	"troupe/testkit"
)

// TestWaitsOfTheQueueAreCounted: from when a task is due until a browser begins with it, and
// not what it waits before it is due.
//
// Promise: `troupe_queue_wait_seconds` counts requests and queued tasks (docs/operations.md#monitoring).
func TestWaitsOfTheQueueAreCounted(t *testing.T) {
	m, o := counting(1)
	o.Engine = testkit.NewEngine()
	o.Engine.Default = func(testkit.Call) testkit.Script { return testkit.Script{Takes: 10 * time.Second} }
	testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
		m.Node(k.Node.Status, func() bool { return true })
		m.Queue(k.Node.QueueNumbers)
		send := func(body string) {
			t.Helper()
			task, err := engine.Parse([]byte(`{"actions":[{"wait":1}],`+body+`}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			x := k.SendAsync(&api.Execute{Account: testkit.Pro("anna"), Task: task, Asked: time.Now()}, testkit.Script{})
			if x.Refusal != nil || x.Queued == nil {
				t.Fatalf("%+v", x.Refusal)
			}
			k.AwaitIdle()
		}
		wants(t, m, `queue_oldest_seconds 0`)
		send(`"queue":true`) // begins at once
		send(`"queue":true`) // waits for 10 s
		send(`"queue":true`) // for 20 s
		send(`"queue":{"startAfter":3600000}`)
		time.Sleep(5 * time.Second)
		wants(t, m, `queue_oldest_seconds 5`, `queued_wait_seconds_count 1`, `queued_wait_seconds_sum 0`)
		time.Sleep(10 * time.Second)
		wants(t, m, `queue_oldest_seconds 15`, `queued_wait_seconds_count 2`, `queued_wait_seconds_sum 10`)
		time.Sleep(10 * time.Second) // what is not due does not wait
		wants(t, m, `queue_oldest_seconds 0`, `queued_tasks 1`, `queued_wait_seconds_count 3`, `queued_wait_seconds_sum 30`, `queue_wait_seconds_count 3`, `queue_wait_seconds_sum 30`)
		time.Sleep(2 * time.Hour)
		k.AwaitIdle()
		text := page(t, m)
		var sum float64
		for _, c := range []string{`queued_wait_seconds_sum`, `queue_wait_seconds_sum`} {
			if sum = number(t, text, c); sum < 30 || sum > 31 {
				t.Errorf("%s is %v after a task that was due later", c, sum)
			}
		}
		wants(t, m, `queue_oldest_seconds 0`, `queued_tasks 0`, `queued_wait_seconds_count 4`)
	})
}

// TestBuildInfo: the metrics name the build.
func TestBuildInfo(t *testing.T) {
	m := telemetry.NewMetrics()
	m.Build("v1.2.3", "go1.26")
	wants(t, m, `build_info{goversion="go1.26",version="v1.2.3"} 1`)
}

// number is the value of a metric without labels.
func number(t *testing.T, page, name string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^troupe_` + name + ` (\S+)$`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("there is no %s", name)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
