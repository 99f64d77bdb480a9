package main

import (
	"testing"

	"troupe/http"
)

// TestMemoryFollowsTheLimit: what the control group allows lowers what requests may have, and
// from when on garbage is collected more often. What the operator says counts.
func TestMemoryFollowsTheLimit(t *testing.T) {
	const mib = 1 << 20
	for name, tc := range map[string]struct {
		allowed, asked    int64
		workers           int
		requests, process int64
		tight             bool
	}{
		"no limit":             {0, 0, 2, 512, 192 + 640 + 64, false},
		"64 GiB":               {64 << 30, 0, 2, 512, 896, false},
		"64 GiB, many workers": {64 << 30, 0, 100, 512, 192 + 640 + 3200, false},
		"the compose file's":   {3 << 30, 0, 2, 512, 896, false},
		"1 GiB":                {1 << 30, 0, 2, 341, 192 + 426 + 64, false},
		"1 GiB, 16 workers":    {1 << 30, 0, 16, 341, 768, false},
		"less than it needs":   {512 << 20, 0, 2, http.MinMemory >> 20, 384, true},
		"as asked":             {1 << 30, 600, 2, 600, 768, true},
		"as asked, no limit":   {0, 2048, 2, 2048, 192 + 2560 + 64, false},
	} {
		m := memoryFor(tc.allowed, tc.asked<<20, tc.workers)
		if m.requests/mib != tc.requests || m.process/mib != tc.process || m.tight() != tc.tight {
			t.Errorf("%s: %d MiB for requests, %d for the process, tight: %v", name, m.requests/mib, m.process/mib, m.tight())
		}
	}
}
