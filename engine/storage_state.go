package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// MaxProfile bounds the state of a profile, in bytes of JSON.
const MaxProfile = 8 << 20

// StorageState is what browsers keep of sites, spelled as Playwright's storage state.
type StorageState struct {
	Cookies []StateCookie `json:"cookies"`
	Origins []StateOrigin `json:"origins"`
}

// StateCookie is a cookie of a [StorageState].
type StateCookie struct {
	Name     string  `json:"name"`
	Value    string  `json:"value"`
	Domain   string  `json:"domain"`
	Path     string  `json:"path"`
	Expires  float64 `json:"expires"` // seconds since the epoch; -1: with the browser
	HTTPOnly bool    `json:"httpOnly"`
	Secure   bool    `json:"secure"`
	SameSite string  `json:"sameSite,omitempty"`
}

// StateOrigin is what a [StorageState] has of an origin.
type StateOrigin struct {
	Origin    string          `json:"origin"`
	Local     []StateEntry    `json:"localStorage"`
	Databases json.RawMessage `json:"indexedDB,omitempty"`
}

// StateEntry is an entry of a local storage.
type StateEntry struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// storageStateOf spells the state of a browser.
func storageStateOf(s *browser.State) *StorageState {
	out := &StorageState{Cookies: []StateCookie{}, Origins: []StateOrigin{}}
	for _, c := range s.Cookies {
		if c.Partition != nil {
			continue // other tools would take it for one of all pages
		}
		k := StateCookie{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Expires: c.Expires, HTTPOnly: c.HTTPOnly, Secure: c.Secure, SameSite: c.SameSite}
		if c.Session {
			k.Expires = -1
		}
		out.Cookies = append(out.Cookies, k)
	}
	origins := map[string]bool{}
	for o := range s.Local {
		origins[o] = true
	}
	for o := range s.Databases {
		origins[o] = true
	}
	for _, o := range slices.Sorted(maps.Keys(origins)) {
		of := StateOrigin{Origin: o, Local: []StateEntry{}, Databases: s.Databases[o]}
		for _, e := range s.Local[o] {
			of.Local = append(of.Local, StateEntry{e[0], e[1]})
		}
		out.Origins = append(out.Origins, of)
	}
	return out
}

// browserState is what browsers take.
func (s *StorageState) browserState() *browser.State {
	out := &browser.State{Local: map[string][]browser.Entry{}, Databases: map[string]json.RawMessage{}}
	for _, c := range s.Cookies {
		out.Cookies = append(out.Cookies, browser.Cookie{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Secure: c.Secure, HTTPOnly: c.HTTPOnly, SameSite: c.SameSite,
			Session: c.Expires <= 0, Expires: c.Expires})
	}
	for _, o := range s.Origins {
		for _, e := range o.Local {
			out.Local[o.Origin] = append(out.Local[o.Origin], browser.Entry{e.Name, e.Value})
		}
		if len(o.Databases) > 0 {
			out.Databases[o.Origin] = o.Databases
		}
	}
	return out
}

// ReadStorageState reads a storage state that a client has sent. Its error is an
// [*Invalid].
func ReadStorageState(body []byte) (*StorageState, error) {
	n, no := readBody(body)
	if no != nil {
		return nil, no
	}
	var d lang.Decoder
	s := &StorageState{Cookies: []StateCookie{}, Origins: []StateOrigin{}}
	var cookies, origins *lang.Node
	if d.ReadObject(n, "a storage state", lang.Field("cookies", func(f *lang.Node) { cookies = f }), lang.Field("origins", func(f *lang.Node) { origins = f })) {
		for _, f := range items(&d, cookies, "an array of cookies") {
			s.Cookies = append(s.Cookies, readStateCookie(&d, f))
		}
		for _, f := range items(&d, origins, "an array of origins") {
			s.Origins = append(s.Origins, readStateOrigin(&d, f))
		}
	}
	if d.Wrong() > 0 {
		return nil, &Invalid{Faults: d.Faults()}
	}
	return s, nil
}

// items are the elements of an array; a field that is not there has none.
func items(d *lang.Decoder, n *lang.Node, what string) []*lang.Node {
	if n == nil {
		return nil
	}
	if !n.IsArray() {
		d.Fault(n, "want %s, not %s", what, n.TypeName())
		return nil
	}
	return n.Elements
}

// anyText reads a string, the empty one too.
func anyText(d *lang.Decoder, to *string) func(*lang.Node) {
	return func(f *lang.Node) {
		if !f.IsString() {
			d.Fault(f, "want a string, not %s", f.TypeName())
		}
		*to = f.Text
	}
}

