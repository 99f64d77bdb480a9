package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	stdhttp "net/http"
	"net/url"
	"slices"

	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http"
	"troupe/http/address"
	"troupe/http/answer"
)

type validateCommand struct {
	connection
	Local  bool     `env:"-" help:"Check the task without a service, also where one is named: it knows no stored flows, and not your plan."`
	Task   taskFile `embed:""`
	Plan   string   `help:"Plan to check the task against: free, basic, standard or pro. Default: any, and at a service that of your account." placeholder:"PLAN"`
	Items  bool     `help:"The task is that of a batch: it reads fields of items as $${item.name}."`
	Config string   `help:"Configuration file of the service (JSON) with the plans and proxies." placeholder:"FILE"`

	atService bool
}

// remote reports whether the service checks the task.
func (c *validateCommand) remote(given []string) (bool, error) {
	return atService(&c.connection, c.Local, given, append([]string{"items", "file"}, connectionFlags...), &c.atService)
}

// placedFault is a fault with its place in the file.
type placedFault struct {
	lang.Fault
	Line   int `json:"line"`
	Column int `json:"column"`
}

// validated is what is said of a task. The order of the fields is the order in which they are
// printed.
type validated struct {
	Success  bool            `json:"success"`
	Valid    bool            `json:"valid"`
	Faults   []placedFault   `json:"faults"`
	Warnings []placedFault   `json:"warnings"`
	Actions  int             `json:"actions,omitempty"`
	Plan     *validatedPlan  `json:"plan,omitempty"`
	Time     json.RawMessage `json:"time,omitempty"`
	Sites    []string        `json:"sites,omitempty"`
}

// validatedPlan is which plan the task needs.
type validatedPlan struct {
	Lowest  *engine.Plan `json:"lowest"`
	Account engine.Plan  `json:"account,omitempty"`
	Allowed *bool        `json:"allowed,omitempty"`
}

// Run says what is wrong with the task, where, what it needs and how long it can take, and
// plays nothing. The exit code is 0 if the service would take it, 1 if not, and 2 if there was
// nothing to look at.
func (c *validateCommand) Run(w *environment) error {
	source, said, err := c.say(w)
	if err != nil {
		return err
	}
	var v validated
	if err := json.Unmarshal(said, &v); err != nil {
		return fmt.Errorf("validate the task: %w", err)
	}
	for _, all := range [][]placedFault{v.Faults, v.Warnings} {
		for i := range all {
			all[i].Line, all[i].Column = lang.Position(source, all[i].Path)
		}
	}
	c.point(w, source, &v)
	if err := answer.WriteIndented(w.stdout, v); err != nil {
		return err
	}
	if !v.Valid || v.Plan == nil || v.Plan.Lowest == nil || v.Plan.Allowed != nil && !*v.Plan.Allowed {
		return errTaskFailed
	}
	return nil
}

// point names the places on standard error, as compilers do.
func (c *validateCommand) point(w *environment, source []byte, v *validated) {
	for _, f := range v.Faults {
		pointAt(w.stderr, c.Task.Task, source, []lang.Fault{f.Fault})
	}
	for _, f := range v.Warnings {
		f.Message = "warning: " + f.Message
		pointAt(w.stderr, c.Task.Task, source, []lang.Fault{f.Fault})
	}
}

// say reads the task and has it checked.
func (c *validateCommand) say(w *environment) (source, said []byte, err error) {
	if c.atService {
		return c.ask(w)
	}
	file, err := readConfig(c.Config)
	if err != nil {
		return nil, nil, usage("read --config %s: %w", c.Config, err)
	}
	plan := engine.Plan(c.Plan)
	if c.Plan != "" {
		if plan, err = engine.ParsePlan(c.Plan); err != nil {
			return nil, nil, usage("--plan: %w", err)
		}
	}
	var proxies *[]string // without a file nobody knows
	if c.Config != "" {
		names := slices.Sorted(maps.Keys(file.proxies))
		proxies = &names
	}
	source, files, err := c.Task.read(w)
	if err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	_, err = http.WriteValidation(&out, source, files, c.Task.flows(), proxies, file.limits, plan, c.Items)
	return source, out.Bytes(), err
}

// ask lets the service check the task.
func (c *validateCommand) ask(w *environment) (source, said []byte, err error) {
	source, files, err := c.Task.read(w)
	if err != nil {
		return nil, nil, err
	}
	path := address.Fixed("/v1/validate")
	if c.Items {
		path = path.With(url.Values{"items": {"true"}})
	}
	var answered json.RawMessage
	if len(files) == 0 {
		err = c.callWith(w.ctx, stdhttp.MethodPost, path, source, &answered)
	} else {
		kind, body := withFiles(source, files)
		var resp *stdhttp.Response
		if resp, err = c.send(w.ctx, stdhttp.MethodPost, path, kind, body); err == nil {
			defer resp.Body.Close()
			err = json.NewDecoder(resp.Body).Decode(&answered)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("validate the task: %w", err)
	}
	return source, answered, nil
}
