package engine

// loopState is the loop that runs.
type loopState struct {
	i      int
	pushed map[string][]Result
	order  []string
}

func (l *loopState) push(key string, v Result) {
	if _, ok := l.pushed[key]; !ok {
		l.order = append(l.order, key)
	}
	l.pushed[key] = append(l.pushed[key], v)
}
