package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// rest is what a node costs while nobody asks it for anything.
type rest struct {
	cpu      float64 // ms a second
	switches float64 // how often its threads went to sleep, a second
}

// idle looks at all crews at the same time while nothing is asked of them.
func idle(crews []*crew, rounds int, lasts time.Duration) table {
	rests := make([][]rest, len(crews))
	for range rounds {
		before := make([]rest, len(crews))
		for i, c := range crews {
			before[i] = c.spent()
		}
		time.Sleep(lasts)
		for i, c := range crews {
			now, n := c.spent(), lasts.Seconds()*float64(len(c.sides))
			rests[i] = append(rests[i], rest{(now.cpu - before[i].cpu) / n, (now.switches - before[i].switches) / n})
		}
	}
	t := table{head: []string{"nodes", "CPU ms a second and node", "sleeps a second and node", "memory MB a node (PSS)"}}
	for i, c := range crews {
		memory := 0.0
		for _, s := range c.sides {
			memory += memoryOf(s.cmd.Process.Pid) / float64(len(c.sides))
		}
		t.row(c.name(),
			f1(middle(rests[i], func(j int) float64 { return rests[i][j].cpu })),
			f0(middle(rests[i], func(j int) float64 { return rests[i][j].switches })), f0(memory))
	}
	return t
}

func (c *crew) name() string {
	switch n := len(c.sides); {
	case n == 1:
		return "1, alone"
	case c.apart:
		return fmt.Sprintf("%d, apart", n)
	default:
		return fmt.Sprintf("%d, a cluster", n)
	}
}

// spent is what the nodes have had since they started.
func (c *crew) spent() (r rest) {
	for _, s := range c.sides {
		r.cpu += runtimeOf(s.cmd.Process.Pid)
		r.switches += sleepsOf(s.cmd.Process.Pid)
	}
	return r
}

// sleepsOf is how often the threads of a process have gone to sleep by
// themselves. To wake up is most of what doing little costs.
func sleepsOf(pid int) (n float64) {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, path := range all {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			var one float64
			if k, _ := fmt.Sscanf(line, "voluntary_ctxt_switches: %f", &one); k == 1 {
				n += one
			}
		}
	}
	return n
}
