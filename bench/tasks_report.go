package main

import (
	"fmt"
	"time"
)

// loadPart is the appendix of the tasks: the tables at full load.
const loadPart = "load"

// reportTasks writes down what was measured: the aims, one client with idle
// time and memory, and in the appendix the tables at full load.
func reportTasks(b *bench, p *part, groups []group, r *results, rounds int, window time.Duration) {
	p.say("Rounds: %d. Idle: 2 to 4 tasks a round, %v between two. Load: %v a round. Times are in ms. CPU is processor time in ms a task, over the whole process tree and with the cleaning after the answer. Own CPU is that of the server's process without its browsers. Ratios are troupe ÷ the other: below 1, troupe needs less.", rounds, b.idle, window)
	p.appendix.say("%s", origin(b))
	p.say("### Aims")
	p.add(aims(r))
	for _, g := range groups {
		for _, load := range []bool{false, true} {
			how := "tasks with idle time between"
			if load {
				how = "back to back at full load"
			}
			t := g.table(r, load)
			if len(t.rows) == 0 {
				continue
			}
			clients := "one client"
			if g.n > 1 {
				clients = fmt.Sprintf("%d clients", g.n)
			}
			to := p
			if load {
				to = p.appendix
			}
			to.say("### %s, %s", upper(clients), how)
			to.add(t)
		}
	}
	reportMemory(p, groups, r)
}

func rows(r *results, g group, w work, load bool) (rows [][]string) {
	us := r.of[key{troupe.name, w.name, g.n, load}]
	for _, k := range g.kinds {
		one := r.of[key{k.name, w.name, g.n, load}]
		if one == nil {
			continue
		}
		row := []string{"", k.name, f1(one.p(50)), f1(one.p(95)), fmt.Sprintf("%.0f", one.each()), f1(one.ownEach()), fmt.Sprint(len(one.times))}
		if load {
			row[6] = f1(one.rate())
		}
		if one != us && us != nil {
			row = append(row, f2(us.p(50)/one.p(50)), f2(us.each()/one.each()))
		}
		rows = append(rows, row)
	}
	return rows
}

func reportMemory(p *part, groups []group, r *results) {
	t := table{head: []string{"side"}}
	for _, g := range groups {
		t.head = append(t.head, fmt.Sprintf("%d", g.n))
	}
	all := append([]kind{{name: serviceProcess}}, groups[0].kinds...)
	for _, k := range all {
		row := []string{k.name}
		for _, g := range groups {
			cell := ""
			if m, ok := r.memory[key{side: k.name, n: g.n}]; ok {
				cell = fmt.Sprintf("%.0f", m)
			}
			row = append(row, cell)
		}
		t.row(row...)
	}
	p.say("### Memory")
	p.say("PSS of the whole process tree in MB after the rounds, by number of workers, tabs or pages. The service and the raw clients have a browser for each. The others' pages share one, unless they have our flags.")
	p.add(t)
}

func f0(v float64) string { return fmt.Sprintf("%.0f", v) }
func f1(v float64) string { return fmt.Sprintf("%.1f", v) }
func f2(v float64) string { return fmt.Sprintf("%.2f", v) }

func upper(s string) string {
	if s[0] >= 'a' && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}
