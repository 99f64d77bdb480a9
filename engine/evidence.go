package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"troupe/engine/browser"
	"troupe/engine/mask"
)

// OnFailure says what to save when a task fails.
type OnFailure struct{ Screenshot, HTML, Console, Network bool }

func (o OnFailure) any() bool { return o != OnFailure{} }

// Evidence is where that can be fetched.
type Evidence struct {
	Path       string `json:"actionPath,omitempty" mask:"own"` // of the failed action, or the one that was cut off: the picture and the HTML show the page as that left it
	Screenshot string `json:"screenshot,omitempty" mask:"own"`
	HTML       string `json:"html,omitempty" mask:"own"`
	Console    string `json:"console,omitempty" mask:"own"`
	Network    string `json:"network,omitempty" mask:"own"`
}

// aftermath is how much longer than its time a task may take to keep what shows
// how it went.
const aftermath = 2 * time.Second

// Aftermath is how much longer than its time the task may take: it is zero for
// one that is to leave nothing but its answer.
func (t *Task) Aftermath() time.Duration {
	if t.Profile != nil {
		return aftermath + 2*profileTime
	}
	if t.Config.OnFailure.any() || t.Config.FullTrace || t.Config.HAR != nil {
		return aftermath
	}
	return 0
}

const (
	evidenceTime = 1200 * time.Millisecond // for a picture and the source of a page
	maxSource    = 4 << 20                 // characters of a page's source, frames included
)

// evidence is what a run has of its failures so far.
type evidence struct {
	run     *Run
	want    OnFailure
	path    string
	taken   bool
	picture []byte
	sources []browser.Source
}

// observe begins to watch for what the task is to leave, and returns what ends
// that.
func (r *Run) observe() (end func()) {
	c := r.task.Config
	if c.OnFailure.any() {
		r.evidence = &evidence{run: r, want: c.OnFailure}
	}
	if c.FullTrace {
		r.film = &recording{run: r, last: -1}
	}
	console, network := c.FullTrace || c.OnFailure.Console || c.Collect.Console, c.FullTrace || c.OnFailure.Network || c.Collect.Network
	if !console && !network {
		return func() {}
	}
	r.pageLog.log = r.tabs.StartLog(console, network)
	return r.tabs.StopLog
}

// cutOff looks at the page of a task whose time, or whose bytes, were over
// before its list was.
func (r *Run) cutOff(ctx, after context.Context) {
	if cause := context.Cause(ctx); r.crashed || !errors.Is(cause, context.DeadlineExceeded) && ending(ctx) == "" {
		return
	}
	if r.evidence != nil {
		r.evidence.capture(after, r.path)
	}
	r.film.final(after)
}

// fails takes evidence of the page as a failed action has left it: of the first
// that failed, and of the one that stops the task.
func (e *evidence) fails(ctx context.Context, path string, stops bool) {
	if e != nil && !e.run.crashed && (stops || !e.taken) {
		e.capture(ctx, path)
	}
}

// capture takes a picture of the current tab and reads its source, as far as the
// page lets us in the time there is.
func (e *evidence) capture(ctx context.Context, path string) {
	e.path, e.taken, e.picture, e.sources = path, true, nil, nil
	tab := e.run.tabs.Current()
	if tab == nil || !e.want.Screenshot && !e.want.HTML {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, evidenceTime+e.run.patience)
	defer cancel()
	var both sync.WaitGroup
	var unseen, unread error
	if e.want.Screenshot {
		both.Go(func() { e.picture, unseen = tab.Screenshot(ctx, browser.Picture{Format: "png"}) })
	}
	if e.want.HTML {
		both.Go(func() { e.sources, unread = tab.Sources(ctx, maxSource) })
	}
	both.Wait()
	if len(e.picture) > MaxResult {
		e.picture, unseen = nil, fmt.Errorf("it has %d bytes, and %d are the limit", len(e.picture), MaxResult)
	}
	if unseen != nil {
		e.run.warn("there is no picture of the failure: %s", why(unseen))
	}
	if unread != nil {
		e.run.warn("there is no HTML of the failure: %s", why(unread))
	}
}

