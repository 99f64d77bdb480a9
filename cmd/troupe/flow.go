package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/admin"
	"troupe/http/flows"
)

type flowCommands struct {
	Put    flowPut    `cmd:"" help:"Store a flow from a file, as its next version."`
	Get    flowGet    `cmd:"" help:"Print a flow as it was stored."`
	List   flowList   `cmd:"" help:"List the flows of an account."`
	Delete flowDelete `cmd:"" help:"Delete a flow with all its versions."`
	Run    flowRun    `cmd:"" help:"Run a flow at the service and print the result."`
}

type flowPut struct {
	operator
	Name    string `arg:"" help:"Name of the flow."`
	File    string `arg:"" help:"File with the flow as JSON, or - for the standard input."`
	Account string `required:"" help:"Name of the account."`
}

// Run stores a flow. Faults are printed one on a line, and are an error.
func (c *flowPut) Run(w *environment) error {
	in := w.stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return usage("read the flow: %w", err)
		}
		defer f.Close()
		in = f
	}
	source, err := io.ReadAll(io.LimitReader(in, engine.MaxFlow+1))
	switch {
	case err != nil:
		return usage("read the flow: %w", err)
	case len(source) > engine.MaxFlow:
		return usage("read the flow: it is larger than %d bytes", engine.MaxFlow)
	}
	stored, _, err := execute(w, c.operator, false, admin.PutFlow{Account: c.Account, Name: c.Name, Source: source})
	if err != nil {
		return fmt.Errorf("store a flow: %w", err)
	}
	if len(stored.Faults) > 0 {
		for _, f := range stored.Faults {
			fmt.Fprintln(w.stderr, f)
		}
		return usage("the flow is not valid, and was not stored")
	}
	return c.print(w, stored.Stored, func(out io.Writer) {
		fmt.Fprintf(out, "Version %d of the flow %s of the account %q is stored.\n", stored.Version, stored.Name, c.Account)
		for _, f := range stored.Warnings {
			fmt.Fprintln(out, "Warning: "+f.String())
		}
	})
}

type flowGet struct {
	operator
	Name    string `arg:"" help:"Name of the flow, or name@version."`
	Account string `required:"" help:"Name of the account."`
}

func (c *flowGet) Run(w *environment) error {
	f, _, err := execute(w, c.operator, false, admin.GetFlow{Account: c.Account, Name: c.Name})
	if err != nil {
		return fmt.Errorf("get a flow: %w", err)
	}
	_, err = fmt.Fprintln(w.stdout, strings.TrimSuffix(string(f.Source), "\n"))
	return err
}

type flowList struct {
	operator
	Account string `required:"" help:"Name of the account."`
}

func (c *flowList) Run(w *environment) error {
	all, _, err := execute(w, c.operator, false, admin.ListFlows{Account: c.Account})
	if err != nil {
		return fmt.Errorf("list flows: %w", err)
	}
	return c.print(w, all, func(out io.Writer) {
		rows := [][]string{{"NAME", "VERSION", "STORED", "PARAMETERS", "DESCRIPTION"}}
		for _, f := range all {
			rows = append(rows, []string{f.Name, fmt.Sprint(f.Version), minute(f.Created), parameterNames(f), firstLine(f.Description)})
		}
		table(out, rows)
	})
}

// parameterNames are a flow's parameters, in the order in which they are written.
func parameterNames(f flows.Flow) string {
	n, fault := lang.ReadNode(f.Parameters)
	if fault != nil {
		return ""
	}
	var names []string
	for _, p := range n.Fields {
		names = append(names, p.Key)
	}
	return strings.Join(names, " ")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return lang.Short(line, 80)
}

type flowDelete struct {
	operator
	Name    string `arg:"" help:"Name of the flow."`
	Account string `required:"" help:"Name of the account."`
}

