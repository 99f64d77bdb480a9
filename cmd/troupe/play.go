package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/http/answer"
)

// errTaskFailed: the task was played, and its printed result is no success.
var errTaskFailed = errors.New("the task failed")

type runCommand struct {
	connection
	Local   bool   `env:"-" help:"Run the task without a service, also where one is named."`
	Session string `env:"-" help:"Run the task in this session of the service, see troupe session open." placeholder:"ID"`
	Detach  bool   `env:"-" help:"Do not wait: the task goes on at the service, and its id is printed. It runs as with async, unless it says queue."`

	Task     taskFile `embed:""`
	Out      string   `default:"." help:"Folder for pictures and downloads. Created when needed." placeholder:"DIR"`
	Trace    bool     `help:"Write a page to the folder, too, that shows each step with the page before and after it: config.trace full, whatever the task says."`
	Progress string   `default:"auto" enum:"auto,always,never" help:"Show each step on standard error as it ends: always, never, or auto: on a terminal."`
	Config   string   `help:"Configuration file of the service (JSON) with the proxies that the task can name." placeholder:"FILE"`
	Log      logFlags `embed:"" prefix:"log-"`
	Chromium chromium `embed:""`

	proxies   engine.Proxies
	atService bool
}

// Run plays the task. The exit code is 0 if it succeeded, 1 if it failed, and 2 if it could not be played at all.
func (c *runCommand) Run(w *environment) (err error) {
	if c.atService {
		return c.runRemote(w)
	}
	if c.Session != "" || c.Detach {
		return usage("--session and --detach need a service: name one with troupe login, TROUPE_URL or --url")
	}
	log, err := c.Log.open(w.stderr)
	if err != nil {
		return usageError{err}
	}
	file, err := readConfig(c.Config)
	if err == nil {
		var named map[string]engine.NamedProxy
		named, err = namedProxies(file.proxies, true)
		c.proxies.Set(named)
	}
	if err != nil {
		return usage("read --config %s: %w", c.Config, err)
	}
	task, err := c.read(w)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "troupe-run-")
	if err != nil {
		return usage("make a folder for the browser: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil { // the browser may run as another user
		return usage("make a folder for the browser: %w", err)
	}
	eng, proxy, err := c.Chromium.engine(folderOf(dir), "only this list is run", &c.proxies, nil, false, log)
	if err != nil {
		return usageError{err}
	}
	defer proxy.Close()
	if c.Progress == "always" || c.Progress == "auto" && terminal(w.stderr) {
		eng = &shown{Engine: eng, progress: &progress{out: w.stderr}}
	}
	watched := &launches{Engine: eng, failed: make(chan error, 1)}
	limits := engine.DefaultLimits()
	own := limits[engine.Pro]
	own.Sync = own.Async // nobody waits at the other end of a connection
	limits[engine.Pro] = own
	node, err := actors.Start(actors.Config{
		Engine: watched, SaveFile: (&folder{dir: c.Out}).save, Limits: limits,
		Workers: actors.SharedWorkers("", 1), Log: log,
	})
	if err != nil {
		return usageError{err}
	}
	defer node.Stop()

	stop, _, forget := signals(w.ctx)
	defer forget()
	if err := ready(stop, node, watched.failed); err != nil {
		return usageError{err}
	}
	x, err := node.Execute(stop, &api.Execute{
		Account: api.Account{ID: firstAccount, Plan: engine.Pro}, Task: task,
	})
	if err != nil {
		return fmt.Errorf("play the task: %w", err)
	}
	success, err := answer.WriteTask(w.stdout, x)
	if err == nil && !success {
		err = interrupted(stop, errTaskFailed)
	}
	return err
}

// traced is the task with a full trace.
func traced(t *engine.Task) (*engine.Task, error) {
	body, config := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	err := json.Unmarshal(t.Source(), &body)
	if c := body["config"]; err == nil && c != nil {
		err = json.Unmarshal(c, &config)
	}
	if config == nil { // it was null
		config = map[string]json.RawMessage{}
	}
	config["trace"] = json.RawMessage(`"full"`)
	if err == nil {
		body["config"], err = json.Marshal(config)
	}
	var source []byte
	if err == nil {
		source, err = json.Marshal(body)
	}
	if err != nil {
		return nil, fmt.Errorf("ask for a trace: %w", err)
	}
	return engine.ParseWith(source, t.Files, t.Flows())
}

// read reads and parses the task. Its faults are printed as the service would
// answer them.
func (c *runCommand) read(w *environment) (*engine.Task, error) {
	source, files, err := c.Task.read(w)
	if err != nil {
		return nil, err
	}
	task, err := engine.ParseFor(source, files, c.Task.flows(), c.proxies.Names(firstAccount, engine.Pro))
	var invalid *engine.Invalid
	if errors.As(err, &invalid) {
		pointAt(w.stderr, c.Task.Task, source, invalid.Faults)
		if err := answer.WriteFaults(w.stdout, invalid.Faults); err != nil {
			return nil, err
		}
		return nil, usage("the task is not valid: see the result")
	}
	if err == nil && c.Trace {
		return traced(task)
	}
	return task, err
}

// launches reports the first browser that did not start: without one there is
// nothing to wait for.
type launches struct {
	engine.Engine
	failed chan error
}

func (l *launches) Launch(ctx context.Context, worker string) (engine.Instance, error) {
	in, err := l.Engine.Launch(ctx, worker)
	if err != nil {
		select {
		case l.failed <- err:
		default:
		}
	}
	return in, err
}

// ready waits for the browser.
func ready(ctx context.Context, node *actors.Node, failed <-chan error) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !node.Ready() {
		select {
		case <-ctx.Done():
			return errors.New("stopped before the browser was up")
		case err := <-failed:
			return fmt.Errorf("start the browser: %w", err)
		case <-tick.C:
		}
	}
	return nil
}

// folder keeps what a task makes under names that people can read.
type folder struct {
	dir string

	mu sync.Mutex
	n  map[string]int
}

// save writes a file and returns its address on this machine.
func (k *folder) save(_ context.Context, f engine.File, r io.Reader) (string, error) {
	if err := os.MkdirAll(k.dir, 0o755); err != nil {
		return "", fmt.Errorf("make the folder for files: %w", err)
	}
	out, err := k.create(f)
	if err != nil {
		return "", fmt.Errorf("keep a file: %w", err)
	}
	if _, err := io.Copy(out, r); err != nil {
		_ = out.Close()
		_ = os.Remove(out.Name())
		return "", fmt.Errorf("keep a file: %w", err)
	}
	if err := out.Close(); err != nil {
		return "", fmt.Errorf("keep a file: %w", err)
	}
	path, err := filepath.Abs(out.Name())
	if err != nil {
		return "", fmt.Errorf("keep a file: %w", err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String(), nil
}

// create opens a file that was not there, named after what the task calls it.
func (k *folder) create(f engine.File) (*os.File, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.n == nil {
		k.n = map[string]int{}
	}
	name := filepath.Base(filepath.Clean("/" + strings.ReplaceAll(f.Name, `\`, "/")))
	ext := filepath.Ext(name)
	stem := strings.TrimLeft(strings.TrimSuffix(name, ext), "./")
	if stem == "" {
		stem = "file"
	}
	if known := map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}[f.ContentType]; known != "" && ext == "" {
		ext = known
	}
	for {
		k.n[stem+ext]++
		out, err := os.OpenFile(filepath.Join(k.dir, fmt.Sprintf("%s-%d%s", stem, k.n[stem+ext], ext)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return out, err
		}
	}
}
