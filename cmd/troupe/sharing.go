package main

import (
	"strconv"

	"troupe/actors"
	"troupe/actors/api"
)

// sharing is how workers share browsers, as flags.
type sharing struct {
	WorkersPerBrowser            int  `default:"1" help:"Number of workers that share one browser: they use less memory, and a crash affects all of them. Default: 1."`
	ShareBrowsersBetweenAccounts bool `help:"Allow one shared browser to serve several accounts at once."`
}

func (s *sharing) check() error {
	if s.WorkersPerBrowser < 1 || s.WorkersPerBrowser > 64 {
		return usage("--workers-per-browser is %d: want 1 to 64", s.WorkersPerBrowser)
	}
	if s.ShareBrowsersBetweenAccounts && s.WorkersPerBrowser == 1 {
		return usage("--share-browsers-between-accounts needs --workers-per-browser above 1")
	}
	return nil
}

// workers are n shared workers of a node, and which browser each of them is in. Workers
// that are not among them have a browser of their own.
func (s *sharing) workers(node string, n int) ([]api.WorkerSpec, func(worker string) string) {
	specs := actors.SharedWorkers(node, n)
	if s.WorkersPerBrowser == 1 {
		return specs, nil
	}
	in := make(map[string]string, n)
	for i := range specs {
		name := "browser-" + strconv.Itoa(i/s.WorkersPerBrowser+1)
		in[specs[i].ID] = name
		if !s.ShareBrowsersBetweenAccounts {
			specs[i].Browser = name
		}
	}
	return specs, func(worker string) string { return in[worker] }
}