// why is an error of looking at a page in a client's words.
func why(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "the page does not answer"
	case errors.Is(err, browser.ErrGone), errors.Is(err, browser.ErrDetached):
		return "the page is gone"
	}
	return ErrorText(err)
}

// keep keeps what there is of a task that has failed.
func (e *evidence) keep(ctx context.Context, o *Outcome) {
	failed := len(o.Failures) > 0 || o.End == EndTimeout
	if e == nil || !failed || o.End == EndCancelled || o.End == EndInterrupted {
		return
	}
	kept := &Evidence{Path: e.path}
	if e.picture != nil {
		kept.Screenshot = e.run.files.keep(ctx, File{Name: "failure.png", ContentType: "image/png", Inline: true}, e.picture)
	}
	if len(e.sources) > 0 {
		// What a page is made of may be anything: it is never shown, only handed out.
		kept.HTML = e.run.files.keep(ctx, File{Name: "failure.html", ContentType: "text/html; charset=utf-8"}, []byte(written(e.run.mask, e.sources)))
	}
	if e.want.Console {
		kept.Console = e.run.files.keepJSON(ctx, "console.json", e.run.pageLog.messages())
	}
	if e.want.Network {
		kept.Network = e.run.files.keepJSON(ctx, "network.json", e.run.pageLog.requests())
	}
	o.Evidence = kept
}

// written is a page's source as one file, with that of its frames behind it.
func written(m *mask.Masker, all []browser.Source) string {
	var b strings.Builder
	for i, s := range all {
		if i > 0 {
			fmt.Fprintf(&b, "\n<!-- The frame at %s -->\n", strings.ReplaceAll(m.Text(s.URL).String(), "--", "%2D%2D"))
		}
		if !s.Cut {
			b.WriteString(m.Text(s.HTML).String())
		} else {
			b.WriteString(m.Cut(s.HTML).String())
			b.WriteString("\n<!-- There was more: this is where the limit was. -->\n")
		}
	}
	return b.String()
}

// ConsoleLog and NetworkLog, with their lines, are what pages said and asked for, as clients get
// it. Times are in milliseconds, from the start of the first action.
type (
	ConsoleLog struct {
		Messages []ConsoleLine `json:"messages"`
		Left     int           `json:"left"` // that did not fit
	}
	ConsoleLine struct {
		At    int64  `json:"atMs"`
		Level string `json:"level"`
		Text  string `json:"text"`
		URL   string `json:"url,omitempty"`
		Line  int    `json:"line,omitempty"`
	}
	NetworkLog struct {
		Requests []NetworkLine `json:"requests"`
		Left     int           `json:"left"`
	}
	NetworkLine struct {
		At     int64  `json:"atMs"`
		Method string `json:"method"`
		URL    string `json:"url"`
		Kind   string `json:"type"`
		Status int    `json:"status,omitempty"`
		Bytes  int64  `json:"bytes"`
		Millis *int64 `json:"durationMs"` // null: it had not ended
		Cached bool   `json:"cached,omitempty"`
		Error  string `json:"error,omitempty"`
	}
)

// pageLog is what pages said and asked for while the task ran.
type pageLog struct {
	run *Run
	log *browser.Log // nil unless somebody wants to know
}

func (l *pageLog) messages() ConsoleLog {
	all := ConsoleLog{Messages: []ConsoleLine{}, Left: l.log.Left().Messages}
	for _, m := range l.log.Messages() {
		all.Messages = append(all.Messages, ConsoleLine{Millis(m.At.Sub(l.run.began)), m.Level, m.Text.String(), m.URL.String(), m.Line})
	}
	return all
}

func (l *pageLog) requests() NetworkLog {
	all := NetworkLog{Requests: []NetworkLine{}, Left: l.log.Left().Requests}
	for _, q := range l.log.Requests() {
		line := NetworkLine{At: Millis(q.At.Sub(l.run.began)), Method: q.Method.String(), URL: q.URL.String(), Kind: q.Kind, Status: q.Status, Bytes: q.Bytes, Cached: q.Cached, Error: q.Error.String()}
		if q.Done {
			took := Millis(q.Took)
			line.Millis = &took
		}
		all.Requests = append(all.Requests, line)
	}
	return all
}
