package engine

import (
	"fmt"
	"net"
	"strings"

	"troupe/engine/egress"
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
	return fmt.Sprintf("Pages cannot reach addresses of this machine and of private networks. The operator can allow this one: troupe serve --allow-host %s", name)
}
