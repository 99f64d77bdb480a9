package lang

// Decoder reads the nodes of one request and collects what is wrong with them.
// Its zero value is ready for use.
type Decoder struct {
	faults []Fault // the first ones
	wrong  int     // how many there are
	// mayHoldSecrets are the texts in which secrets may stand.
	mayHoldSecrets map[*Node]bool
	// referring are the selectors that begin with a reference of a snapshot.
	referring map[*Node]Selector
	warnings  []Fault // about what is allowed, but fails when it is played
}

// Warn records what is allowed, but fails when it is played.
func (d *Decoder) Warn(n *Node, format string, args ...any) {
	if MoreFaults(d.warnings) {
		d.warnings = append(d.warnings, NewFault(n.Path(), format, args...))
	}
}

// Warnings returns the first warnings.
func (d *Decoder) Warnings() []Fault { return d.warnings }

// Referring returns the selectors that begin with a reference of a snapshot, by the node
// of each.
func (d *Decoder) Referring() map[*Node]Selector { return d.referring }

// Fault records what is wrong with a value. Of very many faults only the first are
// kept, and the others counted.
func (d *Decoder) Fault(n *Node, format string, args ...any) {
	if d.wrong++; MoreFaults(d.faults) {
		d.faults = append(d.faults, NewFault(n.Path(), format, args...))
	}
}

// Faults returns the first faults.
func (d *Decoder) Faults() []Fault { return d.faults }

// Wrong counts all faults, kept or not.
func (d *Decoder) Wrong() int { return d.wrong }

// DidYouMean is [DidYouMean], or empty where the fault would not be kept.
func (d *Decoder) DidYouMean(word string, known func() []string) string {
	if !MoreFaults(d.faults) {
		return ""
	}
	return DidYouMean(word, known())
}

// Member is a field that an object can have; see [Field].
type Member struct {
	name string
	read func(*Node)
}

// Field returns the member with a name and the function that reads its value.
func Field(name string, read func(*Node)) Member { return Member{name, read} }

// ReadObject reads an object. Fields other than its members are faults. It reports
// whether n is an object at all.
func (d *Decoder) ReadObject(n *Node, what string, members ...Member) bool {
	if !n.IsObject() {
		d.Fault(n, "want %s, an object, not %s", what, n.TypeName())
		return false
	}
next:
	for _, f := range n.Fields {
		for _, m := range members {
			if m.name == f.Key {
				if !f.IsNull() { // null is what many clients send for "not set"
					m.read(f)
				}
				continue next
			}
		}
		d.Fault(f, "%s has no field %q%s", what, f.Key, d.DidYouMean(f.Key, func() []string {
			names := make([]string, len(members))
			for i, m := range members {
				names[i] = m.name
			}
			return names
		}))
	}
	return true
}

// ReadString reads a string, which faults call what.
func (d *Decoder) ReadString(n *Node, what string) (string, bool) {
	if !n.IsString() {
		if what == "a text" || what == "a string" { // which says it already
			d.Fault(n, "want a string, not %s", n.TypeName())
		} else {
			d.Fault(n, "want %s, a string, not %s", what, n.TypeName())
		}
		return "", false
	}
	return n.Text, true
}

// ReadNonEmpty reads a string that must not be empty.
func (d *Decoder) ReadNonEmpty(n *Node, what string) string {
	s, ok := d.ReadString(n, what)
	if ok && s == "" {
		d.Fault(n, "want %s, not an empty string", what)
	}
	return s
}
