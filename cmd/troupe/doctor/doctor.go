package doctor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"troupe/engine"
)

// Service is what the service would run with.
type Service struct {
	Data, Store, Key string // folder of the data, folder of the store in it, file of the key
	Running          bool   // the service runs with that folder
	// Try starts in a folder what serve starts in the folder of its data, and ends it. It
	// leaves nothing, and touches nothing that is there.
	Try     func(ctx context.Context, dir string) error
	Workers int

	Listen         string // address for clients
	MaxConnections int
	// Certificate is for clients; a nil result: they come without TLS.
	Certificate func() (*tls.Config, error)

	Browser Browser
	Cluster Cluster
	Storage *Storage // nil: files are kept elsewhere
}

// Browser is how browsers are started.
type Browser struct {
	Path      string // empty: an installed one is looked for
	NoSandbox bool
	Fallback  bool             // the service does without the sandbox where it does not work
	Isolation engine.Isolation // empty: engine.IsolateTask
	// Engine makes an engine for the program at path, which keeps its files in a
	// folder; end ends what belongs to it.
	Engine func(path, dir string, noSandbox bool) (e engine.Engine, end func() error, err error)
}

// Cluster is where the nodes find each other; without an address there are none.
type Cluster struct {
	Workers string // where worker nodes reach it; empty: they do not
	Listen  string
	Peers   []string
}

// Storage is where files are kept outside of the machine.
type Storage struct {
	Bucket, Endpoint string
	Open             func(context.Context) error
}

// Verdict is what a Finding means.
type Verdict string

const (
	Good    Verdict = "good"
	Warning Verdict = "warning" // it works, and could be better
	Problem Verdict = "problem" // it does not work, or will not for long
)

// Finding is what was seen of one thing, and what to do where that is not good.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found"`
	Advice  string  `json:"advice,omitempty"`
}

// Examine looks at everything that the service needs here, and changes nothing.
func Examine(ctx context.Context, s Service) []Finding {
	browser, threads := examineBrowser(ctx, s.Browser)
	left, limited := pidsLeft()
	all := append(browser,
		judgeShared(sharedMemory()),
		judgePids(left, limited, s.Workers, threads),
		judgeDescriptors(descriptors(), s.MaxConnections, s.Workers),
		judgeClock(clock()),
		judgeDisk(s.Data, space(existing(s.Data))),
		examineFolder(ctx, s),
		examinePort(s.Listen, s.Running),
		examineStore(s.Data, s.Store, s.Running),
		examineKey(s.Store, s.Key),
	)
	all = append(all, examineCertificate(s.Certificate, time.Now())...)
	all = append(all, examineCluster(s.Cluster, s.Running)...)
	return append(all, ExamineStorage(ctx, s.Storage)...)
}

// Healthy reports whether nothing is a problem.
func Healthy(all []Finding) bool {
	for _, f := range all {
		if f.Verdict == Problem {
			return false
		}
	}
	return true
}

// Report prints what was found: for people, or as JSON.
func Report(out io.Writer, all []Finding, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			Healthy  bool      `json:"healthy"`
			Findings []Finding `json:"findings"`
		}{Healthy(all), all})
	}
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%-8s %-14s %s\n", f.Verdict, f.Check, f.Found)
		if f.Advice != "" {
			fmt.Fprintf(&b, "%-8s %-14s → %s\n", "", "", f.Advice)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// existing is the folder itself, or the nearest one above that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
