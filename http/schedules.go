package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/actors/calendar"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/persistence"
)

// schedulesPath is where schedules are.
const schedulesPath = "/v1/schedules"

// Bounds of schedules.
const (
	maxScheduleName = 100 // characters
	maxCron         = 200 // characters
	maxJitter       = time.Hour
	maxEvery        = 366 * 24 * time.Hour
	shownRuns       = 20
	maxRuns         = 100
)

type (
	scheduleAnswer struct {
		Success  bool             `json:"success"`
		Schedule *answer.Schedule `json:"schedule"`
	}
	scheduleList struct {
		Success   bool               `json:"success"`
		Schedules []*answer.Schedule `json:"schedules"`
		// Unreadable are the identifiers of schedules that the service's key does not open.
		Unreadable []string `json:"unreadable,omitempty"`
	}
	scheduleRemoved struct {
		Success    bool   `json:"success"`
		ScheduleID string `json:"scheduleId"`
	}
)

// scheduleRoutes are the routes of schedules.
func (s *Server) scheduleRoutes() []route {
	one := schedulesPath + "/{scheduleId}"
	all := []route{
		s.tokenRoute("POST", schedulesPath, withoutName(s.newSchedule)).reading(keyHeader),
		s.tokenRoute("GET", schedulesPath, s.loadingAlone(wholeList(s.listSchedules))),
	}
	for _, c := range []api.ScheduleChange{api.SchedulePause, api.ScheduleResume, api.ScheduleRunNow} {
		all = append(all, s.callRoute(one+"/"+string(c), byName(s.loading(withinSites(s.maySchedule, s.changesSchedule(c)))), asItIs(s.loading(withinSites(s.maySchedule, s.changedSchedule)))))
	}
	return append(all,
		s.tokenRoute("GET", one, s.loading(withinSites(s.maySchedule, s.getSchedule))),
		s.tokenRoute("PUT", one, withinSites(s.mayWriteSchedule, s.putSchedule)),
		s.tokenRoute("DELETE", one, s.loading(withinSites(s.maySchedule, s.removeSchedule))),
	)
}

func noSchedule(id string) *answer.Refusal {
	return answer.RefuseText(engine.CodeNotFound, fmt.Sprintf("There is no schedule %q", lang.Short(id, 100)))
}

// sendSchedule answers with one schedule.
func (s *Server) sendSchedule(ctx *fasthttp.RequestCtx, status int, doing string, whole bool, m api.Request[api.Scheduled]) *answer.Refusal {
	x, no := ask(s, ctx, s.base, doing, m)
	if no != nil {
		return no
	}
	answer.SendJSON(ctx, status, scheduleAnswer{true, answer.OfSchedule(x.Schedule, whole)})
	return nil
}

func (s *Server) newSchedule(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	return s.writeSchedule(ctx, account, "")
}

func (s *Server) putSchedule(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	if !answer.SaneID([]byte(id)) {
		return noSchedule(id)
	}
	return s.writeSchedule(ctx, account, id)
}

// writeSchedule makes a schedule, or changes one.
func (s *Server) writeSchedule(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	if s.Drains() {
		return answer.Refuse(engine.CodeDraining)
	}
	if _, no := contentOf(ctx, false); no != nil {
		return no
	}
	b, no := s.bodies.readJSON(ctx, maxPayload, account.ID)
	defer func() { b.remove() }()
	if no != nil {
		return no
	}
	end, no := s.bodies.beginParse(ctx, b)
	if no != nil {
		return no
	}
	defer end()
	var key string
	var fault *lang.Fault
	if id == "" { // a change is the same, however often it is made
		key, fault = keyOf(ctx)
	}
	stored, done := s.stored(ctx, b, account)
	defer done()
	m, faults, err := readSchedule(b.payload, stored, s.proxies(account), id)
	if fault != nil {
		faults = append(faults, *fault)
	}
	switch {
	case err != nil:
		return s.faults.Refuse(ctx, "read a schedule", err)
	case len(faults) > 0:
		return answer.RefuseInvalid(faults...)
	}
	if faults = s.unreachable(&m.Spec); len(faults) > 0 {
		return answer.RefuseInvalid(faults...)
	}
	m.Account, m.Spec.Task = access.ForActors(account), m.Spec.Task.Within(account.Sites)
	if key != "" {
		m.Idempotency = &api.Idempotency{Key: key}
		if m.Idempotency.Digest, err = digest(b.payload, nil); err != nil {
			return s.faults.Refuse(ctx, "compare a schedule", err)
		}
	}
	x, no := ask(s, ctx, s.base, "write a schedule", m)
	if no != nil {
		return no
	}
	if no := outside(account, "the schedule", x.Schedule.Sites); no != nil { // an earlier request with the key has made it
		return no
	}
	status := fasthttp.StatusOK
	if x.Made {
		status = fasthttp.StatusCreated
	}
	answer.SendJSON(ctx, status, scheduleAnswer{true, answer.OfSchedule(x.Schedule, true)})
	return nil
}

