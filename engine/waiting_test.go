package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"troupe/testkit/heap"
	"troupe/testkit/need"
)

// TestTasksWaitAsText: whatever a task says, it is played as if it had not waited as text,
// and what others ask about it meanwhile is the same. The tasks are those of all scripts.
func TestTasksWaitAsText(t *testing.T) {
	need.NoRace(t)
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	fill := strings.NewReplacer("{{url}}", "https://a.test", "{{other}}", "https://b.test", "{{soon}}", soon, "{{tls}}", "https://a.test")
	for _, file := range files {
		s := readScript(t, file)
		uploads := make([]Upload, len(s.files))
		for i, f := range s.files {
			uploads[i] = Upload{Name: f.name, Size: int64(len(f.data)), Path: "/somewhere"}
		}
		for _, c := range s.cases {
			task, err := ParseWith([]byte(fill.Replace(c.task)), uploads, FlowList(s.flows))
			if err != nil {
				continue // it is refused, and does not wait
			}
			tried++
			task.Within([]string{"a.test"})
			task = task.WithItem([]byte(`{"n":1}`))
			kept := task.withoutSteps()
			for what, same := range map[string]bool{
				"Counts":     kept.Counts() == task.Counts(),
				"Actions":    kept.Actions() == task.Actions() && kept.Actions() == len(task.Steps),
				"Keeps":      kept.Keeps() == task.Keeps(),
				"Aftermath":  kept.Aftermath() == task.Aftermath(),
				"Bound":      reflect.DeepEqual(kept.Bound(), task.Bound()),
				"Isolation":  kept.Config.Isolation == task.Config.Isolation,
				"LowestPlan": LowestPlan(kept, DefaultLimits()) == LowestPlan(task, DefaultLimits()),
				"the fields of Task": reflect.DeepEqual([]any{kept.WorkerID, kept.Timeout, kept.QueueTimeout, kept.Session, kept.Async, kept.Queue, kept.Notify, kept.Profile, kept.Files},
					[]any{task.WorkerID, task.Timeout, task.QueueTimeout, task.Session, task.Async, task.Queue, task.Notify, task.Profile, task.Files}),
			} {
				if !same {
					t.Errorf("%s: %s: %s is another one while it waits", file, c.name, what)
				}
			}
			again, err := kept.Parsed(t.Context())
			if err != nil {
				t.Fatalf("%s: %s: %v", file, c.name, err)
			}
			if want, got := fmt.Sprintf("%#v", task.Steps), fmt.Sprintf("%#v", again.Steps); len(want) != len(got) {
				t.Errorf("%s: %s: it is played with other steps", file, c.name)
			}
			a, b := *task, *again
			a.Steps, b.Steps = nil, nil
			if want, _ := a.MarshalJSON(); true {
				if got, _ := b.MarshalJSON(); string(want) != string(got) {
					t.Errorf("%s: %s: it is played as %s, want %s", file, c.name, got, want)
				}
			}
			if a.network != b.network || a.reads != b.reads || a.severalResponses != b.severalResponses || a.items != b.items {
				t.Errorf("%s: %s: what its actions look at is another", file, c.name)
			}
		}
	}
	t.Logf("%d tasks", tried)
	if tried < 500 {
		t.Errorf("only %d tasks were tried", tried)
	}
}

// TestWaitingTasksAreText: tasks that wait have little more than their texts in
// memory, whatever these are full of. What is parsed for a moment takes turns.
func TestWaitingTasksAreText(t *testing.T) {
	need.NoRace(t)
	const tasks, size = 12, 200 << 10
	many := func(one string, most int) string {
		return strings.Repeat(one+",", min(most, size/(len(one)+1))) + one
	}
	for name, body := range map[string]string{
		"numbers":    `{"actions":[{"set":{"n":[` + many("1", 131_000) + `]}}]}`,
		"actions":    `{"actions":[` + many(`{"loop":{"repeat":2,"do":[{"wait":1},{"wait":1},{"wait":1}]}}`, 240) + `]}`,
		"references": `{"actions":[{"set":{"n":[` + many(`"${a}"`, 20_000) + `]}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var kept []*Task
			left := heap.Left(func() any {
				for range tasks {
					task, err := Parse([]byte(body), nil)
					if err != nil {
						t.Fatal(err)
					}
					kept = append(kept, task.AsText())
				}
				return kept
			})
			if most := int64(tasks * (len(body) + 4<<10)); left > most*5/4 {
				t.Errorf("%d tasks of %d KiB take %d KiB while they wait", tasks, len(body)>>10, left>>10)
			}
		})
	}
}

// TestTurnsOfWaitingTasks: a large task that waits as text has a turn to be parsed, as its
// request had, and ends with its context before that.
func TestTurnsOfWaitingTasks(t *testing.T) {
	task, err := Parse([]byte(`{"actions":[{"set":{"n":[`+strings.Repeat("1,", 100_000)+`1]}}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	kept := task.AsText()
	if !kept.Unparsed() || kept.Steps != nil {
		t.Fatal("a large task waits parsed")
	}
	for range parsedAtOnce {
		end, err := BeginParse(t.Context(), SmallBody+1)
		if err != nil {
			t.Fatal(err)
		}
		defer end()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := kept.Parsed(ctx); err == nil {
		t.Error("it was parsed beside four others")
	}
}
