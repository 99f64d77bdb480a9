package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/http/address"
	"troupe/http/admin"
	"troupe/persistence"
)

// operator is the flags of each command that works on a service's data.
type operator struct {
	Data string `help:"Data folder of the service." placeholder:"DIR"`
	JSON bool   `help:"Print JSON, for scripts."`
}

func (c operator) placed() (operator, *connection) { return c, nil }

// A placed command works on a data folder, or at a service where it has a connection.
type placed interface {
	placed() (operator, *connection)
}

// distant is the flags of operator commands that have a route: with the token of an operator's
// account they work from anywhere.
type distant struct {
	operator
	connection
}

func (c *distant) placed() (operator, *connection) { return c.operator, &c.connection }

// remote reports whether the command goes over HTTP: if a service is named, and no data folder
// is. Flags win over what the environment and the contexts say.
func (c *distant) remote(given []string) (bool, error) {
	switch {
	case c.named() && slices.Contains(given, "data"):
		return false, usage("give either --data or --url or --context")
	case c.Data != "" && !c.named():
		return false, nil
	}
	at, err := c.service()
	if err != nil {
		return false, err
	}
	return at.given, nil
}

// overHTTP sends an operator's command to a service elsewhere.
func overHTTP[R any](w *environment, c *connection, o admin.Command[R]) (result R, err error) {
	path, ok := admin.RemotePath(o)
	if !ok {
		return result, usage("this command has no route: give it beside the service, with --data")
	}
	if c.found.context != "" {
		fmt.Fprintf(w.stderr, "troupe: at %s (context %s)\n", c.found.url, c.found.context)
	}
	body, err := json.Marshal(o)
	if err != nil {
		return result, err
	}
	var done struct {
		Result R `json:"result"`
	}
	err = c.callWith(w.ctx, http.MethodPost, address.Operator(path), body, &done)
	return done.Result, err
}

// execute sends a command to the running service, which has the store locked. Without a
// running service, it runs the command itself, and says so; live tells which. Only a command
// that makes something creates a store, and only in a folder that was named: otherwise, a
// missing store means that the folder is probably wrong.
func execute[R any](w *environment, by placed, makes bool, o admin.Command[R]) (result R, live bool, err error) {
	c, elsewhere := by.placed()
	if elsewhere != nil && elsewhere.found != nil && elsewhere.found.given {
		result, err = overHTTP(w, elsewhere, o)
		return result, true, err
	}
	dir, err := findData(c.Data)
	if err != nil {
		return result, false, usageError{err}
	}
	result, err = admin.Send(socketIn(dir), o)
	if !errors.Is(err, admin.ErrNoService) {
		return result, true, err
	}
	if _, err := os.Stat(clusterIn(dir)); err == nil {
		return result, false, usage("the data folder %s is that of a node of a cluster, and no service runs with it: start it, or ask another node", dir)
	}
	switch _, missing := os.Stat(storeIn(dir)); {
	case missing != nil && !makes:
		return result, false, usage("there is nothing in the data folder %s, and no service runs with it: name the service's with --data", dir)
	case missing != nil && c.Data == "":
		return result, false, usage("no service runs with the data folder %s, and there is nothing in it: name the service's with --data. To make a new one there: --data %s", dir, quote(dir))
	case missing != nil:
		defer func() {
			if err == nil {
				fmt.Fprintf(w.stderr, "A new data folder was made: %s. No service runs with it.\n", dir)
			}
		}()
	default:
		defer func() {
			if err == nil {
				fmt.Fprintf(w.stderr, "No service runs with the data folder %s: the command used what is stored there.\n", dir)
			}
		}()
	}
	if dir, err = dataFolder(dir); err != nil {
		return result, false, usageError{err}
	}
	offline, end, err := openAdmin(dir)
	if err != nil {
		return result, false, err
	}
	defer func() { err = errors.Join(err, end()) }()
	offline.Audit, offline.By = persistence.NewAudit(auditIn(dir)), persistence.Issuer{Via: persistence.ViaCommand}
	defer func() { err = errors.Join(err, offline.Audit.Close()) }()
	result, err = admin.Run(w.ctx, offline, o)
	return result, false, err
}

// openAdmin opens what a service that does not run has left.
func openAdmin(dir string) (o *admin.Admin, end func() error, err error) {
	store, closes, err := openDisk(dir, zerolog.Nop())
	if err != nil {
		return nil, nil, err
	}
	files, err := persistence.OpenFolder(filesIn(dir))
	if err != nil {
		return nil, nil, errors.Join(err, closes())
	}
	end = func() error { return errors.Join(files.Close(), closes()) }
	seal, err := openKey(dir, store)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	if o, err = offlineAdmin(persistence.NewAccounts(store), store, files, zerolog.Nop()); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	o.Secrets, o.Flows = persistence.NewSecrets(store, seal), persistence.NewFlows(store)
	return o, end, nil
}

// offlineAdmin runs commands on a service that does not run.
func offlineAdmin(a *persistence.Accounts, store persistence.Store, files persistence.Files, log zerolog.Logger) (*admin.Admin, error) {
	offline, err := actors.NewOfflineNode(actors.Config{Store: store, Files: files, Log: log})
	if err != nil {
		return nil, err
	}
	return &admin.Admin{Accounts: a, Actors: offline}, nil
}

// print writes a result: as JSON, or as people want it.
func (c operator) print(w *environment, result any, people func(io.Writer)) error {
	if !c.JSON {
		people(w.stdout)
		return nil
	}
	enc := json.NewEncoder(w.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(result)
}

// table writes rows in columns. The first row is the heads.
func table(out io.Writer, rows [][]string) {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush()
	heads, rest, _ := strings.Cut(text.String(), "\n")
	fmt.Fprint(out, paintFor(out).bold(heads)+"\n"+rest)
}

func minute(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// executeOne runs a command about one thing and prints what has become of it.
func executeOne[R any](w *environment, by placed, makes bool, doing string, o admin.Command[R], say func(R, bool) string) error {
	r, live, err := execute(w, by, makes, o)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	c, _ := by.placed()
	return c.print(w, r, func(out io.Writer) { fmt.Fprintln(out, say(r, live)) })
}

// serviceRuns reports whether a service has the data folder.
func serviceRuns(data string) bool {
	c, err := net.Dial("unix", socketIn(data))
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}