// unreachable says which receivers of a schedule can never be reached.
func (s *Server) unreachable(spec *api.ScheduleSpec) []lang.Fault {
	if spec.Batch != nil {
		return append(engine.ReceiverFaults("/batch/notify", spec.Batch.Notify, s.cfg.Unreachable),
			engine.ReceiverFaults("/batch/task/notify", spec.Task.Notify, s.cfg.Unreachable)...)
	}
	return engine.ReceiverFaults("/task/notify", spec.Task.Notify, s.cfg.Unreachable)
}

// told are the fields of an answer that say how a schedule is. Whoever sends them back does
// not change them.
var told = []string{"createdAt", "changedAt", "next", "waiting", "items", "runs", "sites"}

// readScheduleID reads the identifier that a client gives a schedule.
func readScheduleID(d *lang.Decoder, n *lang.Node, of string) string {
	id := d.ReadNonEmpty(n, "an identifier")
	switch {
	case id == "":
	case of != "" && id != of:
		d.Fault(n, "is %q, and the path names %q: want the same, or leave it out", lang.Short(id, 100), lang.Short(of, 100))
	case !answer.SaneID([]byte(id)):
		d.Fault(n, "want 1 to 128 letters, digits, and - _ . : between them, not %q", lang.Short(id, 100))
	}
	return id
}

var (
	missedWords   = []api.ScheduleMissed{api.MissedOnce, api.MissedSkip, api.MissedAll}
	overlapWords  = []api.ScheduleOverlap{api.OverlapSkip, api.OverlapQueue, api.OverlapReplace}
	everyShape    = lang.NumberShape("a time in milliseconds", 1000, float64(engine.Millis(maxEvery)))
	jitterShape   = lang.NumberShape("a time in milliseconds", 0, float64(engine.Millis(maxJitter)))
	pausedMessage = "want true or false, not %s"
)

func readWord[T ~string](d *lang.Decoder, n *lang.Node, what string, all []T) T {
	text := d.ReadNonEmpty(n, what)
	words := make([]string, len(all))
	for i, w := range all {
		words[i] = string(w)
	}
	if text != "" && !slices.Contains(words, text) {
		d.Fault(n, "want %s, not %q%s", strings.Join(words, ", "), lang.Short(text, 100), lang.DidYouMean(text, words))
	}
	return T(text)
}

