package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// how a list ends.
type how int

const (
	goes   how = iota
	breaks     // the nearest loop ends
	continues
	returns
	stops // a failure has ended it
	ends  // and nothing but a try goes on
	musts // the same, after an action that must not fail: retry may hold it, too
)

func (h how) fails() bool { return h == stops || h == ends || h == musts }

type modelFailure struct {
	code Code
	path string
	at   []int
	ok   bool // the list says that it may fail
}

// model is the small interpreter.
type model struct {
	saved    map[string]json.RawMessage
	goesOn   bool
	guards   int
	trials   int   // lists do of try that run
	allowed  int   // blocks that run and may fail
	must     bool  // the action that begins must not
	loops    []int // the iterations of those that run
	pushed   []map[string][]json.RawMessage
	pending  *modelFailure
	last     Code
	failures []modelFailure
	returned json.RawMessage
	ran      map[string]int
}

func (m *model) Get(key string) (json.RawMessage, bool) { v, ok := m.saved[key]; return v, ok }

func (m *model) left() map[string]any {
	all := map[string]any{}
	for k, v := range m.saved {
		var value any
		_ = json.Unmarshal(v, &value)
		all[k] = value
	}
	return all
}

func (m *model) mayFail(must bool) bool { return m.allowed > 0 && !must || m.trials > 0 }

// counted is the code of the first failure that counts.
func (m *model) counted() Code {
	for _, f := range m.failures {
		if !f.ok {
			return f.code
		}
	}
	return ""
}

func encoded(v any) json.RawMessage { b, _ := json.Marshal(v); return b }

func (m *model) list(list []any, at string) (json.RawMessage, how) {
	last := success
	for i, a := range list {
		var h how
		if last, h = m.step(a.(anAction), at+fmt.Sprint(i)); h != goes {
			return last, h
		}
	}
	return last, goes
}

func (m *model) step(a anAction, path string) (json.RawMessage, how) {
	options, _ := a["options"].(anAction)
	name := ""
	for k := range a {
		if k != "options" {
			name = k
		}
	}
	m.ran[name]++
	goesOn, explicit := options["continueOnError"].(bool)
	was := m.allowed
	if explicit && goesOn {
		m.allowed++
	}
	must := explicit && !goesOn
	m.must = must
	res, h, code := m.act(name, a[name], path)
	if name == "retry" && h == musts && goesOn {
		h = stops
	}
	mayFail := m.mayFail(must)
	m.allowed = was
	if !explicit {
		goesOn = m.goesOn && m.guards == 0 && name != "assert"
	}
	switch {
	case code != "":
		m.last = code
		f := modelFailure{code, path, append([]int(nil), m.loops...), mayFail}
		switch {
		case goesOn:
			m.failures = append(m.failures, f)
			return null, goes
		case m.guards > 0:
			m.pending = &f
		default:
			m.failures = append(m.failures, f)
		}
		switch {
		case name == "assert":
			return null, ends
		case must:
			return null, musts
		}
		return null, stops
	case h == stops && goesOn:
		if m.pending != nil {
			m.failures, m.pending = append(m.failures, *m.pending), nil
		}
		return null, goes
	case h == stops && must:
		return null, musts
	case h.fails():
		return null, h
	case h != goes && name != "break" && name != "continue" && name != "return":
		return res, h // a block that is left has no result to keep
	}
	if key, ok := options["save"].(string); ok {
		m.saved[key] = res
	}
	if key, ok := options["push"].(string); ok {
		var list []json.RawMessage
		if v, ok := m.saved[key]; ok && json.Unmarshal(v, &list) != nil {
			list = []json.RawMessage{v}
		}
		m.saved[key] = encoded(append(list, res))
		if n := len(m.pushed); n > 0 {
			m.pushed[n-1][key] = append(m.pushed[n-1][key], res)
		}
	}
	return res, h
}

