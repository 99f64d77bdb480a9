package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// Profile names a profile that a task uses: what browsers keep of sites, from one task to
// the next.
type Profile struct {
	Name     string
	Version  int  // zero: the newest
	Readonly bool // nothing is saved
	Copy     bool // where another task has it, a copy is used, and nothing is saved
}

// Waits reports whether a task waits while another one has the profile.
func (p *Profile) Waits() bool { return p != nil && !p.Readonly && !p.Copy }

// ProfileState is a profile as a task has it.
type ProfileState struct {
	State json.RawMessage // nil: it is new
	// Sites bound the pages of the task, as they did where the state was saved; none: it
	// was saved without a bound.
	Sites []string
	// Keep saves the state after the task; nil: nothing is saved. Why is for the
	// client.
	Keep func(ctx context.Context, state json.RawMessage, secrets []string) error
	// Secrets are the names of those that may be in the state, since tasks have used them.
	Secrets []string
	// Copied says that another task has the profile.
	Copied bool
	// Loaded says that the state was put into the browser. Until then, what is there is not
	// what the profile would go on with.
	Loaded bool
}

// SavedProfile is what a session leaves in a profile.
type SavedProfile struct {
	State   json.RawMessage
	Secrets []string // the names of those that may be in it
	Left    int      // storages, databases and records that are not there
}

// profileTime is how much longer than its time a task may take to put a profile in and
// to save it.
const profileTime = 5 * time.Second

var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// IsProfileName reports whether a profile can have the name.
func IsProfileName(s string) bool { return profileName.MatchString(s) }

const profileSchema = `{"anyOf":[{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"},{"type":"object","additionalProperties":false,"required":["name"],"properties":{"name":{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"},"version":{"type":["integer","null"],"minimum":1},"readonly":{"type":["boolean","null"]},"busy":{"enum":["wait","copy",null]}}}]}`

func (d *decoder) readProfile(n *lang.Node) *Profile {
	p := &Profile{}
	name := func(f *lang.Node) {
		s, ok := d.ReadString(f, "the name of a profile")
		if ok && !IsProfileName(s) {
			d.Fault(f, "want the name of a profile, 1 to 64 letters, digits, '_', '.' or '-', not %q", lang.Short(s, 100))
		}
		p.Name = s
	}
	if !n.IsObject() {
		name(n)
		return p
	}
	ok := d.ReadObject(n, "profile", lang.Field("name", name),
		lang.Field("version", func(f *lang.Node) { p.Version = lang.IntShape("a version", 1, 1<<31).Read(&d.Decoder, f) }),
		lang.Field("readonly", func(f *lang.Node) { p.Readonly = lang.BoolShape.Read(&d.Decoder, f) }),
		lang.Field("busy", func(f *lang.Node) { p.Copy = lang.EnumShape("busy", "wait", "copy").Read(&d.Decoder, f) == "copy" }),
	)
	switch {
	case ok && n.Field("name") == nil:
		d.Fault(n, "want name, the name of a profile")
	case p.Version > 0 && !p.Readonly:
		d.Fault(n.Field("version"), "want version only with readonly: an earlier version cannot be saved over the newest")
	}
	return p
}

// checkProfile refuses what a profile does not go with.
func (d *decoder) checkProfile(n *lang.Node, t *Task) {
	switch {
	case n == nil || t.Profile == nil || !t.Session.used():
	case t.Session.ID != "":
		d.Fault(n, "a session has the profile that it was opened with: leave profile out")
	case t.Session.Override:
		d.Fault(n, "want profile or session.override, not both: override goes on with a browser as it is")
	}
}

// putProfile puts the profile of the task into its empty browser.
func (in *instance) putProfile(ctx context.Context, st TaskEnv) error {
	if st.Profile == nil || len(st.Profile.State) == 0 {
		return nil
	}
	s := new(StorageState)
	if err := json.Unmarshal(st.Profile.State, s); err != nil {
		return fmt.Errorf("reading the profile: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, profileTime+in.patience)
	defer cancel()
	return in.context().Snapshots.Restore(ctx, s.browserState())
}

// withoutProfile is the end of a task whose profile was not put into the browser: none of its
// actions has begun.
func withoutProfile(ctx context.Context, err error, took time.Duration) *Outcome {
	o := &Outcome{End: EndStopped, Duration: took}
	why := Failure{Code: CodeInternal, Text: "The profile could not be put into the browser: " + ErrorText(err), Index: -1}
	switch {
	case ctx.Err() != nil:
		o.End = EndOf(ctx)
		return o
	case errors.Is(err, context.DeadlineExceeded):
		why.Code, why.Text = CodeTimeout, fmt.Sprintf("The profile could not be put into the browser within %dms", Millis(profileTime))
	}
	o.Failures = []Failure{why}
	return o
}

// errPlaying: the browser is not read while a task acts in it.
var errPlaying = errors.New("a task is running in the session")

// SaveProfile reads what a profile keeps of the session. The next Play waits for that.
func (in *instance) SaveProfile(ctx context.Context) (*SavedProfile, error) {
	if !in.using.TryLock() {
		return nil, errPlaying
	}
	defer in.using.Unlock()
	s, err := in.context().Snapshots.SaveAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading what the profile keeps: %w", err)
	}
	state, err := storageStateOf(s).Encode()
	if err != nil {
		return nil, err
	}
	return &SavedProfile{State: state, Secrets: in.usedSecrets().all(), Left: s.Left}, nil
}

// restoredState is what a session goes on with in another browser: its own state, and the
// databases of its profile, as they were saved last. One without a state begins with the
// profile's.
func restoredState(session, profile json.RawMessage) (*browser.State, error) {
	s, kept := new(browser.State), new(StorageState)
	if profile != nil {
		if err := json.Unmarshal(profile, kept); err != nil {
			return nil, fmt.Errorf("reading the session's profile: %w", err)
		}
	}
	of := kept.browserState()
	if session == nil {
		return of, nil
	}
	if err := json.Unmarshal(session, s); err != nil {
		return nil, fmt.Errorf("reading the session's browser state: %w", err)
	}
	s.Databases = of.Databases
	return s, nil
}

// saveProfile saves what the task leaves in its browser.
func (r *Run) saveProfile(ctx context.Context, o *Outcome) {
	p := r.env.Profile
	if p == nil {
		return
	}
	r.path = ""
	if p.Copied {
		r.warn("another task has the profile: this one has used a copy, and nothing was saved")
	}
	switch o.End {
	case EndCompleted, EndStopped, EndTimeout:
	default:
		return
	}
	if p.Keep == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), profileTime+r.patience)
	defer cancel()
	var state []byte
	s, err := r.tabs.Snapshots.SaveAll(ctx)
	if err == nil {
		if s.Left > 0 {
			r.warn("the profile was saved, but not all of it: %d storages, databases or records of its sites are too large or cannot be kept", s.Left)
		}
		state, err = storageStateOf(s).Encode()
	}
	if err == nil {
		err = p.Keep(ctx, state, r.used.all())
	}
	if err != nil {
		r.warn("the profile was not saved, and stays as it was: %s", ErrorText(err))
	}
}
