package engine

// block is a value that holds lists of actions.
type block interface{ lists() [][]Step }

// lists are the lists of actions in a step.
func (s *Step) lists() [][]Step {
	if n, ok := s.value.(block); ok {
		return n.lists()
	}
	return nil
}

// writes are the keys that the action itself saves values under, beside those of its
// options.
func (s *Step) writes() []string {
	if w, ok := s.value.(interface{ writes() []string }); ok {
		return w.writes()
	}
	return nil
}

// mayLeave reports whether what follows the step in its list may not run although
// nothing fails.
func (s *Step) mayLeave() bool {
	switch s.def.name {
	case "break", "continue", "return":
		return true
	}
	for _, list := range s.lists() {
		for i := range list {
			if list[i].mayLeave() {
				return true
			}
		}
	}
	return false
}

// mostMillis is more than any task takes, and still a number for every client: loops
// in one another multiply.
const mostMillis = 1 << 52

// add adds two times.
func add(a, b int64) int64 { return min(a+b, mostMillis) }

// scaled is so many times a time.
func scaled(n, a int64) int64 {
	if a > 0 && n > mostMillis/a {
		return mostMillis
	}
	return n * a
}

// turns is for a list that runs several times, each iteration with a look of its own
// before it. What a response waits for in it may begin in the last iteration.
func (v *reviewer) turns(do []Step, n, look int64) span {
	first := len(v.captures)
	v.before = add(v.before, look)
	once := v.list(do)
	v.before -= look
	once.most = add(once.most, look)
	for i := range v.captures[first:] {
		if c := &v.captures[first+i]; c.until > 0 {
			c.until = add(c.until, scaled(n-1, once.most))
		}
	}
	return span{scaled(n, once.least), scaled(n, once.most)}
}

func (v *reviewer) conditional(s *Step, c conditional) span {
	look := int64(0)
	if c.cond.Looks() {
		look = v.timeOf(s)
	}
	none := v.known.copy()
	took := v.turns(c.do, int64(c.max), look)
	v.known = v.known.or(none) // the condition may be false at once
	return span{0, add(took.most, look)}
}

// iteration looks for its elements or values once, and for each page, or for each
// element that comes when the page is scrolled, once more.
func (v *reviewer) iteration(s *Step, i iteration) span {
	first, each := v.timeOf(s), int64(0)
	if i.scroll || i.next != nil {
		each = first
	}
	if i.elements == nil && (i.values == nil || !i.values.Asks()) {
		first = 0
	}
	none, was := v.known.copy(), v.each
	for _, key := range i.writes() {
		v.known.values[key] = true
	}
	v.each = v.each || i.elements != nil
	took := v.turns(i.do, int64(i.max), each)
	v.known, v.each = v.known.or(none), was
	return span{0, add(took.most, first)}
}

func (v *reviewer) attempts(a attempts) span {
	delay := ceilMillis(a.delay)
	took := v.turns(a.do, int64(a.times), 0)
	return span{took.least / max(1, int64(a.times)), add(took.most, scaled(int64(a.times-1), delay))}
}

// trial knows neither how far the list comes nor whether the other runs.
func (v *reviewer) trial(t trial) span {
	start := v.known.copy()
	do := v.list(t.do)
	after := v.known
	v.known = start.or(after)
	if t.as != "" {
		v.known.values[t.as] = true
	}
	v.before = add(v.before, do.most)
	catch := v.list(t.catch)
	v.before -= do.most
	v.known = v.known.or(after)
	return span{0, add(do.most, catch.most)}
}
