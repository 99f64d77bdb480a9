package engine

import (
	"fmt"
	"slices"
	"time"

	"troupe/engine/lang"
)

// Bounds of how a task is queued.
const (
	MaxPriority       = 9
	DefaultPriority   = 5
	MaxAttempts       = 10
	DefaultBackoff    = time.Second
	MaxBackoff        = time.Hour
	MaxGroup          = 100 // characters of a name
	MaxConcurrency    = 1000
	MaxQueueDelay     = 30 * 24 * time.Hour
	MinQueueRetention = time.Minute
	MaxQueueRetention = 7 * 24 * time.Hour
	maxQueueKey       = 255
)

// Queue is how a task waits in the queue and what becomes of it when it fails.
type Queue struct {
	Priority     int // the highest first
	StartAfter   Moment
	ExpiresAfter Moment
	Attempts     int
	Backoff      time.Duration // before the second attempt; doubles with each further one
	RetryOn      []Code        // nil: the default
	Key          string        // that makes the request safe to repeat; empty: none
	Group        string        // empty: none
	Concurrency  int           // how many tasks of the group may run at once
	Retention    time.Duration // of the result; zero: as without a queue
}

// Moment is a time, or a time after the request. The zero value is none.
type Moment struct {
	At time.Time
	In time.Duration
}

// After is the moment for a request that came at a time; zero: none.
func (m Moment) After(asked time.Time) time.Time {
	if m.In > 0 {
		return asked.Add(m.In)
	}
	return m.At
}

// retryCodes are the codes that retryOn may name: those that a task ends with.
var retryCodes = []Code{
	CodeInterrupted, CodeWorkerLost, CodeBrowserCrashed, CodeTimeout, CodeTaskTimeout,
	CodeElementNotFound, CodeElementCovered, CodeElementGone, CodeNavigationFailed, CodeScriptError,
	CodeInvalidValue, CodeEgressQuota, CodeSiteNotAllowed, CodeAssertionFailed, CodeStepLimit, CodeInternal,
}

var retryWords = func() (all []string) {
	for _, c := range retryCodes {
		all = append(all, string(c))
	}
	return all
}()

var (
	priorityShape    = lang.NumberShape("a priority", 0, MaxPriority)
	attemptsShape    = lang.NumberShape("a number of attempts", 1, MaxAttempts)
	backoffShape     = lang.NumberShape("a time in milliseconds", 0, float64(Millis(MaxBackoff)))
	delayShape       = lang.NumberShape("a time in milliseconds", 1, float64(Millis(MaxQueueDelay)))
	concurrencyShape = lang.NumberShape("a number of tasks", 1, MaxConcurrency)
	retentionShape   = lang.NumberShape("a time in milliseconds", float64(Millis(MinQueueRetention)), float64(Millis(MaxQueueRetention)))
)

func ofMillis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// readQueue reads whether and how the task is queued; nil: it is not.
func (d *decoder) readQueue(n *lang.Node) *Queue {
	q := &Queue{Priority: DefaultPriority, Attempts: 1, Backoff: DefaultBackoff, Concurrency: 1}
	switch n.Kind {
	case 't':
		return q
	case 'f':
		return nil
	}
	if !n.IsObject() {
		d.Fault(n, `want true, or an object such as {"priority":9}, not %s`, n.TypeName())
		return q
	}
	concurrency := false
	d.ReadObject(n, "queue",
		lang.Field("priority", func(f *lang.Node) { q.Priority = d.whole(f, priorityShape) }),
		lang.Field("startAfter", func(f *lang.Node) { q.StartAfter = d.readMoment(f) }),
		lang.Field("expiresAfter", func(f *lang.Node) { q.ExpiresAfter = d.readMoment(f) }),
		lang.Field("attempts", func(f *lang.Node) { q.Attempts = d.whole(f, attemptsShape) }),
		lang.Field("backoff", func(f *lang.Node) { q.Backoff = ofMillis(backoffShape.Read(&d.Decoder, f)) }),
		lang.Field("retryOn", func(f *lang.Node) { q.RetryOn = d.readRetryOn(f) }),
		lang.Field("key", func(f *lang.Node) { q.Key = d.readQueueKey(f) }),
		lang.Field("group", func(f *lang.Node) {
			if q.Group = d.ReadNonEmpty(f, "the name of a group"); len([]rune(q.Group)) > MaxGroup {
				d.Fault(f, "has %d characters: want at most %d", len([]rune(q.Group)), MaxGroup)
			}
		}),
		lang.Field("concurrency", func(f *lang.Node) { q.Concurrency, concurrency = d.whole(f, concurrencyShape), true }),
		lang.Field("retention", func(f *lang.Node) { q.Retention = ofMillis(retentionShape.Read(&d.Decoder, f)) }),
	)
	switch {
	case concurrency && q.Group == "":
		d.Fault(n, "concurrency needs group, whose tasks it bounds")
	case q.RetryOn != nil && q.Attempts == 1:
		d.Fault(n, "retryOn needs attempts of 2 or more")
	}
	return q
}

