package doctor

import "testing"

// TestPidsLimitIsFound: the tightest of a control group and those above it, in
// both versions, and in containers, where the group's name leads nowhere.
func TestPidsLimitIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		own   string
		files map[string]int64
		want  int64 // -1: none
	}{
		"no limit":      {"0::/system.slice/troupe.service\n", nil, -1},
		"own group":     {"0::/system.slice/troupe.service\n", map[string]int64{"/sys/system.slice/troupe.service/pids.max": 500, "/sys/system.slice/troupe.service/pids.current": 20}, 480},
		"group above":   {"0::/a/b\n", map[string]int64{"/sys/a/b/pids.max": 500, "/sys/a/pids.max": 300, "/sys/a/pids.current": 100}, 200},
		"container":     {"0::/\n", map[string]int64{"/sys/pids.max": 64, "/sys/pids.current": 4}, 60},
		"foreign name":  {"0::/../../kubepods/pod1\n", map[string]int64{"/sys/pids.max": 64}, 64},
		"version 1":     {"5:cpu,cpuacct:/a\n4:pids:/a\n1:name=systemd:/a\n", map[string]int64{"/sys/pids/a/pids.max": 90, "/sys/a/pids.max": 1}, 90},
		"over the brim": {"0::/a\n", map[string]int64{"/sys/a/pids.max": 10, "/sys/a/pids.current": 12}, -2},
		"not readable":  {"", nil, -1},
	} {
		left, limited := pidsIn("/sys", tc.own, func(name string) (int64, bool) { n, ok := tc.files[name]; return n, ok })
		if limited != (tc.want != -1) || limited && left != tc.want {
			t.Errorf("%s: %d, %v; want %d", name, left, limited, tc.want)
		}
	}
}