// act gives the code of a failure of the action itself, or how a list in it ended.
func (m *model) act(name string, v any, path string) (json.RawMessage, how, Code) {
	fields, _ := v.(anAction)
	inner := func(list string) (json.RawMessage, how) {
		do, _ := fields[list].([]any)
		return m.list(do, path+"/"+name+"/"+list+"/")
	}
	turn := func() (json.RawMessage, how, bool) { // of a loop that can be left
		switch _, h := inner("do"); h {
		case goes, continues:
			return nil, goes, false
		case breaks:
			return m.gathered(1), goes, true
		default:
			return nil, h, true
		}
	}
	switch name {
	case "getText":
		return nil, goes, CodeInvalidValue
	case "getSavedData":
		value, ok := m.saved[v.(string)]
		if !ok {
			value = null
		}
		return encoded(map[string]json.RawMessage{v.(string): value}), goes, ""
	case "set":
		for key, value := range fields {
			made, ok := m.value(value)
			if !ok {
				return nil, goes, CodeInvalidValue
			}
			m.saved[key] = made
		}
	case "return":
		made, ok := m.value(v)
		if !ok {
			return nil, goes, CodeInvalidValue
		}
		m.returned = made
		return made, returns, ""
	case "break":
		return success, breaks, ""
	case "continue":
		return success, continues, ""
	case "assert":
		if !m.holds(v) {
			return nil, goes, CodeAssertionFailed
		}
	case "if":
		branch := "else"
		if m.holds(fields["condition"]) {
			branch = "then"
		}
		res, h := inner(branch)
		return res, h, ""
	case "try":
		m.guards, m.trials = m.guards+1, m.trials+1
		res, h := inner("do")
		m.guards, m.trials = m.guards-1, m.trials-1
		if !h.fails() {
			return res, h, ""
		}
		m.ran["caught"]++
		m.saved["why"] = encoded(map[string]any{"code": m.pending.code, "error": "", "actionPath": m.pending.path})
		m.pending = nil
		res, h = inner("catch")
		return res, h, ""
	case "retry":
		must := m.must
		res, h := m.turns(fields["times"].(int), func() (json.RawMessage, how, bool) {
			m.guards++
			res, h := inner("do")
			m.guards--
			if !h.fails() {
				return res, h, true
			}
			if m.loops[len(m.loops)-1]+1 < fields["times"].(int) {
				m.pending = nil
				return nil, goes, false
			}
			if m.pending.ok = m.mayFail(must); m.guards == 0 {
				m.failures, m.pending = append(m.failures, *m.pending), nil
			}
			return nil, h, true
		})
		return res, h, ""
	case "while", "until":
		most := fields["max"].(int)
		res, h := m.turns(most+1, func() (json.RawMessage, how, bool) {
			if m.holds(fields["condition"]) == (name == "until") || m.loops[len(m.loops)-1] == most {
				return m.gathered(0), goes, true
			}
			return turn()
		})
		return res, h, ""
	case "forEach":
		things, ok := m.things(fields)
		if !ok {
			return nil, goes, CodeInvalidValue
		}
		things = things[:min(len(things), fields["max"].(int))]
		res, h := m.turns(len(things)+1, func() (json.RawMessage, how, bool) {
			i := m.loops[len(m.loops)-1]
			if i == len(things) {
				return m.gathered(0), goes, true
			}
			m.saved[fields["as"].(string)] = things[i]
			return turn()
		})
		return res, h, ""
	case "loop":
		most := fields["repeat"].(int)
		res, h := m.turns(most+1, func() (json.RawMessage, how, bool) {
			if m.loops[len(m.loops)-1] == most {
				return m.gathered(0), goes, true
			}
			_, h := inner("do")
			return nil, h, h != goes
		})
		return res, h, ""
	}
	return success, goes, ""
}

// things are what forEach goes through.
func (m *model) things(fields anAction) (list []json.RawMessage, ok bool) {
	if r, ok := fields["range"].([]any); ok {
		step := r[2].(int)
		for n := r[0].(int); n*step <= r[1].(int)*step; n += step {
			list = append(list, encoded(n))
		}
		return list, true
	}
	if all, ok := fields["values"].([]any); ok {
		for _, v := range all {
			made, ok := m.value(v)
			if !ok {
				return nil, false
			}
			list = append(list, made)
		}
		return list, true
	}
	made, ok := m.value(fields["values"])
	if !ok || json.Unmarshal(made, &list) == nil && string(made) != "null" {
		return list, ok
	}
	d := json.NewDecoder(bytes.NewReader(made)) // in their order
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		_ = d.Decode(&value)
		list = append(list, encoded(map[string]any{"key": name, "value": value}))
	}
	return list, true
}

// turns runs the iterations of a loop until one says that it was the last.
func (m *model) turns(most int, one func() (json.RawMessage, how, bool)) (res json.RawMessage, h how) {
	m.loops, m.pushed = append(m.loops, 0), append(m.pushed, map[string][]json.RawMessage{})
	at := len(m.loops) - 1
	for over := false; m.loops[at] < most && !over; {
		if res, h, over = one(); !over {
			m.loops[at]++
		}
	}
	mine := m.pushed[at]
	m.loops, m.pushed = m.loops[:at], m.pushed[:at]
	if at > 0 {
		for key, list := range mine {
			m.pushed[at-1][key] = append(m.pushed[at-1][key], list...)
		}
	}
	return res, h
}

// gathered is what a loop gives after so many iterations more than it counts.
func (m *model) gathered(more int) json.RawMessage {
	at := len(m.loops) - 1
	if len(m.pushed[at]) > 0 {
		return encoded(m.pushed[at])
	}
	return json.RawMessage(fmt.Sprintf(`{"success":true,"iterations":%d}`, m.loops[at]+more))
}