func (c *flowDelete) Run(w *environment) error {
	return executeOne(w, c.operator, false, "delete a flow", admin.RemoveFlow{Account: c.Account, Name: c.Name}, func(f admin.FlowRemoved, _ bool) string {
		return fmt.Sprintf("The flow %s of the account %q is deleted.", f.Name, f.Account)
	})
}

type flowRun struct {
	operator
	Name    string        `arg:"" help:"Name of the flow, or name@version."`
	Account string        `required:"" help:"Name of the account."`
	With    []string      `help:"A parameter: name=value, or name:=JSON for a value that is no string. May be repeated." sep:"none" placeholder:"NAME=VALUE"`
	Timeout time.Duration `help:"Time for the flow. Default: 30s."`
}

// Run plays a flow at the running service. The exit code is 1 if the task failed.
func (c *flowRun) Run(w *environment) error {
	with, err := parseWith(c.With)
	if err != nil {
		return err
	}
	if c.Timeout < 0 {
		return usage("--timeout is %v: want a time above 0", c.Timeout)
	}
	played, _, err := execute(w, c.operator, false, admin.RunFlow{Account: c.Account, Name: c.Name, With: with, Timeout: engine.Millis(c.Timeout)})
	if err != nil {
		return fmt.Errorf("run a flow: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, played.Answer, "", "  "); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	if _, err := fmt.Fprintln(w.stdout, out.String()); err != nil {
		return err
	}
	if !played.Success {
		return errTaskFailed
	}
	return nil
}

// parseWith makes parameters of name=text and name:=JSON.
func parseWith(all []string) (json.RawMessage, error) {
	if len(all) == 0 {
		return nil, nil
	}
	with := map[string]json.RawMessage{}
	for _, one := range all {
		name, value, ok := strings.Cut(one, "=")
		if !ok || strings.TrimSuffix(name, ":") == "" {
			return nil, usage("--with %q: want name=value, or name:=JSON", one)
		}
		name, isJSON := strings.CutSuffix(name, ":")
		if _, twice := with[name]; twice {
			return nil, usage("--with %s is given twice", name)
		}
		if !isJSON {
			// The value is meant as it is: a dollar sign in it begins nothing, unless
			// it is the name of a secret.
			if !strings.HasPrefix(value, "${secret:") {
				value = strings.ReplaceAll(value, "$", "$$")
			}
			b, err := json.Marshal(value)
			if err != nil {
				return nil, err
			}
			with[name] = b
			continue
		}
		if !json.Valid([]byte(value)) {
			return nil, usage("--with %s: %s is no JSON", name, value)
		}
		with[name] = json.RawMessage(value)
	}
	return json.Marshal(with)
}

// flowFolder is a folder with flows as files, for tasks that are played without a
// service: sign-in is in sign-in.json, and sign-in@3 in sign-in@3.json.
type flowFolder struct {
	FlowFolder string `name:"flows" help:"Folder with the stored flows that the task runs, each in a file NAME.json." placeholder:"DIR"`
}

// Flow is part of [engine.Flows].
func (f flowFolder) Flow(name string, version int) (engine.StoredFlow, error) {
	file := name
	if version > 0 {
		file = fmt.Sprintf("%s@%d", name, version)
	}
	root, err := os.OpenRoot(f.FlowFolder)
	if err != nil {
		return engine.StoredFlow{}, err
	}
	defer root.Close()
	b, err := root.ReadFile(file + ".json")
	if errors.Is(err, os.ErrNotExist) {
		err = engine.ErrNoFlow
	}
	return engine.StoredFlow{Name: name, Version: version, Source: b}, err
}

// FlowNames is part of [engine.Flows].
func (f flowFolder) FlowNames() (names []string) {
	entries, _ := os.ReadDir(f.FlowFolder) // they are for a suggestion
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && engine.IsFlowName(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// flows are those of the folder; nil without one.
func (f flowFolder) flows() engine.Flows {
	if f.FlowFolder == "" {
		return nil
	}
	return f
}
