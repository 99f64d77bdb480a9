package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

// flowPlace is whose flows a command is about, as flags: those of an account of a data folder,
// for its operator, or those of the token's account at a service.
type flowPlace struct {
	operator
	connection
	Account string `help:"Name of the account, for the operator of the data folder. Default: the account of the token, at the service." placeholder:"NAME"`
}

func (c *flowPlace) placed() (operator, *connection) { return c.operator, nil }

// remote reports whether the command goes to a service.
func (c *flowPlace) remote(given []string) (bool, error) {
	switch local := c.Account != ""; {
	case local && c.named():
		return false, usage("--account is for the operator of a data folder: leave it out at a service, which knows the account by the token")
	case !local && slices.Contains(given, "data"):
		return false, usage("--data needs --account: a data folder has the flows of many")
	default:
		return !local, nil
	}
}

type flowPut struct {
	flowPlace
	Name string `arg:"" help:"Name of the flow."`
	File string `arg:"" help:"File with the flow as JSON, or - for the standard input."`
}

// Run stores a flow. Faults are printed one on a line, and are an error.
func (c *flowPut) Run(w *environment) error {
	source, err := readBounded(c.File, w.stdin, engine.MaxFlow)
	if err != nil {
		return usage("read the flow: %w", err)
	}
	if c.Account == "" {
		return c.putRemote(w, source)
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
	flowPlace
	Name string `arg:"" help:"Name of the flow, or name@version."`
}

func (c *flowGet) Run(w *environment) error {
	if c.Account == "" {
		return c.getRemote(w)
	}
	f, _, err := execute(w, c.operator, false, admin.GetFlow{Account: c.Account, Name: c.Name})
	if err != nil {
		return fmt.Errorf("get a flow: %w", err)
	}
	_, err = fmt.Fprintln(w.stdout, strings.TrimSuffix(string(f.Source), "\n"))
	return err
}

type flowList struct {
	flowPlace
}

func (c *flowList) Run(w *environment) error {
	all, err := c.all(w)
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

func (c *flowList) all(w *environment) ([]flows.Flow, error) {
	if c.Account == "" {
		return c.listRemote(w)
	}
	all, _, err := execute(w, c.operator, false, admin.ListFlows{Account: c.Account})
	return all, err
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
	flowPlace
	Name string `arg:"" help:"Name of the flow."`
}

func (c *flowDelete) Run(w *environment) error {
	if c.Account == "" {
		return c.deleteRemote(w)
	}
	return executeOne(w, c.operator, false, "delete a flow", admin.RemoveFlow{Account: c.Account, Name: c.Name}, func(f admin.FlowRemoved, _ bool) string {
		return fmt.Sprintf("The flow %s of the account %q is deleted.", f.Name, f.Account)
	})
}

type flowRun struct {
	flowPlace
	Name    string        `arg:"" help:"Name of the flow, or name@version."`
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
	if c.Account == "" {
		return c.runRemote(w, with)
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
