// Command troupe plays lists of browser actions over HTTP.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"troupe/engine/lang"
)

// Exit codes.
const (
	exitFailed = 1 // it was tried and did not work
	exitUsage  = 2 // it could not be tried: a flag, a variable or a file is wrong
	exitData   = 3 // the data cannot be used as it is: damaged, of a newer version, without its key
)

const envPrefix = "TROUPE"

// clientsToken is the variable from which the programs that the web page hands
// out take their token: it says nothing to us, and must not stop us where
// somebody has set it for them.
const clientsToken = envPrefix + "_TOKEN"

// commands is the command line.
type commands struct {
	Serve    serveCommand     `cmd:"" help:"Run the service."`
	Run      runCommand       `cmd:"" help:"Run a task file without a service and print the result."`
	Validate validateCommand  `cmd:"" help:"Check a task file: errors, the plan it needs and how long it can take."`
	Account  accountCommands  `cmd:"" help:"Create, list, change and delete accounts."`
	Token    tokenCommands    `cmd:"" help:"Create, list and revoke tokens."`
	Secret   secretCommands   `cmd:"" help:"Manage secrets that tasks can fill into pages without containing them."`
	Flow     flowCommands     `cmd:"" help:"Store, list and run flows: lists of actions with parameters."`
	Batch    batchCommands    `cmd:"" help:"Run a task for many items at a service, and follow batches."`
	Schedule scheduleCommands `cmd:"" help:"Run tasks at certain times at a service: create, list, show, pause, resume, run and remove schedules."`
	Profile  profileCommands  `cmd:"" help:"List, show, export, import and delete profiles at a service: cookies and storage that stay between tasks."`
	Audit    auditCommand     `cmd:"" help:"Show the audit log of operators' commands, newest first."`
	Worker   workerCommands   `cmd:"" help:"Add, list, drain, resume and remove workers."`
	Cluster  clusterCommands  `cmd:"" help:"Show the nodes of a cluster, remove a node, and import data."`
	Store    storeCommands    `cmd:"" help:"Check, repair, back up and restore the store of a service that does not run."`
	Drain    drainCommand     `cmd:"" help:"Stop the running service from accepting new tasks."`
	Resume   resumeCommand    `cmd:"" help:"Let the drained service accept tasks again."`
	Doctor   doctorCommand    `cmd:"" help:"Check everything that the service needs on this machine, and print fixes."`
	MCP      mcpCommand       `cmd:"" name:"mcp" help:"Let a model use browsers: answers a client of the Model Context Protocol over standard input and output."`
	Browser  browserCommands  `cmd:"" help:"Say which browser the service uses, and how to install one."`
	Version  versionCommand   `cmd:"" help:"Print the version, the commit, Go, and the browser that is found."`

	Completion completionCommand `cmd:"" help:"Print a script that lets a shell complete this command line."`
	Complete   completeCommand   `cmd:"" name:"__complete" hidden:"" passthrough:""`
	Manual     manualCommand     `cmd:"" hidden:"" help:"Write the manual pages to a folder."`
}

// usageError is an error of what was asked for: nothing was tried.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// environment is what a command may touch.
type environment struct {
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

func main() {
	os.Exit(run(&environment{context.Background(), os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}

// exited carries an exit code out of kong, which ends the process after --help.
type exited int

func run(w *environment, args []string) (code int) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case exited:
			code = int(v)
		default:
			panic(v)
		}
	}()
	var c commands
	parser, err := kong.New(&c,
		kong.Name("troupe"),
		kong.Description("Plays lists of browser actions over HTTP."),
		kong.PostBuild(nameVariables),
		kong.Writers(w.stdout, w.stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.UsageOnError(),
		kong.Bind(w),
	)
	if err != nil {
		return w.fail(err)
	}
	if err := settings(parser.Model.Node); err != nil {
		return w.fail(usageError{err})
	}
	if len(args) > 0 && args[0] == "help" { // what many others call it
		args = append(args[1:len(args):len(args)], "--help")
	}
	line, err := parser.Parse(args)
	if err != nil && len(args) == 0 {
		err = fmt.Errorf("%w (see troupe --help)", err)
	}
	if err != nil {
		return w.fail(usageError{err})
	}
	if err := allNameSomething(line); err != nil {
		return w.fail(usageError{err})
	}
	return w.fail(line.Run())
}

// allNameSomething finds a list that was given and names nothing, such as --sites ”: its
// writer wanted a bound, and nothing may mean everything.
func allNameSomething(line *kong.Context) error {
	for _, f := range line.Flags() {
		if !f.Set || f.Target.Kind() != reflect.Slice || f.Target.Type().Elem().Kind() != reflect.String {
			continue
		}
		all := f.Target.Interface().([]string)
		if len(all) == 0 || slices.ContainsFunc(all, func(s string) bool { return strings.TrimSpace(s) == "" }) {
			return fmt.Errorf("--%s names nothing: give it a value, or leave it out", f.Name)
		}
	}
	return nil
}

// fail prints an error and returns the exit code.
func (w *environment) fail(err error) int {
	var unmet usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errTaskFailed), errors.Is(err, errUnwell):
		return exitFailed // the result is printed and says so
	}
	fmt.Fprintln(w.stderr, "troupe: "+err.Error())
	var data dataError
	if errors.As(err, &data) {
		fmt.Fprint(w.stderr, data.advice)
		return exitData
	}
	if errors.As(err, &unmet) {
		return exitUsage
	}
	return exitFailed
}

// nameVariables gives each flag the variable that is spelled as it is: --files-url is
// TROUPE_FILES_URL. (Kong's own spelling takes s3 apart.) One with env:"-" has
// none: what is meant for the service must not send a command elsewhere.
func nameVariables(k *kong.Kong) error {
	return kong.Visit(k.Model.Node, func(n kong.Visitable, next kong.Next) error {
		f, ok := n.(*kong.Flag)
		switch {
		case !ok || f.Name == "help":
		case slices.Equal(f.Envs, []string{"-"}):
			f.Envs, f.Tag.Envs = nil, nil
		default:
			f.Envs = []string{envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))}
			f.Tag.Envs = f.Envs
		}
		return next(nil)
	})
}

// settings looks at the environment: a variable of ours that no flag knows is a
// mistake that must not pass silently. An empty one counts as not set.
func settings(root *kong.Node) error {
	known := map[string]bool{clientsToken: true}
	_ = kong.Visit(root, func(n kong.Visitable, next kong.Next) error {
		if f, ok := n.(*kong.Flag); ok {
			for _, e := range f.Envs {
				known[e] = true
			}
		}
		return next(nil)
	})
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, envPrefix+"_") || strings.HasPrefix(name, envPrefix+"_TEST_") {
			continue
		}
		if !known[name] {
			hint := lang.DidYouMean(name, slices.Sorted(maps.Keys(known)))
			if hint == "" {
				hint = "; --help names the variable of each flag"
			}
			return fmt.Errorf("the environment variable %s is unknown%s", name, hint)
		}
		if value == "" {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	return nil
}
