package cgroup

import "testing"

// TestMemoryLimitIsFound: the tightest of a control group and those above it, in both
// versions, and in containers, where the group's name leads nowhere.
func TestMemoryLimitIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		own   string
		files map[string]int64
		want  int64
	}{
		"no limit":            {"0::/system.slice/troupe.service\n", nil, 0},
		"own group":           {"0::/system.slice/troupe.service\n", map[string]int64{"/sys/system.slice/troupe.service/memory.max": 1 << 30}, 1 << 30},
		"slowed before":       {"0::/a\n", map[string]int64{"/sys/a/memory.max": 2 << 30, "/sys/a/memory.high": 1 << 30}, 1 << 30},
		"group above":         {"0::/a/b\n", map[string]int64{"/sys/a/b/memory.max": 3 << 30, "/sys/a/memory.max": 1 << 30}, 1 << 30},
		"container":           {"0::/\n", map[string]int64{"/sys/memory.max": 3 << 30}, 3 << 30},
		"foreign name":        {"0::/../../kubepods/pod1\n", map[string]int64{"/sys/memory.max": 3 << 30}, 3 << 30},
		"version 1":           {"6:memory:/a\n1:name=systemd:/a\n", map[string]int64{"/sys/memory/a/memory.limit_in_bytes": 1 << 30, "/sys/a/memory.limit_in_bytes": 1}, 1 << 30},
		"version 1, no limit": {"6:memory:/a\n", map[string]int64{"/sys/memory/a/memory.limit_in_bytes": 9223372036854771712}, 0},
		"both versions":       {"6:memory:/a\n0::/b\n", map[string]int64{"/sys/memory/a/memory.limit_in_bytes": 2 << 30, "/sys/b/memory.max": 1 << 30}, 1 << 30},
		"not readable":        {"", nil, 0},
	} {
		if got := memoryIn("/sys", tc.own, func(name string) (int64, bool) { n, ok := tc.files[name]; return n, ok }); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
