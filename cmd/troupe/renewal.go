package main

import "time"

// renewal says when a browser is replaced, which happens only while nothing
// uses it.
type renewal struct {
	Tasks  int           `default:"1000" help:"Replace a browser after so many tasks. 0: never. Default: 1000."`
	Age    time.Duration `default:"6h" help:"Replace a browser after so long a time. 0: never. Default: 6h."`
	Memory int64         `default:"1024" help:"Replace a browser that takes so many MiB with all its processes. 0: never. Default: 1024."`
}

// leastMemory is more, in MiB, than a browser takes that has just started.
const leastMemory = 256

func (r renewal) check() error {
	switch {
	case r.Tasks < 0:
		return usage("--renew-tasks is %d: want 0 or more", r.Tasks)
	case r.Age != 0 && r.Age < time.Minute:
		return usage("--renew-age is %v: want 0, or a minute or more", r.Age)
	case r.Memory != 0 && r.Memory < leastMemory:
		return usage("--renew-memory is %d: want 0, or %d or more", r.Memory, leastMemory)
	}
	return nil
}
