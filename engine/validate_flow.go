package engine

// gives makes a flow's parameters known to its actions, and nothing else.
func (v *reviewer) gives(f *Flow) {
	v.known = known{values: map[string]bool{}, elements: map[string]bool{}}
	for _, p := range f.Parameters {
		if !p.Secret {
			v.known.values[p.Name] = true
			v.later[p.Name] = "/parameters/" + p.Name
		}
	}
}

// flowCall is for a flow. It looks for its parameters first.
func (v *reviewer) flowCall(s *Step, c flowCall) span {
	first := int64(0)
	for _, a := range c.given {
		if a.value.Asks() {
			first = v.timeOf(s)
		}
	}
	known, later, lost, each, maybe := v.known, v.later, v.lost, v.each, v.maybe
	v.later, v.lost, v.each, v.maybe = map[string]string{}, map[string]string{}, false, nil
	v.inside++
	if c.flow != nil {
		v.gives(c.flow)
	}
	v.before = add(v.before, first)
	took := v.whole(c.steps)
	v.before -= first
	v.inside--
	v.known, v.later, v.lost, v.each, v.maybe = known, later, lost, each, maybe
	return span{took.least, add(took.most, first)}
}