// readSchedule reads a schedule. What is wrong with it is in the faults.
//
// It is what a client sends to a path, or to make one without; and what an answer has of a
// schedule, also with what is around it.
func readSchedule(body []byte, stored engine.Flows, proxies []string, id string) (*api.PutSchedule, []lang.Fault, error) {
	n, fault := lang.ReadNode(body)
	if fault != nil {
		return nil, []lang.Fault{*fault}, nil
	}
	if inner := n.Field("schedule"); inner != nil && inner.IsObject() && n.Field("success") != nil {
		n = inner
	}
	d := &lang.Decoder{}
	m := &api.PutSchedule{ID: id, Spec: api.ScheduleSpec{Zone: "UTC", Missed: api.MissedOnce, Overlap: api.OverlapSkip}}
	spec := &m.Spec
	zone := time.UTC
	var cronLine, every, task, batch *lang.Node
	members := []lang.Member{
		lang.Field("name", func(f *lang.Node) { spec.Name = readName(d, f, maxScheduleName) }),
		lang.Field("cron", func(f *lang.Node) { cronLine, spec.Cron = f, strings.TrimSpace(d.ReadNonEmpty(f, "a cron line")) }),
		lang.Field("every", func(f *lang.Node) {
			every, spec.Every = f, time.Duration(everyShape.Read(d, f)*float64(time.Millisecond)).Truncate(time.Millisecond)
		}),
		lang.Field("timeZone", func(f *lang.Node) {
			if spec.Zone = d.ReadNonEmpty(f, "the name of a time zone"); spec.Zone == "" {
				return
			}
			z, err := calendar.Zone(spec.Zone)
			if err != nil {
				d.Fault(f, "%s", err)
				return
			}
			zone = z
		}),
		lang.Field("missed", func(f *lang.Node) { spec.Missed = readWord(d, f, "what becomes of missed times", missedWords) }),
		lang.Field("overlap", func(f *lang.Node) { spec.Overlap = readWord(d, f, "what becomes of overlapping runs", overlapWords) }),
		lang.Field("jitter", func(f *lang.Node) {
			spec.Jitter = time.Duration(jitterShape.Read(d, f) * float64(time.Millisecond)).Truncate(time.Millisecond)
		}),
		lang.Field("task", func(f *lang.Node) { task = f }),
		lang.Field("batch", func(f *lang.Node) { batch = f }),
	}
	for _, name := range told {
		members = append(members, lang.Field(name, func(*lang.Node) {}))
	}
	members = append(members,
		lang.Field("scheduleId", func(f *lang.Node) { m.ID, m.Make, m.Fresh = readScheduleID(d, f, id), id != "", id == "" }),
		lang.Field("status", func(f *lang.Node) { // of one that is there, it changes nothing
			m.Paused = readWord(d, f, "whether it is paused", []string{"active", "paused"}) == "paused"
		}),
	)
	if id == "" {
		members = append(members, lang.Field("paused", func(f *lang.Node) {
			if m.Paused = f.Kind == 't'; f.Kind != 't' && f.Kind != 'f' {
				d.Fault(f, pausedMessage, f.TypeName())
			}
		}))
	}
	if !d.ReadObject(n, "the schedule", members...) {
		return nil, d.Faults(), nil
	}
	switch {
	case cronLine == nil && every == nil:
		d.Fault(n, `has neither cron nor every: want a cron line such as "0 9 * * 1-5", or milliseconds`)
	case cronLine != nil && every != nil:
		d.Fault(every, "want either cron or every, not both")
	case cronLine != nil && len(spec.Cron) > maxCron:
		d.Fault(cronLine, "has %d characters: want at most %d", len(spec.Cron), maxCron)
	case cronLine != nil && spec.Cron != "":
		if _, err := calendar.Cron(spec.Cron, zone); err != nil {
			d.Fault(cronLine, "%s", err)
		}
	}
	var more []lang.Fault
	var err error
	switch {
	case task == nil && batch == nil:
		d.Fault(n, "has neither task nor batch: want the request that each run plays")
	case task != nil && batch != nil:
		d.Fault(batch, "want either task or batch, not both")
	case task != nil && !task.IsObject():
		d.Fault(task, "want an object with the actions, not %s", task.TypeName())
	case task != nil:
		spec.Task, err = engine.ParseScheduledFor(task.Raw, stored, proxies)
		more, err = faultsBelow("/task", err)
	default:
		more, err = readScheduleBatch(d, batch, spec, stored, proxies)
	}
	return m, append(d.Faults(), more...), err
}

// faultsBelow are the faults of a value of the request, or the error that is none.
func faultsBelow(path string, err error) (faults []lang.Fault, _ error) {
	var invalid *engine.Invalid
	if !errors.As(err, &invalid) {
		return nil, err
	}
	for _, f := range invalid.Faults {
		faults = append(faults, lang.Fault{Path: path + f.Path, Message: f.Message})
	}
	return faults, nil
}

