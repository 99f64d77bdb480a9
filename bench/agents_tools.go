package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// agentFiles are the tools from npm that ours are measured beside, with their versions.
//
//go:embed agents
var agentFiles embed.FS

// agentTool is one of what is compared.
type agentTool struct {
	name  string
	start func(b *bench, dir string) (*hands, error)
}

// hands are a tool at work in one job: what goes out of a model and into it is counted.
// The first fault stays, so that a job is a plain list of calls.
type hands struct {
	ctx     context.Context
	mcp     *sdk.ClientSession
	shell   func(ctx context.Context, line string) (string, error)
	schema  int // characters of the tools' descriptions, which a model reads before anything
	in, out int // characters
	calls   int
	session string       // of ours
	wire    atomic.Int64 // bytes
	finish  func()
	shown   bool // each call, on standard error
	err     error
}

// callTime is how long one call may take: the machine may be slow.
const callTime = 60 * time.Second

// call calls a tool of the protocol and gives what a model reads of its answer.
func (h *hands) call(tool string, arguments map[string]any) string {
	if h.err != nil {
		return ""
	}
	b, err := json.Marshal(arguments)
	if err != nil {
		h.err = err
		return ""
	}
	ctx, end := context.WithTimeout(h.ctx, callTime)
	defer end()
	h.calls++
	h.out += len(tool) + utf8.RuneCount(b)
	res, err := h.mcp.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(b)})
	if err != nil {
		h.err = fmt.Errorf("%s %s: %w", tool, b, err)
		return ""
	}
	var text strings.Builder
	for _, c := range res.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			text.WriteString(c.Text)
		case *sdk.ResourceLink:
			text.WriteString(c.URI)
		}
	}
	h.in += utf8.RuneCountInString(text.String())
	if res.StructuredContent != nil {
		structured, _ := json.Marshal(res.StructuredContent)
		h.in += utf8.RuneCount(structured)
	}
	if res.IsError || strings.HasPrefix(text.String(), "### Error") {
		h.err = fmt.Errorf("%s %s: %.600s", tool, b, text.String())
	}
	h.say(tool+" "+string(b), text.String())
	return text.String()
}

// run runs a line of a shell and gives what it prints. The line goes out as the
// argument of a tool that runs a shell.
func (h *hands) run(line string) string {
	if h.err != nil {
		return ""
	}
	b, _ := json.Marshal(map[string]string{"command": line})
	ctx, end := context.WithTimeout(h.ctx, callTime)
	defer end()
	h.calls++
	h.out += len("Bash") + utf8.RuneCount(b)
	text, err := h.shell(ctx, line)
	h.in += utf8.RuneCountInString(text)
	h.wire.Add(int64(len(line) + len(text)))
	if err != nil {
		h.err = fmt.Errorf("%s: %w: %.600s", line, err, text)
	}
	h.say(line, text)
	return text
}

// say shows a call where that was asked for.
func (h *hands) say(sent, got string) {
	if h.shown {
		fmt.Fprintf(os.Stderr, ">>> %s\n%.4000s\n", sent, got)
	}
}

var aReference = regexp.MustCompile(`\bref=(\w+)\]|\buid=(\w+)|^@(e\d+) `)

// ref finds the reference of an element as a model would: by its role and its name, in
// what was read. With several alike the number says which.
func (h *hands) ref(text, role, name string, number ...int) string {
	if h.err != nil {
		return ""
	}
	left := 0
	if len(number) > 0 {
		left = number[0]
	}
	for line := range strings.Lines(text) {
		i := strings.Index(line, role)
		if i < 0 || name != "" && !strings.Contains(line[i:], `"`+name+`"`) {
			continue
		}
		m := aReference.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if left > 0 {
			left--
			continue
		}
		return m[1] + m[2] + m[3]
	}
	h.err = fmt.Errorf("no %s %q in\n%.1500s", role, name, text)
	return ""
}

// part is what stands in a text at the group of a pattern.
func (h *hands) part(text, pattern string) string {
	if h.err != nil {
		return ""
	}
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		h.err = fmt.Errorf("nothing like %s in\n%.1500s", pattern, text)
		return ""
	}
	return m[1]
}

