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
	exitFailed = 1   // it was tried and did not work
	exitUsage  = 2   // it could not be tried: a flag, a variable or a file is wrong
	exitData   = 3   // the data cannot be used as it is: damaged, of a newer version, without its key
	exitSignal = 128 // and the number of the signal that has stopped it: 130 after Ctrl-C
)

const envPrefix = "TROUPE"

// The variables of clients: which service, and whose token. No flag has them by its name: the
// flags of many commands mean other services and tokens.
const (
	clientsURL   = envPrefix + "_URL"
	clientsToken = envPrefix + "_TOKEN"
)

// The groups of commands, as the help lists them.
var groups = []kong.Group{
	{Key: "begin", Title: "Sign in to a service:"},
	{Key: "tasks", Title: "Run tasks, and look after what runs:"},
	{Key: "serve", Title: "Run a service:"},
	{Key: "operate", Title: "Operate a service:"},
	{Key: "more", Title: "More:"},
}

// Whether an unknown variable that begins with TROUPE_ stops a command is the tag variables:
// "ignore", or nothing: it stops the command, unless that talks to a service as a client.

// commands is the command line: the help, completion and manual pages follow from it.
type commands struct {
	Login   loginCommand    `cmd:"" group:"begin" help:"Sign in to a service: check a token, and keep it for later commands."`
	Context contextCommands `cmd:"" group:"begin" help:"List the services that you are signed in to, and choose one."`
	Usage   usageCommand    `cmd:"" group:"begin" help:"Show your account, its plan, and what is used of it."`

	Run      runCommand       `cmd:"" group:"tasks" help:"Run a task file and print the result: at the service, if one is named, else without one."`
	Validate validateCommand  `cmd:"" group:"tasks" help:"Check a task file: errors with line and column, the plan it needs and how long it can take."`
	Task     taskCommands     `cmd:"" group:"tasks" help:"List, show, watch, cancel and retry tasks at a service."`
	Runs     runsCommands     `cmd:"" group:"tasks" help:"List, search, show, repeat and delete runs: tasks that have ended. Those that have not: troupe task watch, troupe task cancel."`
	Session  sessionCommands  `cmd:"" group:"tasks" help:"Open, list, show and close sessions at a service."`
	Batch    batchCommands    `cmd:"" group:"tasks" help:"Run a task for many items at a service, and follow batches."`
	Schedule scheduleCommands `cmd:"" group:"tasks" help:"Run tasks at certain times at a service: create, list, show, pause, resume, run and remove schedules."`
	Flow     flowCommands     `cmd:"" group:"tasks" help:"Store, list and run flows: lists of actions with parameters."`
	Profile  profileCommands  `cmd:"" group:"tasks" help:"List, show, export, import and delete profiles at a service: cookies and storage that stay between tasks."`
	Notice   noticeCommands   `cmd:"" group:"tasks" help:"List, show and redeliver notices, and get the secret that signs them."`
	Endpoint endpointCommands `cmd:"" group:"tasks" help:"Name, list, enable and remove endpoints: receivers of notices (webhooks)."`

	Serve   serveCommand    `cmd:"" group:"serve" help:"Run the service."`
	Doctor  doctorCommand   `cmd:"" group:"serve" help:"Check everything that the service needs on this machine, and print fixes."`
	MCP     mcpCommand      `cmd:"" group:"serve" name:"mcp" help:"Let a model use browsers: answers a client of the Model Context Protocol over standard input and output."`
	Browser browserCommands `cmd:"" group:"serve" help:"Say which browser the service uses, and how to install one."`

	Account accountCommands `cmd:"" group:"operate" help:"Create, list, change and delete accounts."`
	Token   tokenCommands   `cmd:"" group:"operate" help:"Create, list and revoke tokens."`
	Secret  secretCommands  `cmd:"" group:"operate" help:"Manage secrets that tasks can fill into pages without containing them."`
	Audit   auditCommand    `cmd:"" group:"operate" help:"Show the audit log of operators' commands, newest first."`
	Worker  workerCommands  `cmd:"" group:"operate" help:"Add, list, drain, resume and remove workers."`
	Drain   drainCommand    `cmd:"" group:"operate" help:"Stop the running service from accepting new tasks."`
	Resume  resumeCommand   `cmd:"" group:"operate" help:"Let the drained service accept tasks again."`
	Cluster clusterCommands `cmd:"" group:"operate" help:"Show the nodes of a cluster, remove a node, and import data."`
	Store   storeCommands   `cmd:"" group:"operate" help:"Check, repair, back up and restore the store of a service that does not run."`

	Version    versionCommand    `cmd:"" group:"more" variables:"ignore" help:"Print the version, the commit, Go, and the browser that is found."`
	Completion completionCommand `cmd:"" group:"more" variables:"ignore" help:"Print a script that lets a shell complete this command line."`
	Complete   completeCommand   `cmd:"" variables:"ignore" name:"__complete" hidden:"" passthrough:""`
	Manual     manualCommand     `cmd:"" variables:"ignore" hidden:"" help:"Write the manual pages to a folder."`

	Print kong.VersionFlag `name:"version" env:"-" help:"Print the version."`
}

