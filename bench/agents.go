package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// after is a text from a part of it on; all of it where that is not in it.
func after(s, part string) string { return s[max(0, strings.Index(s, part)):] }

// runAgents lets tools for models do the same jobs, by fixed decisions instead of a
// model, and counts what a model would read and write.
func runAgents(b *bench, p *part) error {
	if err := installAgents(b); err != nil {
		return err
	}
	site := newAgentSite()
	defer site.Close()
	service, err := startServiceWith(b, 6)
	if err != nil {
		return err
	}
	defer service.stop()
	ours := func(b *bench, _ string) (*hands, error) {
		c := service.client(0)
		cmd := exec.Command(b.service, "mcp", "--url", strings.TrimSuffix(c.url, "/v1"), "--log-level", "error")
		cmd.Env = append(cmd.Environ(), "TROUPE_TOKEN="+c.token)
		h, err := speak(b, cmd)
		if err != nil {
			return nil, err
		}
		finish := h.finish
		h.finish = func() { // the account may have so many sessions only
			if h.session != "" {
				_, _ = h.mcp.CallTool(b.ctx, &sdk.CallToolParams{Name: "session", Arguments: map[string]any{"do": "close", "id": h.session}})
			}
			finish()
		}
		return h, nil
	}
	tools := []agentTool{{byTroupe, ours}, {byPlaywright, startPlaywrightMCP}, {byDevTools, startDevTools}, {byBrowser, startAgentBrowser}, {byGrep, startAgentBrowser}}
	p.say("%s", origin(b, "@playwright/mcp", "chrome-devtools-mcp", "agent-browser"))
	jobs := table{head: []string{"job", "tool", "tokens", "into the model", "out of it", "calls", "bytes", "done"}}
	first := table{head: []string{"tool", "tokens before the first call"}}
	for _, j := range agentJobs {
		if b.job != "" && !strings.Contains(j.name, b.job) {
			continue
		}
		what := j.what
		for _, t := range tools {
			play := j.by[t.name]
			if play == nil || b.tool != "" && t.name != b.tool {
				continue
			}
			dir, err := b.folder()
			if err != nil {
				return err
			}
			h, err := t.start(b, dir)
			if err != nil {
				return fmt.Errorf("starting %s: %w", t.name, err)
			}
			h.shown = b.calls
			site.forget()
			answer := play(h, site.URL+j.path)
			done := h.err == nil && awaited(func() bool { return site.sees(func() bool { return j.done(site, answer) }) })
			h.finish()
			if h.err != nil {
				fmt.Printf("%s by %s: %v\n", j.name, t.name, h.err)
			}
			if b.ctx.Err() != nil {
				return b.ctx.Err()
			}
			jobs.row(what, t.name, tokens(h.in+h.out), tokens(h.in), tokens(h.out), strconv.Itoa(h.calls), grouped(int(h.wire.Load())), map[bool]string{true: "yes", false: "**no**"}[done])
			if !slices.ContainsFunc(first.rows, func(r []string) bool { return r[0] == t.name }) && t.name != byGrep {
				first.row(t.name, tokens(h.schema))
			}
			what = ""
		}
	}
	p.add(jobs)
	p.say("Descriptions of all tools, with instructions. For agent-browser, its guide (`agent-browser skills get core`):")
	p.add(first)
	return nil
}

// installAgents gives the tools from npm their place. They run from there: agent-browser's
// program is not executable as it comes where scripts of packages are not run.
func installAgents(b *bench) (err error) {
	if b.agents, err = installed(agentFiles, "agents"); err != nil {
		return err
	}
	programs, err := filepath.Glob(module(b, "agent-browser", "bin", "*"))
	if err != nil {
		return err
	}
	for _, p := range programs {
		if err := os.Chmod(p, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// awaited waits for what a page sends to its server.
func awaited(is func() bool) bool {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if is() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// tokens is characters / 4, in groups of three digits.
func tokens(characters int) string { return grouped((characters + 3) / 4) }

func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
