package outside_test

import (
	"regexp"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// TestRunShowsProgress: a line for each step as it ends, on standard error and
// only where somebody looks.
func TestRunShowsProgress(t *testing.T) {
	need.Browser(t)
	task := `{"actions":[{"open":"http://demo.troupe.test/"},{"click":"#nowhere","options":{"timeout":10}},` +
		`{"loop":{"each":".product","maxIterations":2,"do":[{"click":"$this","options":{"timeout":1}},{"wait":1}]}}]}`
	code, stdout, stderr := play(t, task, "run", "-", "--progress=always")
	if r := parse(t, stdout); code != exitFailed || r.Success {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	var lines []string
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, " ms") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	for i, want := range []string{
		`^ +\d+\.\d\ds ✓ 0 +open +\d+ ms$`,
		`^ +\d+\.\d\ds ✗ 1 +click +\d+ ms  Element "#nowhere" not found within 10ms`,
		`^ +\d+\.\d\ds . 2/loop/do/0 \[0\] +click +\d+ ms`,
		`^ +\d+\.\d\ds ✓ 2/loop/do/1 \[0\] +wait +\d+ ms$`,
		`^ +\d+\.\d\ds . 2/loop/do/0 \[1\] +click +\d+ ms`,
	} {
		if i >= len(lines) || !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("line %d is no %s:\n%s", i, want, stderr)
		}
	}
	for _, quiet := range []string{"--progress=auto", "--progress=never"} { // here nobody looks
		if _, _, stderr := play(t, task, "run", "-", quiet); strings.Contains(stderr, " ms") {
			t.Errorf("%s:\n%s", quiet, stderr)
		}
	}
}
