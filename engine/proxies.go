package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"troupe/engine/egress"
	"troupe/engine/lang"
)

// NamedProxy is an outbound proxy that the operator has given a name.
type NamedProxy struct {
	Upstream *egress.Upstream
	// Allows reports whether an account, by its identifier, may use it.
	Allows func(account string, plan Plan) bool
}

// Proxies are the operator's named proxies. They may be set again while tasks run. Nil:
// there are none.
type Proxies struct {
	all atomic.Pointer[map[string]NamedProxy]
}

// Set replaces all of them, for tasks that begin from now on.
func (p *Proxies) Set(all map[string]NamedProxy) { p.all.Store(&all) }

func (p *Proxies) load() map[string]NamedProxy {
	if p == nil {
		return nil
	}
	if all := p.all.Load(); all != nil {
		return *all
	}
	return nil
}

// Names are those that an account may use, in order.
func (p *Proxies) Names(account string, plan Plan) []string {
	names := []string{}
	for name, of := range p.load() {
		if of.Allows(account, plan) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// of finds the proxy of a name for an account; an empty name is none.
func (p *Proxies) of(name, account string, plan Plan) (*egress.Upstream, *Problem) {
	if name == "" {
		return nil, nil
	}
	found, ok := p.load()[name]
	if !ok || !found.Allows(account, plan) {
		return nil, &Problem{Code: CodeInvalidValue, Text: "config.proxy: " + noProxy(name, p.Names(account, plan))}
	}
	return found.Upstream, nil
}

// noProxy says of a name that it is none of those that an account may use. A proxy that it
// may not use is as one that is not there.
func noProxy(name string, names []string) string {
	if len(names) == 0 {
		return fmt.Sprintf("there is no proxy %q that this account may use: it may use none", lang.Short(name, 100))
	}
	return fmt.Sprintf("there is no proxy %q that this account may use: want one of %s%s", lang.Short(name, 100), strings.Join(names, ", "), lang.DidYouMean(name, names))
}

var proxySchema = `{"anyOf":[{"type":"string","minLength":1},{"const":false}]}`

// readProxy reads the name of a proxy; false ends the use of one by a session.
func (d *decoder) readProxy(n *lang.Node) *string {
	none := ""
	if n.Kind == 'f' {
		return &none
	}
	if !n.IsString() || n.Text == "" {
		d.Fault(n, "want the name of a proxy, or false for none, not %s", n.Describe())
		return &none
	}
	if d.proxies != nil && !slices.Contains(*d.proxies, n.Text) {
		d.Fault(n, "%s", noProxy(n.Text, *d.proxies))
	}
	return &n.Text
}

// goThrough lets what pages send from now on leave through the proxy that the task or its
// session names, or through none. It comes before anything is sent.
func (in *instance) goThrough(r *Run, st TaskEnv) (ok bool) {
	in.mu.Lock()
	name := in.through
	in.mu.Unlock()
	if p := r.task.Config.proxy; p != nil {
		name = *p
	}
	to, no := in.engine.Proxies.of(name, st.Account, st.Plan)
	if no == nil && to != nil && in.door == nil {
		no = &Problem{Code: CodeInvalidValue, Text: "config.proxy: this service has no way out that could use one"}
	}
	if no != nil {
		r.reports.failed(Failure{Code: no.Code, Text: no.Text}, true)
		return false
	}
	if in.door != nil {
		in.door.Through(to)
	}
	if to != nil {
		r.tabs.Journal.Note("everything leaves through %s", to)
	}
	in.mu.Lock()
	in.through = name
	in.mu.Unlock()
	return true
}
