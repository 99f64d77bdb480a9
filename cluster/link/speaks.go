package link

import "fmt"

// Speaks is which releases' messages and records a node understands. Releases are
// counted by their number, which has nothing to do with the program's version.
type Speaks struct {
	Oldest int `json:"Oldest"`
	Newest int `json:"Newest"` // that of the node itself
}

// ThisRelease is what this build understands: its own release, and the one before. Each
// release adds one to both numbers.
func ThisRelease() Speaks { return Speaks{Oldest: 1, Newest: 2} }

// firstRelease is what a node understands that says nothing of it.
var firstRelease = Speaks{Oldest: 1, Newest: 1}

// With reports whether two nodes understand each other.
func (s Speaks) With(o Speaks) bool { return s.Newest >= o.Oldest && o.Newest >= s.Oldest }

func (s Speaks) String() string {
	if s.Oldest == s.Newest {
		return fmt.Sprintf("release %d", s.Newest)
	}
	return fmt.Sprintf("releases %d to %d", s.Oldest, s.Newest)
}

// Release is what the node understands.
func (i *Inventory) Release() Speaks {
	if i.Speaks == nil || i.Speaks.Newest < i.Speaks.Oldest {
		return firstRelease
	}
	return *i.Speaks
}
