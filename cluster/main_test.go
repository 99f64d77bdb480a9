package cluster_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"testing"

	"troupe/persistence"
	"troupe/testkit/standalone"
	"troupe/testkit/wait"
)

var ctx = context.Background()

func isConflict(err error) bool { return errors.Is(err, persistence.ErrConflict) }

// folders are those that outlive the test that asked for them.
var folders []string

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "troupe-cluster-test-")
	if err != nil {
		t.Fatal(err)
	}
	folders = append(folders, dir)
	return dir
}

func TestMain(m *testing.M) {
	if os.Getenv(serviceEnv) != "" {
		flag.Parse()
		standalone.Run(serveAsANode)
	}
	wait.SideBySide(2)
	code := m.Run()
	for _, n := range three.members {
		n.Close()
	}
	for _, dir := range folders {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}
