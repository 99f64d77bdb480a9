package outside_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// TestDescriptorsAreUsedUp: connections take all descriptors. The log says so once and not at
// each of them, the metrics count it, and when they are closed, everything goes on: clients,
// browsers, and the private socket of operator commands.
//
// Promise: Descriptors that are used up are in the log and in the metrics, and the service goes
// on when some are free (docs/operations.md#monitoring).
func TestDescriptorsAreUsedUp(t *testing.T) {
	need.Time(t)
	t.Parallel()
	data := filepath.Join(shortFolder(t), "data")
	few := filepath.Join(t.TempDir(), "few")
	if err := os.WriteFile(few, fmt.Appendf(nil, "#!/bin/sh\nulimit -n 160\nexec %s \"$@\"\n", program), 0o755); err != nil {
		t.Fatal(err)
	}
	c := spawnAs(t, few, "", nil, "serve", "--listen=127.0.0.1:0", "--data="+data, "--workers=1", "--metrics-listen=127.0.0.1:0", "--log-format=json")
	base := c.greeting(t)
	token, metrics := tokenLine.FindStringSubmatch(c.out.String())[1], "http://"+c.metricsAddress(t)+"/metrics"
	var open []net.Conn
	defer func() {
		for _, one := range open {
			_ = one.Close()
		}
	}()
	const says = "no more files and connections can be opened"
	for range 300 { // the system takes them where the service cannot
		one, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, one)
	}
	wait.Until(t, "the log says that descriptors are used up", func() bool { return strings.Contains(c.errs.String(), says) })
	for _, one := range open {
		_ = one.Close()
	}
	open = nil
	wait.Until(t, "clients are served again", func() bool {
		status, body, err := post(base, token, `{"queueTimeout":20000,"actions":[{"evaluate":"return 1"}]}`)
		return err == nil && status == 200 && strings.Contains(body, `"data":1`)
	})
	status, page := fetch(t, metrics, "")
	if m := regexp.MustCompile(`(?m)^troupe_used_up_total\{what="descriptors"\} [1-9]`).FindString(page); status != 200 || m == "" {
		t.Errorf("%d: the metrics do not count it:\n%s", status, page)
	}
	if code, out, errs := play(t, "", "worker", "list", "--data="+data); code != 0 || !strings.Contains(out, "worker-1") {
		t.Errorf("the private socket: %d %s%s", code, out, errs)
	}
	if n := strings.Count(c.errs.String(), says); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
}
