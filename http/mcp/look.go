package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/engine"
	"troupe/http/address"
)

// oneLook is an action of our own at the end of a list.
type oneLook struct {
	kind string // snapshot, markdown or picture
	raw  json.RawMessage
}

func raws(all []oneLook) (list []json.RawMessage) {
	for _, l := range all {
		list = append(list, l.raw)
	}
	return list
}

func newLook(kind, action string, value any) (oneLook, error) {
	b, err := marshal(map[string]any{action: value})
	return oneLook{kind, b}, err
}

// lookAtPixels takes a picture whose pixels are the coordinates of mouse.
func lookAtPixels() (oneLook, error) {
	b, err := marshal(map[string]any{"screenshot": "viewport", "options": map[string]any{"scale": "css"}})
	return oneLook{"picture", b}, err
}

// aside is how many tokens of an answer are for what is not the snapshot.
const aside = 150

// looks are the actions that show the page after a list.
func (c *call) looks(a *runArguments) (all []oneLook, err error) {
	if a.Snapshot != "none" {
		if !engine.HasAction("snapshot") {
			return nil, noAction("snapshot", `use getText or extractAll, or look with as "picture"`)
		}
		v := map[string]any{"maxTokens": max(50, a.MaxTokens-aside), "seen": true}
		switch a.Snapshot {
		case "interactive":
			v["interactive"] = true
		case "diff":
			v["diff"] = true
		}
		l, err := newLook("snapshot", "snapshot", v)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	if a.Picture {
		l, err := lookAtPixels()
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func noAction(name, instead string) error {
	return wrongArgument("This version of the service has no action %s: %s", name, instead)
}

// look shows what the looks at the end of a list have seen. Where the list stopped
// before them, it sends them again.
func (c *call) look(ctx context.Context, r *reply, o *outcome, from int, looks []oneLook, session string, alone bool) error {
	if len(looks) == 0 || o.refused() {
		return nil
	}
	missed := o.step(from+len(looks)-1) == nil
	if missed && session == "" {
		r.note("The page is gone: use a session to see it after a failure.")
		return nil
	}
	if missed || alone {
		t := task{Config: c.policy.config(nil), Session: map[string]any{"id": session}}
		if missed {
			t.Actions = raws(looks)
		}
		if alone {
			t.Session["close"] = true
		}
		again, err := c.play(ctx, t)
		if err != nil {
			return err
		}
		if missed {
			o, from = again, 0
			if again.Code != "" && len(again.Steps) == 0 {
				r.note("The page could not be looked at (%s).", again.Code)
			}
		}
	}
	for i, l := range looks {
		s := o.step(from + i)
		switch {
		case s == nil:
		case !s.Success:
			r.part(l.kind+" failed: ", s.Error, "")
		default:
			c.show(ctx, r, l.kind, s.Result, len(o.Pictures))
		}
	}
	return nil
}

// show adds what a look has seen to an answer.
func (c *call) show(ctx context.Context, r *reply, kind string, result json.RawMessage, pictures int) {
	var v struct {
		Snapshot string            `json:"snapshot"`
		Matches  []json.RawMessage `json:"matches"`
		URL      string            `json:"url"`
		Title    string            `json:"title"`
		Next     json.RawMessage   `json:"next"`
		Left     int               `json:"left"`
		Gone     []string          `json:"gone"`
		Diff     *bool             `json:"diff"`
		Changed  bool              `json:"changed"`
		Moved    bool              `json:"moved"`
		Markdown string            `json:"markdown"`
		Length   int               `json:"length"`
	}
	if json.Unmarshal(result, &v) != nil {
		return
	}
	more := ""
	if n := plain(v.Next); n != "" {
		more = `look with from "` + n + `" shows what follows`
		r.fact("next", n)
	}
	if kind == "picture" {
		c.picture(ctx, r, v.URL)
		return
	}
	if v.Diff != nil && *v.Diff && !v.Moved {
		r.same = true // the snapshot before has said where this is
	} else {
		r.part("page: ", strings.TrimSpace(afterSite(v.URL)+" "+v.Title), "")
	}
	r.address = v.URL
	switch {
	case kind == "markdown":
		r.part("", v.Markdown, more)
		if v.Length > 0 && more != "" {
			r.note("The whole text has %d characters; %s.", v.Length, more)
		}
		return
	case v.Matches != nil:
		for _, m := range v.Matches {
			var one struct{ Ref, Line, In string }
			if json.Unmarshal(m, &one) == nil {
				in := ""
				if one.In != "" {
					in = " in " + one.In
				}
				r.part("", forClicks.ReplaceAllString(one.Line, "$1")+in, "")
			}
		}
		if len(v.Matches) == 0 {
			r.note("Nothing on the page is like that.")
		}
		return
	case v.Diff != nil && *v.Diff && !v.Changed:
		r.note("Nothing on the page has changed since the last snapshot.")
	}
	if len(v.Gone) > 0 {
		r.note("Gone: %s", ranges(v.Gone))
	}
	r.part("", forClicks.ReplaceAllString(v.Snapshot, "$1"), more)
	if v.Left > 0 {
		r.note("%d more lines: %s.", v.Left, more)
	}
}

// forClicks is a mark that tells a model nothing: what has a reference can be clicked.
var forClicks = regexp.MustCompile(`(?m)( \[ref=e[0-9]+\]) \[cursor=pointer\]`)

// ranges writes references with those that follow each other as one.
func ranges(refs []string) string {
	number := func(s string) int { n, _ := strconv.Atoi(strings.TrimPrefix(s, "@e")); return n }
	var out []string
	for i := 0; i < len(refs); {
		end := i
		for end+1 < len(refs) && number(refs[end+1]) == number(refs[end])+1 {
			end++
		}
		one := refs[i]
		if end > i {
			one += "-" + strings.TrimPrefix(refs[end], "@e")
		}
		out = append(out, one)
		i = end + 1
	}
	return strings.Join(out, " ")
}

// afterSite is an address without its site, where the mark around it says that.
func afterSite(at string) string {
	if site := siteOf(at); site != "" {
		if path, ok := strings.CutPrefix(at, site); ok {
			return path
		}
	}
	return at
}

// maxPicture bounds a picture that is part of an answer, in bytes.
const maxPicture = 2 << 20

// picture adds a picture of the service to an answer: as it is, or by its address where
// it is large.
func (c *call) picture(ctx context.Context, r *reply, shown string) {
	u, err := url.Parse(shown)
	if err != nil || shown == "" {
		return
	}
	at, err := address.File.Path(path.Base(u.Path), "")
	if err != nil {
		return
	}
	b, err := c.client.read(ctx, http.MethodGet, at, nil)
	kind := http.DetectContentType(b)
	if err != nil || len(b) > maxPicture || !strings.HasPrefix(kind, "image/") {
		r.links = append(r.links, shown)
		return
	}
	r.pictures = append(r.pictures, &sdk.ImageContent{Data: b, MIMEType: kind})
	r.fact("picture", shown)
}

type lookArguments struct {
	Session string          `json:"session"`
	URL     string          `json:"url"`
	Task    string          `json:"task"`
	As      string          `json:"as"`
	Find    string          `json:"find"`
	Within  json.RawMessage `json:"within"`
	From    string          `json:"from"`
	budget
}

// lookTool shows a page, or what has become of a task.
func lookTool(ctx context.Context, c *call, raw json.RawMessage) (*reply, error) {
	var a lookArguments
	if err := arguments(raw, &a); err != nil {
		return nil, err
	}
	if err := a.budget.check(); err != nil {
		return nil, err
	}
	if err := oneOf("as", &a.As, "interactive", "full", "diff", "markdown", "picture"); err != nil {
		return nil, err
	}
	named := 0
	for _, v := range []string{a.Session, a.URL, a.Task} {
		if v != "" {
			named++
		}
	}
	if named != 1 {
		return nil, wrongArgument(`Give one of "session" (its page), "url" (to read an address) and "task" (to wait for its end)`)
	}
	if a.Task != "" {
		return c.lookAtTask(ctx, &a)
	}
	l, err := a.action()
	if err != nil {
		return nil, err
	}
	_, sites, no, err := c.entry(ctx, a.Session, 1)
	if err != nil || no != nil {
		return no, err
	}
	t := task{Config: c.policy.config(sites), Session: sessionOf(a.Session), Actions: []json.RawMessage{l.raw}}
	at := 0
	if a.URL != "" {
		open, err := marshal(map[string]string{"open": a.URL})
		if err != nil {
			return nil, err
		}
		t.Actions, at = []json.RawMessage{open, l.raw}, 1
	}
	o, err := c.play(ctx, t)
	if err != nil {
		return nil, err
	}
	r := &reply{tokens: a.MaxTokens, named: a.Session}
	r.explain(o, t.Actions)
	if s := o.step(at); s != nil && s.Success {
		r.head = "the page"
		c.show(ctx, r, l.kind, s.Result, len(o.Pictures))
	}
	return r, nil
}

// action is the action that looks as the arguments say.
func (a *lookArguments) action() (oneLook, error) {
	v := map[string]any{}
	if len(a.Within) > 0 && string(a.Within) != "null" {
		v["within"] = a.Within
	}
	room := max(50, a.MaxTokens-aside)
	switch {
	case a.As == "picture":
		if w, ok := v["within"]; ok {
			return newLook("picture", "screenshot", w)
		}
		return lookAtPixels()
	case a.As == "markdown":
		if !engine.HasAction("getMarkdown") {
			return oneLook{}, noAction("getMarkdown", "use run with getText")
		}
		v = map[string]any{"maxLength": room * tokenSize, "seen": true}
		if len(a.Within) > 0 && string(a.Within) != "null" {
			v["selector"] = a.Within
		}
		if a.Find != "" {
			v["find"] = a.Find
		}
		if a.From != "" {
			n, err := strconv.Atoi(a.From)
			if err != nil || n < 0 {
				return oneLook{}, wrongArgument(`The argument "from" must be next of the answer before, a number, not %q`, a.From)
			}
			v["offset"] = n
		}
		return newLook("markdown", "getMarkdown", v)
	case !engine.HasAction("snapshot"):
		return oneLook{}, noAction("snapshot", `use as "picture", or run with getText`)
	}
	v["maxTokens"], v["seen"] = room, true
	switch a.As {
	case "interactive":
		v["interactive"] = a.Find == ""
	case "diff": // of the kind that the snapshot before was
		v["diff"] = true
	}
	if a.Find != "" {
		delete(v, "interactive")
		delete(v, "diff")
		v["find"] = a.Find
	}
	if a.From != "" {
		v["from"] = a.From
	}
	return newLook("snapshot", "snapshot", v)
}

// lookAtTask waits for the end of a task.
func (c *call) lookAtTask(ctx context.Context, a *lookArguments) (*reply, error) {
	if err := checkID(address.Task, "task", a.Task); err != nil {
		return nil, err
	}
	held, end := context.WithTimeout(ctx, c.cfg.Hold)
	defer end()
	o, err := c.poll(held, a.Task, 0)
	if err != nil {
		return nil, err
	}
	r := &reply{tokens: a.MaxTokens, task: a.Task}
	if o.pending() {
		o.TaskID = a.Task
		r = c.goesOn(r, o, "")
		c.tellProgress(ctx, r, a.Task)
		return r, nil
	}
	actions := make([]json.RawMessage, 0, len(o.Steps))
	for _, s := range o.Steps {
		if !strings.Contains(s.Path, "/") {
			actions = append(actions, json.RawMessage(fmt.Sprintf("{%q:true}", s.Action)))
		}
	}
	r.explain(o, actions)
	c.results(ctx, r, o, actions)
	for _, s := range o.Steps {
		if s.Action == "snapshot" && s.Success && strings.Contains(s.Path, "/") {
			c.show(ctx, r, "snapshot", s.Result, len(o.Pictures))
		}
	}
	return r, nil
}
