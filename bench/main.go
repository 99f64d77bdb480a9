package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"troupe/engine/browser"
)

// measurement is a part of the report and what makes it.
type measurement struct {
	name string
	run  func(*bench, *part) error
	asks bool // runs only when it is asked for: it takes long
}

// documentOf names the document with the place of a part.
func documentOf(part string) string {
	switch part {
	case "cluster":
		return "docs/cluster.md"
	case "attacks", "reads", "together":
		return "docs/security.md"
	case "agents":
		return "docs/agents.md"
	case "isolation", "pauses", "context":
		return "docs/decisions/0033-isolation-as-a-choice.md"
	case loadPart, "http", "steps", "builds", "frames", "blocked":
		return "docs/decisions/0017-what-a-task-costs.md"
	}
	return "docs/performance.md"
}

var measurements = []measurement{
	{"tasks", runTasks, false},
	{"http", runHTTP, false},
	{"cold", runCold, false},
	{"watched", runWatched, false},
	{"proxy", runProxy, false},
	{"blocked", runBlocked, false},
	{"steps", runSteps, true},
	{"scale", runScale, true},
	{"cluster", runCluster, true},
	{"flat", runFlat, true},
	{"attacks", runAttacks, true},
	{"reads", runReads, true},
	{"together", runTogether, true},
	{"builds", runBuilds, true},
	{"frames", runFrames, true},
	{"isolation", runIsolation, true},
	{"pauses", runPauses, true},
	{"context", runContext, true},
	{"pages", runPages, true},
	{"workers", runWorkers, true},
	{"agents", runAgents, true},
}

func main() {
	var (
		b       = &bench{command: spelled(os.Args[1:])}
		only    = flag.String("only", "", "measure only these, separated by commas: tasks, http, cold, watched, proxy, steps, scale, cluster, flat, attacks, reads, together, builds, frames, blocked, isolation, pauses, context, pages, workers, agents; default: the first five, and blocked")
		write   = flag.String("write", "", "put the results into this document, between its marks; those without marks there go to their own documents")
		isRaw   = flag.Bool("raw", false, "be the raw client (used by this program itself)")
		clean   = flag.Bool("clean", false, "with -raw: replace the context after each task")
		cleared = flag.Bool("clear", false, "with -raw: clear the context after each task, and keep it")
		direct  = flag.Bool("direct", false, "with -raw: go without a proxy")
		frames  = flag.Bool("frames", false, "with -raw: attach to frames of other sites")
		tabs    = flag.Int("tabs", 1, "with -raw: how many browsers with a tab each")
		part    = flag.String("http-side", "", "be a side of -only http (used by this program itself)")
		partDir = flag.String("http-dir", "", "with -http-side: where it keeps what it keeps")
	)
	flag.StringVar(&b.browser, "browser", "", "the Chromium to measure with; default: the one found")
	flag.StringVar(&b.service, "troupe", "", "the service's program; default: build it")
	flag.BoolVar(&b.quick, "quick", os.Getenv("QUICK") != "", "a short look")
	flag.BoolVar(&b.withPeers, "peers", true, "measure servers around Puppeteer and Playwright, too, which need npm")
	flag.StringVar(&b.before, "before", "", "with attacks, builds and isolation: the program of an older build, to show beside today's")
	flag.StringVar(&b.attack, "attack", "", "with attacks: only those with this in their names")
	flag.StringVar(&b.plot, "plot", "", "with scale and attacks: draw a diagram into this file (SVG)")
	flag.StringVar(&b.job, "job", "", "with agents: only jobs with this in their names")
	flag.BoolVar(&b.calls, "calls", false, "with agents: show each call")
	flag.StringVar(&b.tool, "tool", "", "with agents: only this tool")
	flag.IntVar(&b.rounds, "rounds", 3, "with tasks, isolation, context, pages and workers: how often each side takes its turn")
	flag.IntVar(&b.starts, "starts", 8, "with watched, proxy, builds, frames, blocked and pauses: how often both sides are started")
	flag.IntVar(&b.tasks, "tasks", 10000, "with flat: how many")
	flag.DurationVar(&b.idle, "idle", 200*time.Millisecond, "time between two tasks, as real clients leave it")
	flag.Parse()
	var err error
	if b.browser == "" && *part == "" {
		b.browser, err = browser.Find()
	}
	switch {
	case err != nil:
	case *part != "":
		err = serveHTTPSide(*part, *partDir)
	case *isRaw:
		var after func(*raw) error
		switch {
		case *clean:
			after = (*raw).fresh
		case *cleared:
			after = (*raw).cleared
		}
		err = serveRaw(b.browser, after, *direct, *frames, *tabs)
	default:
		// A run that is ended early must not leave its servers running.
		ctx, forget := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		b.ctx = ctx
		err = measureAll(b, *only, *write)
		forget()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// spelled is the command that this is.
func spelled(args []string) string {
	return strings.TrimSpace("go run ./bench " + strings.Join(args, " "))
}

func measureAll(b *bench, only, write string) (err error) {
	chosen := []string{}
	if only != "" {
		chosen = strings.Split(only, ",")
	}
	for _, name := range chosen {
		if !slices.ContainsFunc(measurements, func(m measurement) bool { return m.name == name }) {
			return fmt.Errorf("-only %q is unknown: want tasks, http, cold, watched, proxy, steps, scale, cluster, flat, attacks, reads, together, builds, frames, blocked, isolation, pauses, context, pages, workers or agents", name)
		}
	}
	if b.dir, err = os.MkdirTemp("", "troupe-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if err := os.Chmod(b.dir, 0o711); err != nil { // unprivileged users look into it
		return err
	}
	if b.service == "" {
		b.service = filepath.Join(b.dir, "troupe")
		if out, err := exec.Command("go", "build", "-o", b.service, "./cmd/troupe").CombinedOutput(); err != nil {
			return fmt.Errorf("building the service: %w: %s", err, out)
		}
	}
	web := site()
	defer web.Close()
	b.site = web.URL
	began := time.Now()
	var done []*part
	for _, m := range measurements {
		if len(chosen) > 0 && !slices.Contains(chosen, m.name) || len(chosen) == 0 && m.asks {
			continue
		}
		p := &part{name: m.name, show: os.Stdout}
		fmt.Printf("## %s\n\n", m.name)
		if err := m.run(b, p); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		done = append(done, p)
		if p.appendix != nil {
			done = append(done, p.appendix)
		}
	}
	fmt.Fprintf(os.Stderr, "%.0f s in all\n", time.Since(began).Seconds())
	if write == "" {
		return nil
	}
	return writeParts(write, done)
}
