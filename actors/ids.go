package actors

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"troupe/actors/api"
)

// NewTaskID returns an identifier that no other task has: "task_", 16 hex
// digits and the second it was made in.
func NewTaskID(now time.Time) string {
	return "task_" + random(8) + "_" + strconv.FormatInt(now.Unix(), 10)
}

// newSessionID returns an identifier that cannot be guessed: together with the
// right account it gives access to the session.
func newSessionID() string { return "sess_" + random(16) }

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: it ends the process instead
	return hex.EncodeToString(b)
}

// WorkerID returns the identifier of a node's n-th worker, counted from 1. It
// is the same after every restart, so clients may keep it.
func WorkerID(node string, n int) string {
	sum := sha256.Sum256([]byte(node + "/" + strconv.Itoa(n)))
	return workerIDOf(sum[:10])
}

// newWorkerID returns the identifier of a worker that is added. Its record keeps
// it.
func newWorkerID() string {
	b := make([]byte, 10)
	_, _ = rand.Read(b) // never fails: it ends the process instead
	return workerIDOf(b)
}

func workerIDOf(b []byte) string { return "w" + strings.ToLower(base32.StdEncoding.EncodeToString(b)) }

// SharedWorkers returns n workers that belong to the shared pool.
func SharedWorkers(node string, n int) []api.WorkerSpec {
	all := make([]api.WorkerSpec, n)
	for i := range all {
		name := "worker-" + strconv.Itoa(i+1)
		if node != "" {
			name = node + "-" + name
		}
		all[i] = api.WorkerSpec{ID: WorkerID(node, i+1), Name: name}
	}
	return all
}
