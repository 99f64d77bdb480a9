package notice

import (
	"errors"
	"net/url"

	"troupe/persistence/clock"
)

// line has what one receiver gets, in the order of times.
type line struct {
	account *account
	host    string
	wait    byTime
	sending int
	failing bool // the last attempt was none
	blocked bool
	timer   *clock.Timer
}

type byTime []*entry

func (b byTime) Len() int           { return len(b) }
func (b byTime) Less(i, j int) bool { return b[i].at.Before(b[j].at) }
func (b byTime) Swap(i, j int)      { b[i], b[j] = b[j], b[i]; b[i].index, b[j].index = i, j }
func (b *byTime) Push(x any)        { e := x.(*entry); e.index = len(*b); *b = append(*b, e) }
func (b *byTime) Pop() any {
	old := *b
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*b, e.index = old[:len(old)-1], -1
	return e
}

var errNoHost = errors.New("it has no host")

// hostOf is what the receivers of a line have in common.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return errNoHost.Error()
	}
	return u.Host
}