func readStateCookie(d *lang.Decoder, n *lang.Node) (c StateCookie) {
	c.Expires = -1
	flag := func(to *bool) func(*lang.Node) {
		return func(f *lang.Node) { *to = lang.BoolShape.Read(d, f) }
	}
	ok := d.ReadObject(n, "a cookie",
		lang.Field("name", anyText(d, &c.Name)), lang.Field("value", anyText(d, &c.Value)), lang.Field("domain", anyText(d, &c.Domain)), lang.Field("path", anyText(d, &c.Path)),
		lang.Field("expires", func(f *lang.Node) {
			c.Expires = lang.NumberShape("seconds since the epoch, or -1", -1, 1e12).Read(d, f)
		}),
		lang.Field("httpOnly", flag(&c.HTTPOnly)), lang.Field("secure", flag(&c.Secure)),
		lang.Field("sameSite", func(f *lang.Node) { c.SameSite = lang.EnumShape("sameSite", "Strict", "Lax", "None").Read(d, f) }),
		lang.Field("partitionKey", func(f *lang.Node) { d.Fault(f, "partitioned cookies are not kept: leave them out") }),
	)
	if ok && (c.Domain == "" || c.Path == "") {
		d.Fault(n, "want a cookie with its domain and path")
	}
	return c
}

func readStateOrigin(d *lang.Decoder, n *lang.Node) (o StateOrigin) {
	var at, local, databases *lang.Node
	ok := d.ReadObject(n, "an origin",
		lang.Field("origin", func(f *lang.Node) { at = f; anyText(d, &o.Origin)(f) }),
		lang.Field("localStorage", func(f *lang.Node) { local = f }), lang.Field("indexedDB", func(f *lang.Node) { databases = f }),
		lang.Field("opfs", func(f *lang.Node) {
			if len(items(d, f, "an array")) > 0 {
				d.Fault(f, "files of a site's private file system are not kept: leave opfs out")
			}
		}),
	)
	if !ok {
		return o
	}
	if browser.WebOrigin(o.Origin) != o.Origin || o.Origin == "" || strings.HasSuffix(o.Origin, "/") {
		if at == nil {
			at = n
		}
		d.Fault(at, `want an origin such as "https://shop.example", not %q`, lang.Short(o.Origin, 100))
	}
	o.Local = []StateEntry{}
	for _, f := range items(d, local, "an array of entries") {
		var e StateEntry
		d.ReadObject(f, "an entry of localStorage", lang.Field("name", anyText(d, &e.Name)), lang.Field("value", anyText(d, &e.Value)))
		o.Local = append(o.Local, e)
	}
	for _, f := range items(d, databases, "an array of databases") {
		readDatabase(d, f)
	}
	if databases != nil && databases.IsArray() && len(databases.Elements) > 0 {
		o.Databases = slices.Clone(databases.JSON())
	}
	return o
}

// readDatabase looks whether a database can be made. What its records hold is for the
// browser.
func readDatabase(d *lang.Decoder, n *lang.Node) {
	var name string
	var version float64
	ok := d.ReadObject(n, "a database",
		lang.Field("name", anyText(d, &name)),
		lang.Field("version", func(f *lang.Node) { version = lang.NumberShape("a version", 1, 1<<53).Read(d, f) }),
		lang.Field("stores", func(f *lang.Node) {
			for _, s := range items(d, f, "an array of stores") {
				anything := func(*lang.Node) {}
				d.ReadObject(s, "a store", lang.Field("name", anyText(d, new(string))), lang.Field("autoIncrement", anything), lang.Field("keyPath", anything), lang.Field("keyPathArray", anything),
					lang.Field("indexes", func(f *lang.Node) { items(d, f, "an array of indexes") }), lang.Field("records", func(f *lang.Node) { items(d, f, "an array of records") }))
			}
		}),
	)
	if ok && (name == "" || version == 0 || n.Field("stores") == nil) {
		d.Fault(n, "want a database with its name, version and stores")
	}
}

// WithoutSecrets is a storage state in which the secrets of its account are masked, short
// ones only where tasks that have used them may have stored them.
func WithoutSecrets(state json.RawMessage, all []Secret, used []string) json.RawMessage {
	m := maskerOf(all)
	for _, s := range all {
		if slices.Contains(used, s.Name) {
			m.Add(s.Value)
		}
	}
	return m.JSON(state)
}

// Encode is the state as JSON. One that is too large is an error.
func (s *StorageState) Encode() ([]byte, error) {
	b, err := json.Marshal(s)
	if err == nil && len(b) > MaxProfile {
		err = fmt.Errorf("it has %d bytes, and %d are the limit", len(b), MaxProfile)
	}
	return b, err
}
