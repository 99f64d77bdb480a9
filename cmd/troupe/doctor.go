package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// doctorCommand takes the flags of serve, so that what is looked at is what
// would run.
type doctorCommand struct {
	Serve serveCommand `embed:""`
	JSON  bool         `help:"Print JSON, for scripts."`
}

// verdict is what a finding means.
type verdict string

const (
	good    verdict = "good"
	warning verdict = "warning" // it works, and could be better
	problem verdict = "problem" // it does not work, or will not for long
)

// finding is what was seen of one thing, and what to do where that is not good.
type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Found   string  `json:"found"`
	Advice  string  `json:"advice,omitempty"`
}

// errUnwell: the report is printed and says why.
var errUnwell = errors.New("something does not work")

// Run looks at everything that the service needs here. The exit code is 0 if
// the service would work, 1 if something is a problem, and 2 if the flags are
// wrong.
func (c *doctorCommand) Run(w *world) error {
	if err := c.Serve.check(); err != nil {
		return err
	}
	dir, err := findData(c.Serve.Data)
	if err != nil {
		return usageError{err}
	}
	browser, threads := c.examineBrowser(w.ctx)
	running := serviceRuns(dir)
	left, limited := pidsLeft()
	all := append(browser,
		judgeShared(sharedMemory()),
		judgePids(left, limited, c.Serve.Workers, threads),
		judgeDescriptors(descriptors(), c.Serve.Listening.MaxConnections, c.Serve.Workers),
		judgeClock(clock()),
		judgeDisk(dir, space(existing(dir))),
		examinePort(c.Serve.Listening.Listen, running),
		examineStore(dir, running),
		examineKey(dir),
	)
	all = append(all, c.Serve.Listening.examine(time.Now())...)
	all = append(append(all, c.Serve.Cluster.examine(running)...), c.Serve.S3.examine(w.ctx)...)
	if err := c.report(w.stdout, all); err != nil {
		return err
	}
	if !healthy(all) {
		return errUnwell
	}
	return nil
}

func healthy(all []finding) bool {
	for _, f := range all {
		if f.Verdict == problem {
			return false
		}
	}
	return true
}

func (c *doctorCommand) report(out io.Writer, all []finding) error {
	if c.JSON {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			Healthy  bool      `json:"healthy"`
			Findings []finding `json:"findings"`
		}{healthy(all), all})
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
