package main

import (
	"time"

	"troupe/actors/runs"
)

// history says how much of the history of runs is kept.
type history struct {
	Keep    string `name:"history" enum:"on,off" default:"on" help:"Keep a record of each task that has ended: on or off. Default: on."`
	Days    int    `name:"history-days" default:"7" help:"How many days a record is kept. Default: 7." placeholder:"N"`
	Count   int    `name:"history-runs" default:"10000" help:"Records of one account; the oldest are removed first. Default: 10000." placeholder:"N"`
	Results string `name:"history-results" enum:"asked,all" default:"asked" help:"Which results are kept with their records: asked, those of tasks with keepResult, or all. They count in the storage of the account. Default: asked."`
	MiB     int64  `name:"history-size" default:"64" help:"Size of the records of one account, in MiB; the oldest are removed first. Default: 64." placeholder:"MIB"`
}

func (h history) check() error {
	switch {
	case h.Days < 1 || h.Days > 3650:
		return usage("--history-days is %d: want 1 to 3650", h.Days)
	case h.Count < 1 || h.Count > 10_000_000:
		return usage("--history-runs is %d: want 1 to 10000000", h.Count)
	case h.MiB < 1 || h.MiB > 1<<20:
		return usage("--history-size is %d: want MiB, 1 or more", h.MiB)
	}
	return nil
}

// bounds are nil where nothing is kept.
func (h history) bounds() *runs.Bounds {
	if h.Keep == "off" {
		return nil
	}
	return &runs.Bounds{Keep: time.Duration(h.Days) * 24 * time.Hour, Count: h.Count, Bytes: h.MiB << 20, Results: h.Results == "all"}
}
