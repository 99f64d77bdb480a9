// Package address makes the paths of requests to the API out of what names things in it.
// An identifier is checked before a path is made of it: "../flows/x" as that of a task
// would be a request for something else, with the token of whoever asks. Models, people
// at a command line and files write identifiers.
package address

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"troupe/engine"
	"troupe/engine/lang"
)

// Path is a path of the API, with a query where it has one. Only this package makes them.
type Path struct{ path, query string }

// Constant is a text from the code, never from a request, a file or a command line.
type Constant string

// Fixed is a path without an identifier.
func Fixed(p Constant) Path { return Path{path: string(p)} }

// Operator is the path of an operator's command, as it is declared.
func Operator(command string) Path { return Path{path: "/v1/operator" + command} }

// With is the path with a query.
func (p Path) With(query url.Values) Path {
	p.query = query.Encode()
	return p
}

func (p Path) String() string {
	if p.query == "" {
		return p.path
	}
	return p.path + "?" + p.query
}

// Kind is a kind of things that have identifiers.
type Kind struct {
	below string // the path that they are under
	what  string // what an identifier is, for people
	is    func(string) bool
	want  string // how one looks, for people
}

// identifier is what identifiers that the service has made look like.
var identifier = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$`)

const (
	likeName    = "1 to 64 letters, digits, '_', '.' or '-', the first a letter or a digit"
	likeVersion = likeName + ", then perhaps @ and a version"
)

// The kinds.
var (
	Task     = Kind{"/v1/tasks/", "the id of a task", identifier.MatchString, "such as task_5c49f9d7f0a20751_1795449031"}
	Run      = Kind{"/v1/runs/", "the id of a run", run, "such as task_5c49f9d7f0a20751_1795449031"}
	Batch    = Kind{"/v1/batches/", "the id of a batch", identifier.MatchString, "such as batch_5c49f9d7f0a20751_1795449031"}
	Schedule = Kind{"/v1/schedules/", "the id of a schedule", identifier.MatchString, "such as sched_5c49f9d7f0a20751_1795449031"}
	Flow     = Kind{"/v1/flows/", "the name of a flow", flow, likeVersion}
	Profile  = Kind{"/v1/profiles/", "the name of a profile", profile, likeVersion}
	Session  = Kind{"/v1/sessions/", "the id of a session", identifier.MatchString, "such as sess_5c49f9d7f0a20751_1795449031"}
	Notice   = Kind{"/v1/notices/", "the id of a notice", identifier.MatchString, "as troupe notice list shows it"}
	Endpoint = Kind{"/v1/endpoints/", "the id of an endpoint", identifier.MatchString, "as troupe endpoint list shows it"}
	File     = Kind{"/files/", "the id of a file", identifier.MatchString, "as the service has given it"}
)

func flow(s string) bool {
	_, _, ok := engine.ParseFlowReference(s)
	return ok
}

// run reports whether a text can be the id of a run: counts is a path of its own.
func run(s string) bool { return identifier.MatchString(s) && s != "counts" }

// profile reports whether a text is the name of a profile, or a name and a version.
func profile(s string) bool {
	name, _, _ := strings.Cut(s, "@")
	return flow(s) && engine.IsProfileName(name)
}

// Check says what is wrong with an identifier; nil: nothing is.
func (k Kind) Check(id string) error {
	if k.is(id) {
		return nil
	}
	return fmt.Errorf("%q is not %s: want %s", lang.Short(id, 60), k.what, k.want)
}

// Path is the path of the thing with the identifier, and of what is below it, such as
// "/events"; empty: of the thing itself.
func (k Kind) Path(id string, below Constant) (Path, error) {
	if err := k.Check(id); err != nil {
		return Path{}, err
	}
	return Path{path: k.below + id + string(below)}, nil
}

// Settled reports whether a path, as it is sent, means the same to all who read it:
// whatever normalises it on its way, it stays. A path that changes may lead one of them
// elsewhere than the other.
func Settled(sent string) bool {
	read, err := url.PathUnescape(sent)
	switch {
	case err != nil, !strings.HasPrefix(read, "/"),
		strings.Count(read, "/") != strings.Count(sent, "/"), // a slash was escaped
		strings.ContainsAny(read, `\%`),                      // what some read as a slash, or unescape again
		strings.ContainsFunc(read, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return false
	}
	for s := range strings.SplitSeq(read, "/") {
		if s, _, _ = strings.Cut(s, ";"); s == "." || s == ".." { // some leave out what follows a semicolon
			return false
		}
	}
	clean := path.Clean(read)
	return read == clean || clean != "/" && read == clean+"/"
}
