package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/cluster/store"
	"troupe/engine"
	"troupe/engine/scarce"
	"troupe/http/answer"
	"troupe/http/live"
	"troupe/http/telemetry"
	"troupe/testkit"
)

const (
	deploy  = "../../deploy/"
	runbook = "../../docs/runbook/"
)

// dashboard is what the test reads of Grafana's format.
type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct {
			Expr       string
			Datasource struct{ UID string }
		}
	}
	Templating struct {
		List []struct{ Name, Definition string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	b, err := os.ReadFile(deploy + "grafana/troupe.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// everything is a page on which each of our metrics has a value.
func everything(t *testing.T) (text string) {
	t.Helper()
	m, o := counting(1)
	testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
		m.Node(k.Node.Status, func() bool { return k.Node.Status().Ready() })
		m.Build("devel", "go1")
		m.Queue(k.Node.QueueNumbers)
		m.Live(func() live.Stats { return live.Stats{} })
		m.Cluster(func() telemetry.Cluster { return telemetry.Cluster{States: states()} })
		m.Machine(func() telemetry.Machine {
			return telemetry.Machine{DiskFree: 1, DiskSize: 2, Certificate: time.Unix(1, 0)}
		})
		m.Unreadable(func() map[string]int { return map[string]int{"profiles": 1} })
		m.Backups(func() telemetry.Backups {
			return telemetry.Backups{Every: time.Hour, Last: time.Unix(1, 0)}
		})
		m.Deliveries(func() api.NoticeNumbers { return api.NoticeNumbers{} }, func() api.ScheduleNumbers { return api.ScheduleNumbers{} })
		m.Refused(engine.CodeInternal)
		task := testkit.Task()
		task.Config.FullTrace = true
		k.WantEnd(k.Start(testkit.Pro("anna"), task, testkit.Script{Do: func(_ context.Context, c testkit.Call) *engine.Outcome {
			c.Env.Measure(engine.StepReport{Action: "click", Code: engine.CodeElementNotFound})
			c.Browser.Kill()
			return &engine.Outcome{End: engine.EndCrashed}
		}}), engine.EndCrashed)
		k.Until("w1", api.Offline)
		k.Until("w1", api.Online)
		text = page(t, m)
	})
	return text
}

var (
	metric   = regexp.MustCompile(`\b(troupe_[a-z_]+|go_[a-z_]+|process_[a-z_]+)\b(?:\{([^}]*)\})?`)
	selector = regexp.MustCompile(`([a-z_]+)=~?"([^"]*)"`)
)

// known complains of metrics, labels and values in an expression that the
// service does not have.
func known(t *testing.T, where, expr, page string) {
	t.Helper()
	found := metric.FindAllStringSubmatch(expr, -1)
	if len(found) == 0 && !strings.HasPrefix(expr, "up{") {
		t.Errorf("%s: no metric in %s", where, expr)
	}
	for _, m := range found {
		name := m[1]
		series := regexp.MustCompile(`(?m)^` + name + `(?:\{(.*)\})? `).FindStringSubmatch(page)
		if series == nil {
			t.Errorf("%s: the service has no %s", where, name)
			continue
		}
		for _, l := range selector.FindAllStringSubmatch(m[2], -1) {
			if l[1] == "instance" || l[1] == "job" { // which Prometheus adds
				continue
			}
			if !strings.Contains(","+series[1], ","+l[1]+"=") {
				t.Errorf("%s: %s has no label %s", where, name, l[1])
			}
			for v := range strings.SplitSeq(l[2], "|") {
				if !slices.Contains(values(name, l[1]), v) {
					t.Errorf("%s: %s of %s is never %q", where, l[1], name, v)
				}
			}
		}
	}
}

// values is what a label can be.
func values(name, label string) (all []string) {
	switch {
	case name == "troupe_cluster_nodes":
		return []string{"up", "down"}
	case name == "troupe_cluster_copies":
		return []string{"current", "missing"}
	case name == "troupe_cluster_state":
		return states()
	case name == "troupe_evidence_total" && label == "result":
		return []string{"kept", "missing"}
	case name == "troupe_used_up_total":
		for _, what := range scarce.All {
			all = append(all, string(what))
		}
		return all
	case name == "troupe_batches":
		return []string{"running", "held", "paused"}
	case name == "troupe_schedules":
		return []string{"active", "paused"}
	case name == "troupe_notices_total":
		return []string{string(api.NoticeDelivered), string(api.NoticeFailed), string(api.NoticeOff)}
	case name == "troupe_schedule_times_total":
		return []string{"begun", string(api.RunSkipped), string(api.RunMissed)}
	case label == "state":
		return []string{string(api.Online), string(api.Reserved), string(api.Busy), string(api.Offline)}
	case label == "status":
		return []string{string(engine.EndCompleted), string(engine.EndStopped), string(engine.EndTimeout), string(engine.EndCancelled), string(engine.EndCrashed), string(engine.EndInterrupted), "failed", "none"}
	case name == "troupe_worker_restarts_total":
		return []string{"crashed", "replaced", "not_up"}
	}
	for _, c := range answer.Codes() {
		all = append(all, string(c.Code))
	}
	return all
}

// states are those of a node to the shared store.
func states() (all []string) {
	for _, s := range store.States {
		all = append(all, string(s))
	}
	return all
}

// alerts are the expressions of the alert rules by their names.
func alerts(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(deploy + "prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for rule := range strings.SplitSeq(string(b), "- alert: ") {
		name, rest, _ := strings.Cut(rule, "\n")
		if _, expr, ok := strings.Cut(rest, "expr: "); ok && !strings.Contains(name, " ") {
			end := regexp.MustCompile(`\n        [a-z]+:`).FindStringIndex(expr)
			all[name] = strings.TrimSpace(strings.TrimPrefix(expr[:end[0]], "|"))
		}
	}
	return all
}

// TestDashboardAndAlertsFit: what they ask for is what the service tells.
func TestDashboardAndAlertsFit(t *testing.T) {
	page := everything(t)
	d := readDashboard(t)
	ids, taken, shown := map[int]bool{}, map[[2]int]string{}, map[string]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d %q: its number is not its own, or it has no title or nothing to show", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if taken[[2]int{x, y}] != "" || x >= 24 {
					t.Fatalf("%s lies over %q, or beyond the edge", p.Title, taken[[2]int{x, y}])
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, q := range p.Targets {
			known(t, p.Title, q.Expr, page)
			for _, m := range metric.FindAllStringSubmatch(q.Expr, -1) {
				shown[m[1]] = true
			}
			if q.Datasource.UID != "${datasource}" {
				t.Errorf("%s asks %s", p.Title, q.Datasource.UID)
			}
		}
	}
	rules := alerts(t)
	for name, expr := range rules {
		known(t, name, expr, page)
		for _, m := range metric.FindAllStringSubmatch(expr, -1) {
			if !shown[m[1]] { // an alert is read beside it
				t.Errorf("%s asks for %s, and no panel shows it", name, m[1])
			}
		}
	}
	if len(d.Panels) < 10 || len(rules) < 10 {
		t.Errorf("%d panels and %d rules were looked at", len(d.Panels), len(rules))
	}
	played, err := os.ReadFile(deploy + "prometheus/alerts_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(deploy + "prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	contents, err := os.ReadFile(runbook + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range rules {
		if !strings.Contains(string(played), name) {
			t.Errorf("no test plays %s", name)
		}
		if !strings.Contains(string(text), "          runbook_url: /docs/runbook/"+name+"\n") || !strings.Contains(string(contents), "]("+name+".md)") {
			t.Errorf("the rule or the contents of the runbook do not lead to the page of %s", name)
		}
		b, err := os.ReadFile(runbook + name + ".md")
		if err != nil {
			t.Error(err)
		}
		if !regexp.MustCompile(`(?s)^# ` + name + `\n.*\n## What it means\n.*\n## What to look at\n.*\n## What to do\n`).Match(b) {
			t.Errorf("the page of %s lacks a part", name)
		}
	}
	if pages, err := filepath.Glob(runbook + "Troupe*.md"); err != nil || len(pages) != len(rules) {
		t.Errorf("the runbook has %d pages for %d alerts: %v", len(pages), len(rules), err)
	}
	pages, err := filepath.Glob(runbook + "[a-z]*.md") // of work that no alert asks for
	if err != nil || len(pages) == 0 {
		t.Errorf("the runbook has no page of other work: %v", err)
	}
	for _, page := range pages {
		if !strings.Contains(string(contents), "]("+filepath.Base(page)+")") {
			t.Errorf("the contents of the runbook do not lead to %s", page)
		}
	}
	guide, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (troupe_\w+)`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(string(guide), "`"+m[1]+"`") {
			t.Errorf("docs/operations.md does not tell of %s", m[1])
		}
	}
}

// TestScalingFits: the rule for an autoscaler of worker nodes asks for what the service
// tells, and the autoscaler for what the rule makes.
func TestScalingFits(t *testing.T) {
	b, err := os.ReadFile(deploy + "prometheus/scaling.yml")
	if err != nil {
		t.Fatal(err)
	}
	page, rules := everything(t), strings.Split(string(b), "- record: ")[1:]
	made := map[string]bool{}
	for _, rule := range rules {
		name, rest, _ := strings.Cut(rule, "\n")
		_, expr, _ := strings.Cut(rest, "expr: >-")
		expr, _, _ = strings.Cut(expr, "\n\n")
		for earlier := range made {
			expr = strings.ReplaceAll(expr, earlier, "vector(1)")
		}
		known(t, name, expr, page)
		made[name] = true
	}
	scaler, err := os.ReadFile(deploy + "kubernetes/workers/autoscaler.yaml")
	if err != nil {
		t.Fatal(err)
	}
	metric := regexp.MustCompile(`metric: \{name: (\w+)\}`).FindStringSubmatch(string(scaler))
	if len(rules) != 2 || metric == nil || !made[metric[1]] {
		t.Errorf("the rules make %v, and the autoscaler asks for %v", made, metric)
	}
}

// TestPromtool: Prometheus's own tool checks the rules, plays their tests, and
// reads each query of the dashboard. TROUPE_TEST_PROMTOOL names it; .ci/run
// builds it.
func TestPromtool(t *testing.T) {
	tool := os.Getenv("TROUPE_TEST_PROMTOOL")
	if tool == "" {
		t.Skip("TROUPE_TEST_PROMTOOL names no promtool")
	}
	queries := filepath.Join(t.TempDir(), "dashboard.yml")
	var b strings.Builder
	b.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for _, p := range readDashboard(t).Panels {
		for i, q := range p.Targets {
			expr, err := json.Marshal(strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(q.Expr))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "  - {record: 'dashboard:p%d:q%d', expr: %s}\n", p.ID, i, expr)
		}
	}
	if err := os.WriteFile(queries, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", "rules", "--lint=all", "--lint-fatal", queries},
		{"check", "rules", "--lint=all", "--lint-fatal", deploy + "prometheus/alerts.yml"},
		{"check", "rules", "--lint=all", "--lint-fatal", deploy + "prometheus/scaling.yml"},
		{"check", "config", deploy + "prometheus/prometheus.yml"},
		{"check", "config", deploy + "prometheus/kubernetes.yml"},
		{"test", "rules", deploy + "prometheus/alerts_test.yml"},
		{"test", "rules", deploy + "prometheus/scaling_test.yml"},
	} {
		if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
