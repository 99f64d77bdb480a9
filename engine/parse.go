package engine

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"troupe/engine/lang"
)

// decoder reads one request.
type decoder struct {
	lang.Decoder
	files []Upload
	steps int
	// pictures are the screenshots so far.
	pictures         int
	inLoop, inBranch bool
	leavable         bool // break and continue have a loop to end
	blocks           int  // around the step, those of the specification left out
	severalResponses bool // a block may wait for several with one action
	config           Config
	network          bool // an action looks at requests
	reads            bool // an action reads downloads
	matching         matching
	marks            map[*lang.Node]bool // the steps; nil: nobody asks
	step             *Step               // the step whose value is read
	ruleSteps        int                 // of the patterns that each request is compared with
	faulty           []*lang.Node        // the steps with faults
	beside           []*lang.Node        // the other fields of the action whose value is read
	flows            *flowReader
	proxies          *[]string // that the account may use; nil: nobody knows
	items            bool      // the task may be that of a batch
}

// Invalid is the error of [Parse]: every fault of the request.
type Invalid struct {
	Faults []lang.Fault

	task   *Task        // what could be read of it; nil: nothing
	faulty []*lang.Node // the steps with faults
}

func (e *Invalid) Error() string {
	all := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		all[i] = f.String()
	}
	return strings.Join(all, "; ")
}

// Parse decodes a request that runs no stored flows. Its error is an [*Invalid] that
// names every fault. Files are the files of the request, for $file:N.
func Parse(body []byte, files []Upload) (*Task, error) { return ParseWith(body, files, nil) }

// ParseWith decodes a request that may run stored flows. Its error is as that of
// [Parse], unless the flows cannot be read.
func ParseWith(body []byte, files []Upload, flows Flows) (*Task, error) {
	return parse(body, newDecoder(files, flows))
}

// ParseFor is ParseWith for an account that may use these proxies and no others.
func ParseFor(body []byte, files []Upload, flows Flows, proxies []string) (*Task, error) {
	d := newDecoder(files, flows)
	d.proxies = &proxies
	return parse(body, d)
}

func parse(body []byte, d *decoder) (*Task, error) {
	n, no := readBody(body)
	if no != nil {
		return nil, no
	}
	t := d.readTask(n)
	t.items = d.items
	escapes := bytes.Contains(body, []byte(`\u`))
	if escapes || bytes.Contains(body, []byte("secret")) {
		d.RefuseSecrets(n)
	}
	if d.flows.err != nil {
		return nil, d.flows.err
	}
	invalid := &Invalid{d.Faults(), t, d.faulty}
	if !d.items && (escapes || bytes.Contains(body, []byte(itemKey))) {
		invalid.Faults = append(invalid.Faults, invalid.itemFaults()...)
	}
	if len(invalid.Faults) > 0 {
		return nil, invalid
	}
	t.source, t.flows = bytes.TrimPrefix(body, byteOrderMark), d.flows.used
	return t, nil
}

func newDecoder(files []Upload, flows Flows) *decoder {
	return &decoder{files: files, flows: &flowReader{from: flows}}
}

// byteOrderMark is what editors put before UTF-8. RFC 8259 lets readers ignore it.
var byteOrderMark = []byte("\ufeff")

// readBody reads JSON in UTF-8.
func readBody(body []byte) (*lang.Node, *Invalid) {
	body = bytes.TrimPrefix(body, byteOrderMark)
	if !utf8.Valid(body) {
		return nil, &Invalid{Faults: []lang.Fault{{Message: "the body is not valid UTF-8"}}}
	}
	n, fault := lang.ReadNode(body)
	if fault != nil {
		return nil, &Invalid{Faults: []lang.Fault{*fault}}
	}
	return n, nil
}

func (d *decoder) readTask(n *lang.Node) *Task {
	t := &Task{Timeout: DefaultTimeout, Config: Config{ActionTimeout: DefaultActionTimeout, ContinueOnError: true}}
	var actions, queue, notify, profile *lang.Node
	ok := d.ReadObject(n, "the request",
		lang.Field("actions", func(f *lang.Node) { actions = f }),
		lang.Field("workerId", func(f *lang.Node) { t.WorkerID = d.ReadNonEmpty(f, "the id of a worker") }),
		lang.Field("timeout", func(f *lang.Node) { t.Timeout = lang.MillisShape.Read(&d.Decoder, f) }),
		lang.Field("queueTimeout", func(f *lang.Node) {
			t.QueueTimeout = time.Duration(lang.NumberShape("a time in milliseconds", 0, float64(Millis(MaxQueueTimeout))).Read(&d.Decoder, f)) * time.Millisecond
		}),
		lang.Field("config", func(f *lang.Node) { d.readConfig(f, &t.Config) }),
		lang.Field("session", func(f *lang.Node) { t.Session = d.readSession(f) }),
		lang.Field("async", func(f *lang.Node) { t.Async = lang.BoolShape.Read(&d.Decoder, f) }),
		lang.Field("profile", func(f *lang.Node) { profile, t.Profile = f, d.readProfile(f) }),
		lang.Field("queue", func(f *lang.Node) { queue, t.Queue = f, d.readQueue(f) }),
		lang.Field("notify", func(f *lang.Node) { notify, t.Notify = f, ReadNotify(&d.Decoder, f, NotifyTask) }),
		lang.Field("label", func(f *lang.Node) { t.Label = d.readTaskLabel(f) }),
		lang.Field("metadata", func(f *lang.Node) { t.Metadata = d.readMetadata(f) }),
		lang.Field("keepResult", func(f *lang.Node) { t.KeepResult = lang.BoolShape.Read(&d.Decoder, f) }),
	)
	if !ok {
		return t
	}
	d.checkQueue(queue, t)
	d.checkNotify(notify, t)
	d.checkProfile(profile, t)
	d.config = t.Config
	if actions != nil {
		t.Steps = d.readSteps(actions, "", -1)
	}
	s := t.Session
	manages := s != nil && (s.Preserve || s.Close || s.Override || s.Save)
	switch {
	case actions == nil && !manages:
		d.Fault(n, `want actions, an array such as [{"open":"https://example.com"}]`)
	case actions != nil && actions.IsArray() && len(actions.Elements) == 0 && !manages:
		d.Fault(actions, "want at least one action")
	}
	t.Files, t.warnings = d.files, d.Warnings()
	t.lasting = t.Config.lasts() || t.Profile != nil
	t.network, t.reads, t.severalResponses = d.network, d.reads, d.severalResponses
	return t
}