// whole reads a number without a fraction.
func (d *decoder) whole(n *lang.Node, shape lang.Shape[float64]) int {
	v := shape.Read(&d.Decoder, n)
	if v != float64(int(v)) {
		d.Fault(n, "want a whole number, not %v", v)
	}
	return int(v)
}

// readMoment reads a time in RFC 3339, or milliseconds from the request on.
func (d *decoder) readMoment(n *lang.Node) (m Moment) {
	if !n.IsString() {
		m.In = ofMillis(delayShape.Read(&d.Decoder, n))
		return m
	}
	at, err := time.Parse(time.RFC3339, n.Text)
	if err != nil {
		d.Fault(n, `want milliseconds, or a time such as "2026-12-24T18:00:00Z", not %q`, n.Text)
		return m
	}
	m.At = at.UTC()
	return m
}

func (d *decoder) readRetryOn(n *lang.Node) []Code {
	codes := []Code{}
	if !n.IsArray() {
		d.Fault(n, `want an array of codes such as ["interrupted"], not %s`, n.TypeName())
		return codes
	}
	for _, e := range n.Elements {
		switch {
		case !e.IsString():
			d.Fault(e, "want a code, not %s", e.TypeName())
		case !slices.Contains(retryWords, e.Text):
			d.Fault(e, "%q is no code that a task ends with%s", e.Text, lang.DidYouMean(e.Text, retryWords))
		default:
			codes = append(codes, Code(e.Text))
		}
	}
	return codes
}

func (d *decoder) readQueueKey(n *lang.Node) string {
	key := d.ReadNonEmpty(n, "a key")
	if len(key) > maxQueueKey {
		d.Fault(n, "has %d characters: want at most %d", len(key), maxQueueKey)
	}
	for _, c := range key {
		if c <= ' ' || c > '~' {
			d.Fault(n, "has a character that is not visible ASCII")
			break
		}
	}
	return key
}

// checkQueue checks how the queue goes with the rest of the request.
func (d *decoder) checkQueue(n *lang.Node, t *Task) {
	if t.Queue == nil {
		return
	}
	t.Async = true
	if t.QueueTimeout > 0 {
		d.Fault(n, "queueTimeout is for tasks that are not queued: a queued one waits until expiresAfter")
	}
}

// queueSchema is the JSON Schema of the queue.
func queueSchema() object {
	number := func(doc string, least, most, standard int64) object {
		return optional(fmt.Sprintf(`{"type":"integer","minimum":%d,"maximum":%d}`, least, most), doc, entry{"default", standard})
	}
	moment := fmt.Sprintf(`{"anyOf":[{"type":"integer","minimum":1,"maximum":%d},{"type":"string","format":"date-time"}]}`, Millis(MaxQueueDelay))
	options := object{
		{"priority", number("Tasks of the account with a higher priority run first.", 0, MaxPriority, DefaultPriority)},
		{"startAfter", optional(moment, "The task begins no earlier: a time, or milliseconds after the request.")},
		{"expiresAfter", optional(moment, "A task that has not begun by then ends as `expired`: a time, or milliseconds after the request.")},
		{"attempts", number("How often the task may begin.", 1, MaxAttempts, 1)},
		{"backoff", number("Time before the second attempt, in milliseconds. It doubles before each further one, up to an hour.", 0, Millis(MaxBackoff), Millis(DefaultBackoff))},
		{"retryOn", object{{"description", "Codes after which the task begins again. Default: interrupted, worker_lost, browser_crashed and timeout."},
			{"type", []string{"array", "null"}}, {"items", object{{"enum", retryWords}}}}},
		{"key", optional(fmt.Sprintf(`{"type":"string","minLength":1,"maxLength":%d}`, maxQueueKey), "Makes the request safe to repeat, as the header Idempotency-Key does.")},
		{"group", optional(fmt.Sprintf(`{"type":"string","minLength":1,"maxLength":%d}`, MaxGroup), "Tasks of one group run at most concurrency at a time.")},
		{"concurrency", number("How many tasks of the group may run at once.", 1, MaxConcurrency, 1)},
		{"retention", optional(fmt.Sprintf(`{"type":"integer","minimum":%d,"maximum":%d}`, Millis(MinQueueRetention), Millis(MaxQueueRetention)),
			"How long the result is kept, in milliseconds. Values above the plan's limit are reduced to it. Default: an hour.")},
	}
	return object{{"description", "Queues the task: the answer comes when it is on the disk, and it runs when a worker is free. True queues it with the default of each option."},
		{"anyOf", []any{
			object{{"type", "object"}, {"additionalProperties", false}, {"properties", options}},
			object{{"type", []string{"boolean", "null"}}},
		}}}
}
