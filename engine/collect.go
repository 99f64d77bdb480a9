package engine

import "troupe/engine/lang"

// maxCollected bounds the texts of each part of what a task collects, in bytes.
const maxCollected = 1 << 20

// Collect selects what the answer of a task has about its pages.
type Collect struct{ Console, Network bool }

func (d *decoder) readCollect(n *lang.Node, c *Collect) {
	flag := func(to *bool) func(*lang.Node) {
		return func(f *lang.Node) { *to = lang.BoolShape.Read(&d.Decoder, f) }
	}
	d.ReadObject(n, "collect", lang.Field("console", flag(&c.Console)), lang.Field("network", flag(&c.Network)))
}

// Collected is what pages said and asked for while the task ran.
type Collected struct {
	Console *ConsoleLog `json:"console,omitempty"`
	Network *NetworkLog `json:"network,omitempty"`
}

// collect puts into the outcome what the task wants of its pages, as far as there is room
// for it.
func (r *Run) collect(o *Outcome) {
	want := r.task.Config.Collect
	if want == (Collect{}) {
		return
	}
	o.Collected = &Collected{}
	if want.Console {
		all := r.pageLog.messages()
		n := fitting(len(all.Messages), func(i int) int { return all.Messages[i].size() })
		all.Messages, all.Left = all.Messages[:n], all.Left+len(all.Messages)-n
		o.Collected.Console = &all
	}
	if want.Network {
		all := r.pageLog.requests()
		n := fitting(len(all.Requests), func(i int) int { return all.Requests[i].size() })
		all.Requests, all.Left = all.Requests[:n], all.Left+len(all.Requests)-n
		o.Collected.Network = &all
	}
}

// fitting is how many of n lines fit, from the first on.
func fitting(n int, size func(int) int) int {
	left := maxCollected
	for i := range n {
		if left -= size(i); left < 0 {
			return i
		}
	}
	return n
}

// Bytes is about how many bytes it takes.
func (c *Collected) Bytes() (n int) {
	if c.Console != nil {
		for _, m := range c.Console.Messages {
			n += m.size()
		}
	}
	if c.Network != nil {
		for _, q := range c.Network.Requests {
			n += q.size()
		}
	}
	return n
}

func (m *ConsoleLine) size() int { return 60 + len(m.Text) + len(m.URL) }

func (q *NetworkLine) size() int { return 120 + len(q.URL) + len(q.Method) + len(q.Error) }