// A remoteCommand runs at a service, always or as its flags say, or with files of its own: it
// opens no store. Given are the flags of the command line, without those that the environment
// has set.
type remoteCommand interface {
	remote(given []string) (bool, error)
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
	parser, err := newParser(w)
	if err != nil {
		return w.fail(err)
	}
	if err := unsetEmpty(); err != nil {
		return w.fail(err)
	}
	if len(args) > 0 && args[0] == "help" { // what many others call it
		args = append(args[1:len(args):len(args)], "--help")
	}
	line, err := parser.Parse(singular(parser.Model.Node, args))
	if err != nil && len(args) == 0 {
		err = fmt.Errorf("%w (see troupe --help)", err)
	}
	if err != nil {
		return w.fail(usageError{err})
	}
	if err := allNameSomething(line); err != nil {
		return w.fail(usageError{err})
	}
	remote := false
	if c, ok := line.Selected().Target.Addr().Interface().(remoteCommand); ok {
		if remote, err = c.remote(given(line)); err != nil {
			return w.fail(err)
		}
	}
	switch err := unknownVariable(parser.Model.Node); {
	case err == nil || line.Selected().Tag.Get("variables") == "ignore":
	case remote:
		fmt.Fprintf(w.stderr, "troupe: warning: %v\n", err)
	default:
		return w.fail(usageError{err})
	}
	if remote {
		stop, _, forget := signals(w.ctx)
		defer forget()
		w.ctx, w.stdin = stop, interruptible{stop, w.stdin}
		return w.fail(interrupted(stop, line.Run()))
	}
	return w.fail(line.Run())
}

func newParser(w *environment) (*kong.Kong, error) {
	return kong.New(&commands{},
		kong.Name("troupe"),
		kong.Description("Plays lists of browser actions over HTTP."),
		kong.Vars{"version": "troupe " + ownVersion()},
		kong.ExplicitGroups(groups),
		kong.PostBuild(nameVariables),
		kong.PostBuild(addExamples),
		kong.Writers(w.stdout, w.stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.UsageOnError(),
		kong.Bind(w),
	)
}

// singular lets a group of commands be called by its plural: troupe tasks list.
func singular(root *kong.Node, args []string) []string {
	for _, n := range root.Children {
		if len(args) > 0 && len(n.Children) > 0 && (args[0] == n.Name+"s" || args[0] == n.Name+"es") {
			return append([]string{n.Name}, args[1:]...)
		}
	}
	return args
}

// given are the names of the flags of a command line.
func given(line *kong.Context) (names []string) {
	for _, p := range line.Path {
		if p.Flag != nil {
			names = append(names, p.Flag.Name)
		}
	}
	return names
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
	if stopped := new(interruptedError); errors.As(err, stopped) {
		stopped.say(w)
		return stopped.code()
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errTaskFailed), errors.Is(err, errUnwell):
		return exitFailed // the result is printed and says so
	}
	fmt.Fprintln(w.stderr, paintFor(w.stderr).red("troupe:")+" "+err.Error())
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

// unsetEmpty removes our variables that are empty: they count as not set.
func unsetEmpty() error {
	for _, e := range os.Environ() {
		if name, value, _ := strings.Cut(e, "="); value == "" && isOurs(name) {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// isOurs reports whether a variable is meant for this program.
func isOurs(name string) bool {
	return strings.HasPrefix(name, envPrefix+"_") && !strings.HasPrefix(name, envPrefix+"_TEST_")
}

// unknownVariable finds a variable of ours that no flag knows: a mistake that must not pass
// silently.
func unknownVariable(root *kong.Node) error {
	known := map[string]bool{clientsToken: true, clientsURL: true}
	_ = kong.Visit(root, func(n kong.Visitable, next kong.Next) error {
		if f, ok := n.(*kong.Flag); ok {
			for _, e := range f.Envs {
				known[e] = true
			}
		}
		return next(nil)
	})
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if !isOurs(name) || known[name] {
			continue
		}
		hint := lang.DidYouMean(name, slices.Sorted(maps.Keys(known)))
		if hint == "" {
			hint = "; --help names the variable of each flag"
		}
		return fmt.Errorf("the environment variable %s is unknown%s", name, hint)
	}
	return nil
}
