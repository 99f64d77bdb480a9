package main

import (
	"maps"
	"slices"

	"troupe/engine"
	"troupe/http"
)

type validateCommand struct {
	Task   taskFile `embed:""`
	Plan   string   `help:"Plan to check the task against: free, basic, standard or pro. Default: any." placeholder:"PLAN"`
	Items  bool     `help:"The task is that of a batch: it reads fields of items as $${item.name}."`
	Config string   `help:"Configuration file of the service (JSON) with the plans and proxies." placeholder:"FILE"`
}

// Run says what is wrong with the task, what it needs and how long it can take,
// and plays nothing. The exit code is 0 if the service would take it, 1 if not,
// and 2 if there was nothing to look at.
func (c *validateCommand) Run(w *environment) error {
	file, err := readConfig(c.Config)
	if err != nil {
		return usage("read --config %s: %w", c.Config, err)
	}
	plan := engine.Plan(c.Plan)
	if c.Plan != "" {
		if plan, err = engine.ParsePlan(c.Plan); err != nil {
			return usage("--plan: %w", err)
		}
	}
	var proxies *[]string // without a file nobody knows
	if c.Config != "" {
		names := slices.Sorted(maps.Keys(file.proxies))
		proxies = &names
	}
	source, files, err := c.Task.read(w)
	if err != nil {
		return err
	}
	ok, err := http.WriteValidation(w.stdout, source, files, c.Task.flows(), proxies, file.limits, plan, c.Items)
	if err == nil && !ok {
		err = errTaskFailed
	}
	return err
}