func (d *decoder) readConfig(n *lang.Node, c *Config) {
	d.ReadObject(n, "config", append(append(d.surroundingFields(&c.around), d.requestFields(c)...),
		lang.Field("actionTimeout", func(f *lang.Node) { c.ActionTimeout = lang.MillisShape.Read(&d.Decoder, f) }),
		lang.Field("continueOnError", func(f *lang.Node) { c.ContinueOnError = lang.BoolShape.Read(&d.Decoder, f) }),
		lang.Field("trace", func(f *lang.Node) { c.Trace, c.FullTrace = d.readTrace(f) }),
		lang.Field("onFailure", func(f *lang.Node) { d.readOnFailure(f, &c.OnFailure) }),
		lang.Field("collect", func(f *lang.Node) { d.readCollect(f, &c.Collect) }),
		lang.Field("har", func(f *lang.Node) { c.HAR = d.readHAR(f) }),
		lang.Field("dialogs", func(f *lang.Node) { c.dialogs = d.readDialogs(f) }),
		lang.Field("downloads", func(f *lang.Node) { c.RefuseDownloads = downloadsShape.Read(&d.Decoder, f) == "refuse" }),
		lang.Field("uploads", func(f *lang.Node) { c.RefuseUploads = uploadsShape.Read(&d.Decoder, f) == "refuse" }),
		lang.Field("isolation", func(f *lang.Node) { c.Isolation = Isolation(isolationShape.Read(&d.Decoder, f)) }),
		lang.Field("sites", func(f *lang.Node) { c.Sites = d.readSites(f) }),
		lang.Field("proxy", func(f *lang.Node) { c.proxy = d.readProxy(f) }),
	)...)
}

// readTrace reads how much a trace tells.
func (d *decoder) readTrace(n *lang.Node) (trace, full bool) {
	if n.IsString() && n.Text == "full" {
		return true, true
	}
	switch {
	case n.IsString():
		d.Fault(n, `want true, false or "full", not %q%s`, n.Text, lang.DidYouMean(n.Text, []string{"full", "true", "false"}))
	case n.Kind != 't' && n.Kind != 'f':
		d.Fault(n, `want true, false or "full", not %s`, n.TypeName())
	}
	return n.Kind == 't', false
}

func (d *decoder) readOnFailure(n *lang.Node, o *OnFailure) {
	flag := func(to *bool) func(*lang.Node) {
		return func(f *lang.Node) { *to = lang.BoolShape.Read(&d.Decoder, f) }
	}
	d.ReadObject(n, "onFailure",
		lang.Field("screenshot", flag(&o.Screenshot)), lang.Field("html", flag(&o.HTML)), lang.Field("console", flag(&o.Console)), lang.Field("network", flag(&o.Network)),
	)
}

func (d *decoder) readSession(n *lang.Node) *Session {
	s := &Session{}
	d.ReadObject(n, "session",
		lang.Field("preserve", func(f *lang.Node) { s.Preserve = lang.BoolShape.Read(&d.Decoder, f) }),
		lang.Field("id", func(f *lang.Node) { s.ID = d.ReadNonEmpty(f, "the id of a session") }),
		lang.Field("close", func(f *lang.Node) { s.Close = lang.BoolShape.Read(&d.Decoder, f) }),
		lang.Field("timeout", func(f *lang.Node) {
			s.Timeout = time.Duration(lang.NumberShape("a time in milliseconds", float64(Millis(MinSessionTimeout)), float64(Millis(MaxSessionTimeout))).Read(&d.Decoder, f)) * time.Millisecond
		}),
		lang.Field("override", func(f *lang.Node) { s.Override = lang.BoolShape.Read(&d.Decoder, f) }),
		lang.Field("label", func(f *lang.Node) { s.Label = d.readLabel(f) }),
		lang.Field("save", func(f *lang.Node) { s.Save = lang.BoolShape.Read(&d.Decoder, f) }),
		lang.Field("attach", func(f *lang.Node) { s.Attach = lang.BoolShape.Read(&d.Decoder, f) }),
	)
	if s.Close && s.ID == "" {
		d.Fault(n, "close needs id, the session to close")
	}
	if s.Save && s.ID == "" && !s.Preserve {
		d.Fault(n, "save needs a session: give its id, or preserve")
	}
	if s.Attach && (s.Close || !s.Preserve && s.ID == "" && !s.Override) {
		d.Fault(n, "attach needs preserve: true, id or override: it is about a session that stays")
	}
	if s.Close && s.Override {
		d.Fault(n, "want close or override, not both")
	}
	if *s == (Session{}) {
		return nil
	}
	return s
}
