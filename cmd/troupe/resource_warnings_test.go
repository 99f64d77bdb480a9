package main

import (
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/http/telemetry"
)

// TestWarningsInTime: what ends before long is said when it begins to matter, once
// more when it is worse, and once a day.
func TestWarningsInTime(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	log, now := zerolog.New(&said), time.Now()
	var w warnings
	m := telemetry.Machine{DiskFree: 50 << 30, DiskSize: 100 << 30, Certificate: now.Add(15 * 24 * time.Hour)}
	for i, step := range []struct {
		after time.Duration
		free  int64
		says  string // empty: nothing
	}{
		{0, 50 << 30, ""},
		{time.Minute, 2 << 30, "filling up"}, // 2 %
		{time.Minute, 2 << 30, ""},
		{23 * time.Hour, 50 << 30, ""},
		{2 * time.Hour, 50 << 30, "expires soon"}, // less than 14 days
		{time.Hour, 50 << 30, ""},
		{24 * time.Hour, 50 << 30, "expires soon"},
		{10 * 24 * time.Hour, 50 << 30, "expires soon"}, // less than 3 days
		{time.Minute, 500 << 20, "filling up"},
		{3 * 24 * time.Hour, 50 << 30, "has expired"},
	} {
		now, m.DiskFree = now.Add(step.after), step.free
		w.check(m, now, log)
		if got := said.String(); (got == "") != (step.says == "") || !strings.Contains(got, step.says) || strings.Count(got, "\n") > 1 {
			t.Errorf("step %d: %q", i, got)
		}
		said.Reset()
	}
}
