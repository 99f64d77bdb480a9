package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"troupe/engine/lang"
)

// MaxSessionLabel is how many characters the label of a session has at most.
const MaxSessionLabel = 100

var labelSchema = fmt.Sprintf(`{"type":"string","maxLength":%d}`, MaxSessionLabel)

func (d *decoder) readLabel(n *lang.Node) string {
	s, ok := d.ReadString(n, "a name for people, such as shop")
	if ok && utf8.RuneCountInString(s) > MaxSessionLabel {
		d.Fault(n, "want at most %d characters, not %d", MaxSessionLabel, utf8.RuneCountInString(s))
	}
	return s
}

// ofOneTask are the fields of config that hold for one task, and so say nothing of a session.
var ofOneTask = []string{"actionTimeout", "collect", "continueOnError", "dialogs", "downloads", "har", "onFailure", "trace", "uploads"}

// lasts reports whether a session keeps some of it for its later tasks.
func (c *Config) lasts() bool {
	return surrounds(c.around) || c.requests != nil || c.proxy != nil || len(c.Sites) > 0
}

// ParseSession decodes a request that opens a session, and makes it the task without actions
// that does so. Its error is an [*Invalid] that names every fault.
func ParseSession(body []byte, proxies []string) (*Task, error) {
	n, no := readBody(body)
	if no != nil {
		return nil, no
	}
	d := newDecoder(nil, nil)
	d.proxies = &proxies
	whole := map[string]json.RawMessage{}
	session := map[string]json.RawMessage{"preserve": json.RawMessage("true")}
	keep := func(to map[string]json.RawMessage, name string) lang.Member {
		return lang.Field(name, func(f *lang.Node) { to[name] = f.JSON() })
	}
	ok := d.ReadObject(n, "the request",
		keep(whole, "workerId"), keep(whole, "queueTimeout"), keep(whole, "config"), keep(whole, "profile"), keep(session, "timeout"), keep(session, "label"), keep(session, "attach"),
	)
	if config := n.Field("config"); ok && config != nil && config.IsObject() {
		for _, name := range ofOneTask {
			if f := config.Field(name); f != nil && !f.IsNull() {
				d.Fault(f, "%s holds for one task: give it with each task of the session", name)
			}
		}
	}
	faults := d.Faults()
	if !ok {
		return nil, &Invalid{Faults: faults}
	}
	about, err := json.Marshal(session)
	if err != nil {
		return nil, err
	}
	whole["session"] = about
	source, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	read := newDecoder(nil, nil)
	read.proxies = &proxies
	t, err := parse(source, read)
	if invalid, is := err.(*Invalid); is {
		for _, f := range invalid.Faults {
			f.Path = strings.TrimPrefix(f.Path, "/session")
			if !slices.ContainsFunc(faults, func(had lang.Fault) bool { return had.Path == f.Path }) {
				faults = append(faults, f)
			}
		}
	} else if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, &Invalid{Faults: faults}
	}
	return t, nil
}

// SessionSchema is the JSON Schema of a request that opens a session. References in it are
// below base.
func SessionSchema(base string) json.RawMessage {
	properties, _ := taskSchema(base).value("properties").(object)
	config, _ := properties.value("config").(object)
	var lasting object
	for _, e := range config.value("properties").(object) {
		if !slices.Contains(ofOneTask, e.name) {
			lasting = append(lasting, e)
		}
	}
	session := properties.value("session").(object).value("properties").(object)
	b, err := json.Marshal(object{
		{"type", "object"}, {"additionalProperties", false},
		{"properties", object{
			{"workerId", properties.value("workerId")}, {"queueTimeout", properties.value("queueTimeout")},
			{"timeout", session.value("timeout")}, {"label", session.value("label")}, {"attach", session.value("attach")}, {"profile", properties.value("profile")},
			{"config", object{
				{"description", "What holds for all that the session's pages do: the fields of a task's config that a session keeps."},
				{"type", []string{"object", "null"}}, {"additionalProperties", false}, {"properties", lasting},
			}},
		}},
	})
	if err != nil {
		panic(err) // it is made of what is written above
	}
	return b
}

// value is what an object has under a name; nil: it has none.
func (o object) value(name string) any {
	for _, e := range o {
		if e.name == name {
			return e.value
		}
	}
	return nil
}

// ClosingTask is the task that ends a session, once what uses it has left, for which it waits at
// most so long.
func ClosingTask(session string, wait time.Duration) *Task {
	return managingTask(&Session{ID: session, Close: true}, wait)
}

// SavingTask is the task without actions that saves the profile of a session.
func SavingTask(session string) *Task { return managingTask(&Session{ID: session, Save: true}, 0) }

func managingTask(s *Session, wait time.Duration) *Task {
	about := map[string]any{"id": s.ID}
	if s.Close {
		about["close"] = true
	}
	if s.Save {
		about["save"] = true
	}
	source, err := json.Marshal(map[string]any{"session": about, "queueTimeout": Millis(wait)}) // which other nodes play
	if err != nil {
		panic(err) // a text can always be encoded
	}
	return &Task{
		Timeout: DefaultTimeout, QueueTimeout: wait, Config: Config{ActionTimeout: DefaultActionTimeout, ContinueOnError: true},
		Session: s, source: source,
	}
}