// countedPipe counts the bytes of both directions.
type countedReader struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c countedReader) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

type countedWriter struct {
	io.WriteCloser
	n *atomic.Int64
}

func (c countedWriter) Write(p []byte) (int, error) {
	n, err := c.WriteCloser.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// speak starts a server of the protocol and counts what its tools are described with.
func speak(b *bench, cmd *exec.Cmd) (*hands, error) {
	h := &hands{ctx: b.ctx}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	h.finish = func() {
		if h.mcp != nil {
			_ = h.mcp.Close()
		}
		_ = in.Close()
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	ctx, end := context.WithTimeout(b.ctx, callTime)
	defer end()
	h.mcp, err = client.Connect(ctx, &sdk.IOTransport{Reader: countedReader{out, &h.wire}, Writer: countedWriter{in, &h.wire}, MaxLineLength: 64 << 20}, nil)
	if err != nil {
		h.finish()
		return nil, fmt.Errorf("speaking to %s: %w: %.500s", cmd.Path, err, log.String())
	}
	list, err := h.mcp.ListTools(ctx, nil)
	if err != nil {
		h.finish()
		return nil, err
	}
	described, err := json.Marshal(list.Tools)
	if err != nil {
		return nil, err
	}
	h.schema = utf8.RuneCount(described)
	if r := h.mcp.InitializeResult(); r != nil {
		h.schema += utf8.RuneCountInString(r.Instructions)
	}
	h.wire.Store(0)
	return h, nil
}

// chromiumAlone says whether Chromium runs without its sandbox: as root it does not start
// with it.
func chromiumAlone() bool { return os.Geteuid() == 0 }

func module(b *bench, parts ...string) string {
	return filepath.Join(append([]string{b.agents, "node_modules"}, parts...)...)
}

func startPlaywrightMCP(b *bench, dir string) (*hands, error) {
	args := []string{module(b, "@playwright", "mcp", "cli.js"), "--headless", "--isolated", "--executable-path", b.browser}
	if chromiumAlone() {
		args = append(args, "--no-sandbox")
	}
	cmd := exec.Command("node", args...)
	cmd.Dir = dir // it keeps its snapshots there
	return speak(b, cmd)
}

func startDevTools(b *bench, dir string) (*hands, error) {
	args := []string{module(b, "chrome-devtools-mcp", "build", "src", "bin", "chrome-devtools-mcp.js"), "--headless", "--isolated", "--executablePath", b.browser, "--no-usage-statistics", "--no-performance-crux"}
	if chromiumAlone() {
		args = append(args, "--chromeArg=--no-sandbox")
	}
	cmd := exec.Command("node", args...)
	cmd.Dir = dir
	return speak(b, cmd)
}

// startAgentBrowser needs no process: its lines start what they need.
func startAgentBrowser(b *bench, dir string) (*hands, error) {
	program := module(b, "agent-browser", "bin", "agent-browser.js")
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return nil, err
	}
	if err := os.Symlink(program, filepath.Join(bin, "agent-browser")); err != nil {
		return nil, err
	}
	env := append(os.Environ(), "HOME="+dir, "PATH="+bin+":"+os.Getenv("PATH"), "AGENT_BROWSER_EXECUTABLE_PATH="+b.browser, "NO_COLOR=1")
	if chromiumAlone() {
		env = append(env, "AGENT_BROWSER_ARGS=--no-sandbox")
	}
	h := &hands{ctx: b.ctx}
	h.shell = func(ctx context.Context, line string) (string, error) {
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.Env, cmd.Dir = env, dir
		cmd.WaitDelay = time.Second // its server keeps the output open
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	guide, err := h.shell(b.ctx, "agent-browser skills get core")
	if err != nil {
		return nil, fmt.Errorf("reading the guide of agent-browser: %w: %s", err, guide)
	}
	h.schema = utf8.RuneCountInString(guide)
	h.finish = func() {
		if h.session == "" {
			return
		}
		ctx, end := context.WithTimeout(context.Background(), callTime)
		defer end()
		_, _ = h.shell(ctx, "agent-browser --session "+h.session+" close")
	}
	return h, nil
}
