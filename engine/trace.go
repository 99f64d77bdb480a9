package engine

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"image/jpeg"
	"strconv"
	"strings"
	"time"
)

//go:embed pages/trace.html
var traceHTML string

//go:embed pages/trace.css
var traceCSS template.CSS

var tracePage = template.Must(template.New("trace").Funcs(template.FuncMap{
	"ms": milliseconds, "share": func(p float64) template.CSS { return template.CSS(strconv.FormatFloat(p, 'f', 3, 64) + "%") },
}).Parse(traceHTML))

// maxTraceText bounds an action or a result in a full trace, in bytes.
const maxTraceText = 2000

type (
	traceView struct {
		Style                  template.CSS
		Task, Result, Error    string
		Good                   bool
		Took                   time.Duration
		Began                  time.Time
		Failed                 int
		Scenes                 []traceScene
		Stills                 []traceStill
		Requests               []traceRequest
		Messages               []ConsoleLine
		Warnings               []Warning
		MoreScenes, MoreStills bool
		LeftScenes             int
		LeftRequests, LeftSaid int
	}
	traceScene struct {
		N                                    int
		Path, Name, Iteration, Action        string
		At, Took                             time.Duration
		Left, Width                          float64 // of the time line, in hundredths
		Ended, Good                          bool
		Result, Error, Code                  string
		Notes                                []string
		Before, After                        *traceStill
		Same                                 bool
		Depth                                int
		RequestsFrom, RequestsTo, Said, Asks int
	}
	traceStill struct {
		N, Width, Height, Scene int
		Data                    template.URL
	}
	traceRequest struct {
		NetworkLine
		Scene       int
		Step        string // the path of its action
		Took        string
		Bad         bool
		Left, Width float64
	}
)

// keep makes the file of a full trace and keeps it. It is text and
// pictures only: nothing in it runs, and nothing is fetched.
func (f *recording) keep(ctx context.Context, o *Outcome) {
	if f == nil {
		return
	}
	var b bytes.Buffer
	if err := tracePage.Execute(&b, f.view(o)); err != nil {
		f.run.path = ""
		f.run.warn("the trace could not be written: %v", err)
		return
	}
	o.Trace = f.run.files.keep(ctx, File{Name: "trace.html", ContentType: "text/html; charset=utf-8", Inline: true}, b.Bytes())
}

func (f *recording) view(o *Outcome) *traceView {
	v := &traceView{
		Style: traceCSS, Task: cmp.Or(f.run.env.TaskID, "task"), Took: o.Duration, Began: f.run.began.UTC(), Failed: len(o.Failures), Warnings: f.run.reports.warnings,
		Good: o.End == EndCompleted && len(o.Failures) == 0, LeftScenes: f.left, MoreStills: len(f.stills) >= maxStills || f.bytes >= maxStillBytes,
	}
	v.Result = string(o.End)
	if o.End == EndCompleted && len(o.Failures) > 0 {
		v.Result = "completed with failures"
	}
	if n := len(o.Failures); n > 0 {
		v.Error = o.Failures[n-1].Text
	}
	whole := max(o.Duration, time.Millisecond)
	share := func(at, took time.Duration) (left, width float64) {
		left = min(99.5, max(0, 100*float64(at)/float64(whole)))
		return left, max(0.5, min(100-left, 100*float64(took)/float64(whole)))
	}
	for i, s := range f.stills {
		v.Stills = append(v.Stills, stillOf(i, s))
	}
	for i, s := range f.steps {
		n := traceScene{N: i + 1, Path: s.step.Path, Name: s.step.Name(), Action: brief(s.step.raw), At: s.at, Took: s.took, Depth: strings.Count(s.step.Path, "/") / 2}
		if s.report == nil {
			n.Took = max(0, o.Duration-s.at)
		} else {
			if len(s.report.Selectors) > 0 {
				if lasting, err := Durable(s.step.raw, s.report.Selectors); err == nil {
					n.Action = brief(f.run.mask.JSON(lasting))
				}
			}
			n.Ended, n.Good, n.Error, n.Code, n.Notes = true, s.report.Success, s.report.Error, string(s.report.Code), s.report.Notes
			if s.report.Iterations != nil {
				n.Iteration = strings.Trim(fmt.Sprint(s.report.Iterations), "[]")
			} else if s.report.Iteration != nil {
				n.Iteration = strconv.Itoa(*s.report.Iteration)
			}
			if n.Good {
				n.Result = s.result
			}
		}
		n.Left, n.Width = share(n.At, n.Took)
		n.Before, n.After = v.still(s.before, n.N), v.still(s.after, n.N)
		n.Same = s.before >= 0 && s.before == s.after
		v.Scenes = append(v.Scenes, n)
	}
	asked, said := f.run.pageLog.requests(), f.run.pageLog.messages()
	v.LeftRequests, v.LeftSaid = asked.Left, said.Left
	for _, q := range asked.Requests {
		t := traceRequest{NetworkLine: q, Scene: v.during(q.At), Took: "not ended", Bad: q.Error != "" || q.Status >= 400}
		end := whole - time.Duration(q.At)*time.Millisecond
		if q.Millis != nil {
			end = time.Duration(*q.Millis) * time.Millisecond
			t.Took = milliseconds(end)
		}
		t.Left, t.Width = share(time.Duration(q.At)*time.Millisecond, end)
		if t.Scene > 0 {
			t.Step = v.Scenes[t.Scene-1].Path
			v.Scenes[t.Scene-1].Asks++
		}
		v.Requests = append(v.Requests, t)
	}
	for _, m := range said.Messages {
		if n := v.during(m.At); n > 0 {
			v.Scenes[n-1].Said++
		}
		v.Messages = append(v.Messages, m)
	}
	return v
}

// still is a picture, with the first step that shows it.
func (v *traceView) still(i, scene int) *traceStill {
	if i < 0 {
		return nil
	}
	if v.Stills[i].Scene == 0 {
		v.Stills[i].Scene = scene
	}
	return &v.Stills[i]
}

// during is the number of the step that began last before a time; zero: none.
func (v *traceView) during(ms int64) int {
	n := 0
	for i, s := range v.Scenes {
		if Millis(s.At) <= ms {
			n = i + 1
		}
	}
	return n
}

func stillOf(i int, b []byte) traceStill {
	s := traceStill{N: i, Width: 1280, Height: 720, Data: template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(b))}
	if c, err := jpeg.DecodeConfig(bytes.NewReader(b)); err == nil {
		s.Width, s.Height = c.Width, c.Height
	}
	return s
}

// brief is JSON for people: indented where it is long, and not all of it where
// it is very long.
func brief(b []byte) string {
	if len(b) > 80 && len(b) < 4*maxTraceText {
		var out bytes.Buffer
		if json.Indent(&out, b, "", "  ") == nil {
			b = out.Bytes()
		}
	}
	if len(b) <= maxTraceText {
		return string(b)
	}
	return strings.ToValidUTF8(string(b[:maxTraceText]), "") + fmt.Sprintf("… (%d bytes in all)", len(b))
}

// milliseconds is a time as people read it.
func milliseconds(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
