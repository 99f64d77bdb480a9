package engine

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"troupe/engine/host"
	"troupe/engine/lang"
)

// Bounds of notices.
const (
	MaxNotify    = 5    // receivers of one task or batch
	MaxNotifyURL = 2048 // characters
)

// NoticeEvent is something that a receiver may ask to hear of.
type NoticeEvent string

// The events.
const (
	NoticeEnd      NoticeEvent = "end"       // a task has ended, however it did
	NoticeFailed   NoticeEvent = "failed"    // a task has ended and did not complete
	NoticeBatchEnd NoticeEvent = "batch.end" // a batch has ended
)

// Notify is a receiver of notices.
type Notify struct {
	URL    string        `json:"url"`
	Events []NoticeEvent `json:"events"`
	Result bool          `json:"result,omitempty"` // notices of tasks have the result in them
}

// Wants reports whether the receiver asked for one of these events.
func (n *Notify) Wants(events ...NoticeEvent) bool {
	return slices.ContainsFunc(events, func(e NoticeEvent) bool { return slices.Contains(n.Events, e) })
}

// NotifyScope is where receivers are named, and what they may ask for there.
type NotifyScope struct {
	events   []NoticeEvent
	standard []NoticeEvent
	results  bool
	lacks    string // why the other events are none here
}

// The scopes.
var (
	NotifyTask    = NotifyScope{[]NoticeEvent{NoticeEnd, NoticeFailed}, []NoticeEvent{NoticeEnd}, true, "batch.end is for the notify of a batch or an endpoint"}
	NotifyBatch   = NotifyScope{[]NoticeEvent{NoticeBatchEnd}, []NoticeEvent{NoticeBatchEnd}, false, "end and failed are for the notify of its task"}
	NotifyAccount = NotifyScope{[]NoticeEvent{NoticeEnd, NoticeFailed, NoticeBatchEnd}, []NoticeEvent{NoticeEnd, NoticeBatchEnd}, true, ""}
)

// ReadNotify reads the receivers of a task or a batch.
func ReadNotify(d *lang.Decoder, n *lang.Node, in NotifyScope) (all []Notify) {
	if !n.IsArray() {
		d.Fault(n, `want an array such as [{"url":"https://example.com/hook"}], not %s`, n.TypeName())
		return nil
	}
	if len(n.Elements) > MaxNotify {
		d.Fault(n, "has %d receivers: want at most %d", len(n.Elements), MaxNotify)
		return nil
	}
	for _, e := range n.Elements {
		one := ReadReceiver(d, e, in)
		if slices.ContainsFunc(all, func(other Notify) bool { return one.URL != "" && other.URL == one.URL }) {
			d.Fault(e, "has the url of another receiver: name each once, with all its events")
		}
		all = append(all, one)
	}
	return all
}

// ReadReceiver reads one receiver.
func ReadReceiver(d *lang.Decoder, n *lang.Node, in NotifyScope) (one Notify) {
	seen := false
	members := []lang.Member{
		lang.Field("url", func(f *lang.Node) { seen, one.URL = true, readNotifyURL(d, f) }),
		lang.Field("events", func(f *lang.Node) { one.Events = readNoticeEvents(d, f, in) }),
	}
	if in.results {
		members = append(members, lang.Field("include", func(f *lang.Node) {
			if word, ok := d.ReadString(f, "what to include"); ok && word != "result" {
				d.Fault(f, `want "result", not %q`, lang.Short(word, 100))
			}
			one.Result = true
		}))
	}
	if d.ReadObject(n, "a receiver", members...) && !seen {
		d.Fault(n, `has no url: want one such as {"url":"https://example.com/hook"}`)
	}
	if one.Events == nil {
		one.Events = in.standard
	}
	return one
}

func readNotifyURL(d *lang.Decoder, n *lang.Node) string {
	text := d.ReadNonEmpty(n, "a URL")
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case len(text) > MaxNotifyURL:
		d.Fault(n, "has %d characters: want at most %d", len(text), MaxNotifyURL)
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		d.Fault(n, `want an http or https URL such as "https://example.com/hook"`)
	case strings.ContainsFunc(text, unsendable):
		d.Fault(n, "has a blank or a control character: write %%20 in place of a blank")
	case !sanePort(u.Port()):
		d.Fault(n, "has the port %s: want 1 to 65535", u.Port())
	case host.Fault(u.Hostname()) != "":
		d.Fault(n, "has the host %q, which %s", lang.Short(u.Hostname(), 100), host.Fault(u.Hostname()))
	case u.User != nil:
		d.Fault(n, "has a user or a password: notices are signed instead")
	case u.Fragment != "":
		d.Fault(n, "has a fragment, which is not sent")
	}
	return text
}

// unsendable reports whether no request has such a character in its address.
func unsendable(r rune) bool { return r <= ' ' || r == 0x7f }

func sanePort(port string) bool {
	n, err := strconv.Atoi(port)
	return port == "" || err == nil && n >= 1 && n <= 65535
}

func readNoticeEvents(d *lang.Decoder, n *lang.Node, in NotifyScope) []NoticeEvent {
	events := []NoticeEvent{}
	if !n.IsArray() || len(n.Elements) == 0 {
		d.Fault(n, `want an array such as [%q]`, in.standard[0])
		return events
	}
	words := noticeWords(in.events)
	for _, e := range n.Elements {
		switch {
		case !e.IsString():
			d.Fault(e, "want an event, not %s", e.TypeName())
		case !slices.Contains(words, e.Text) && slices.Contains(noticeWords(NotifyAccount.events), e.Text):
			d.Fault(e, "is no event here: %s", in.lacks)
		case !slices.Contains(words, e.Text):
			d.Fault(e, "want %s, not %q%s", strings.Join(words, " or "), lang.Short(e.Text, 100), lang.DidYouMean(e.Text, words))
		case !slices.Contains(events, NoticeEvent(e.Text)):
			events = append(events, NoticeEvent(e.Text))
		}
	}
	return events
}

func noticeWords(events []NoticeEvent) (words []string) {
	for _, e := range events {
		words = append(words, string(e))
	}
	return words
}

// checkNotify checks how receivers go with the rest of the request.
func (d *decoder) checkNotify(n *lang.Node, t *Task) {
	if len(t.Notify) > 0 && !t.Async {
		d.Fault(n, "is for tasks with async or queue: the answer to this request is its result")
	}
}

// NotifySchema is the JSON Schema of the receivers of a scope.
func NotifySchema(in NotifyScope) string {
	return fmt.Sprintf(`{"type":"array","maxItems":%d,"items":%s}`, MaxNotify, ReceiverSchema(in))
}

// ReceiverSchema is the JSON Schema of one of them.
func ReceiverSchema(in NotifyScope) string {
	include := ""
	if in.results {
		include = `,"include":{"description":"Puts the result into notices of tasks.","enum":["result"]}`
	}
	return fmt.Sprintf(`{"type":"object","required":["url"],"additionalProperties":false,"properties":{
"url":{"type":"string","format":"uri","maxLength":%d},
"events":{"type":"array","minItems":1,"items":{"enum":["%s"]}}%s}}`, MaxNotifyURL, strings.Join(noticeWords(in.events), `","`), include)
}