func readScheduleBatch(d *lang.Decoder, n *lang.Node, spec *api.ScheduleSpec, stored engine.Flows, proxies []string) (faults []lang.Fault, err error) {
	b := &api.ScheduleBatch{}
	var task, items *lang.Node
	ok := d.ReadObject(n, "the batch",
		lang.Field("name", func(f *lang.Node) { b.Name = readName(d, f, maxBatchName) }),
		lang.Field("notify", func(f *lang.Node) { b.Notify = engine.ReadNotify(d, f, engine.NotifyBatch) }),
		lang.Field("task", func(f *lang.Node) { task = f }),
		lang.Field("items", func(f *lang.Node) { items = f }),
	)
	switch {
	case !ok:
		return nil, nil
	case task == nil:
		d.Fault(n, "has no task: want the request that is played for each item")
		return nil, nil
	case !task.IsObject():
		d.Fault(task, "want an object with the actions, not %s", task.TypeName())
		return nil, nil
	case items == nil || !items.IsArray() || len(items.Elements) == 0:
		d.Fault(n, "has no items: want an array of at least one object")
		return nil, nil
	}
	template, err := engine.ParseTemplateFor(task.Raw, stored, proxies)
	if faults, err = faultsBelow("/batch/task", err); err != nil || template == nil {
		return faults, err
	}
	spec.Task, spec.Batch = template.Task, b
	for i, e := range items.Elements {
		for _, f := range template.Check(e.Raw) {
			if faults = append(faults, lang.Fault{Path: fmt.Sprintf("/batch/items/%d%s", i, f.Path), Message: f.Message}); !lang.MoreFaults(faults) {
				return faults, nil
			}
		}
		b.Items = append(b.Items, json.RawMessage(slices.Clone(e.Raw)))
	}
	return faults, nil
}

func readName(d *lang.Decoder, n *lang.Node, most int) string {
	name := d.ReadNonEmpty(n, "a name")
	if c := len([]rune(name)); c > most {
		d.Fault(n, "has %d characters: want at most %d", c, most)
	}
	return name
}

func (s *Server) listSchedules(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	l, no := ask(s, ctx, s.base, "list schedules", &api.ListSchedules{Account: access.ForActors(account)})
	if no != nil {
		return no
	}
	list := scheduleList{Success: true, Schedules: []*answer.Schedule{}, Unreadable: l.Unreadable}
	for _, one := range within(account, l.Schedules, func(one api.Schedule) []string { return one.Sites }) {
		list.Schedules = append(list.Schedules, answer.OfSchedule(&one, false))
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, list)
	return nil
}

func (s *Server) getSchedule(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	if !answer.SaneID([]byte(id)) {
		return noSchedule(id)
	}
	most, faults := readCount(ctx, "runs", shownRuns, maxRuns)
	if len(faults) > 0 {
		return answer.RefuseInvalid(faults...)
	}
	return s.sendSchedule(ctx, fasthttp.StatusOK, "read a schedule", true, &api.GetSchedule{Account: access.ForActors(account), ID: id, Runs: most})
}

// changesSchedule pauses schedules, lets them go on, and so forth.
func (s *Server) changesSchedule(to api.ScheduleChange) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
		if !answer.SaneID([]byte(id)) {
			return noSchedule(id)
		}
		return s.sendSchedule(ctx, fasthttp.StatusOK, "change a schedule", false, &api.ChangeSchedule{Account: access.ForActors(account), ID: id, Change: to})
	}
}

// changedSchedule answers a repeated change.
func (s *Server) changedSchedule(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	return s.sendSchedule(ctx, fasthttp.StatusOK, "read a schedule", false, &api.GetSchedule{Account: access.ForActors(account), ID: id, Runs: 1, Bare: true})
}

func (s *Server) removeSchedule(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	if !answer.SaneID([]byte(id)) {
		return noSchedule(id)
	}
	if _, no := ask(s, ctx, s.base, "remove a schedule", &api.ChangeSchedule{Account: access.ForActors(account), ID: id, Change: api.ScheduleRemove}); no != nil {
		return no
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, scheduleRemoved{true, id})
	return nil
}
