package answer

import (
	"troupe/actors/api"
)

// Capacity is how much more work the service could take now.
type Capacity struct {
	Success   bool `json:"success"`
	Available bool `json:"available"` // a task would find a free worker
	Draining  bool `json:"draining"`
	Workers   int  `json:"workers"`
	Online    int  `json:"online"` // free
	Reserved  int  `json:"reserved"`
	Busy      int  `json:"busy"`
	Offline   int  `json:"offline"`
	Waiting   int  `json:"waiting"` // requests
}

func CapacityOf(n api.Status) Capacity {
	return Capacity{
		Success: true, Available: !n.Draining && n.Online > 0 && n.Waiting == 0, Draining: n.Draining,
		Workers: n.Workers, Online: n.Online, Reserved: n.Reserved, Busy: n.Busy, Offline: n.Offline, Waiting: n.Waiting,
	}
}
