package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestScheduleBody: the request of a schedule has what its flags say, and wrong ones are
// named before anything is sent.
func TestScheduleBody(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	task, items := file("task.json", `{"actions":[]}`), file("items.ndjson", "{\"n\":1}\n\n{\"n\":2}\n")
	for _, c := range []struct {
		c    scheduleCreate
		want string
	}{
		{scheduleCreate{Task: task, Cron: "0 9 * * *", TimeZone: "Europe/Berlin", Missed: "once", Overlap: "skip"},
			`{"cron":"0 9 * * *","missed":"once","overlap":"skip","task":{"actions":[]},"timeZone":"Europe/Berlin"}`},
		{scheduleCreate{Task: "-", Every: 90 * time.Second, Jitter: time.Second, Items: items, Name: "n", Paused: true, Missed: "all", Overlap: "queue"},
			`{"batch":{"items":[{"n":1},{"n":2}],"task":{"actions":[1]}},"every":90000,"jitter":1000,"missed":"all","name":"n","overlap":"queue","paused":true}`},
	} {
		b, err := c.c.body(strings.NewReader(`{"actions":[1]}`))
		if err != nil || string(b) != c.want {
			t.Errorf("%s, %v, want %s", b, err, c.want)
		}
	}
	for text, c := range map[string]scheduleCreate{
		"either --cron or --every": {Task: task},
		"either --cron":            {Task: task, Cron: "@daily", Every: time.Hour},
		"above 0":                  {Task: task, Every: -time.Hour},
		"no such file":             {Task: filepath.Join(dir, "none"), Cron: "@daily"},
		"no JSON":                  {Task: file("bad.json", "{"), Cron: "@daily"},
		"read the item 2":          {Task: task, Cron: "@daily", Items: file("bad.ndjson", "{}\n{")},
		"larger than":              {Task: file("big.json", strings.Repeat(" ", maxScheduleFile+1)), Cron: "@daily"},
	} {
		if b, err := c.body(nil); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %s, %v", text, b, err)
		}
	}
}
