package engine

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"troupe/engine/egress"
	"troupe/engine/lang"
)

// Hint says what can be done about a failure; empty: nothing. It is no part of what is kept, so
// ends of an earlier version have theirs as well.
func (f *Failure) Hint() string {
	before, _, refused := strings.Cut(f.Text, " is "+egress.ErrRefused.Error())
	if !refused {
		return ""
	}
	name := strings.Trim(before[strings.LastIndexByte(before, ' ')+1:], "[]")
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	return hintFor(name)
}

func hintFor(host string) string {
	allow := "--allow-host " + host
	if strings.Contains(host, ":") {
		allow = "--allow-cidr " + host + "/128, or --allow-host with a name of it"
	}
	return "Pages cannot reach addresses of this machine and of private networks. The operator can allow this one: troupe serve " + allow
}

// ReceiverFaults says which receivers can never be reached. Path is where the list of them
// is in the request; refuses says why a host is not, see [egress.Proxy.Literal]. Only a
// request that names them is checked: what is stored stays readable when the rules change.
func ReceiverFaults(path string, all []Notify, refuses func(host string) error) (faults []lang.Fault) {
	for i, n := range all {
		if f := ReceiverFault(fmt.Sprintf("%s/%d", path, i), n, refuses); f != nil {
			faults = append(faults, *f)
		}
	}
	return faults
}

// ReceiverFault says why one receiver can never be reached; nil: it may be.
func ReceiverFault(path string, n Notify, refuses func(host string) error) *lang.Fault {
	u, err := url.Parse(n.URL)
	if err != nil || refuses == nil {
		return nil
	}
	if err = refuses(u.Hostname()); err == nil {
		return nil
	}
	f := lang.NewFault(path+"/url", "%s: the operator can allow it with --allow-host", err)
	f.Hint = hintFor(u.Hostname())
	return &f
}
