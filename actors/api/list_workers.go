package api

// ListWorkers asks for the workers that an account may see.
type ListWorkers struct {
	Account Account `json:"Account"`
}

func (*ListWorkers) reply(*Workers) {}

// Workers answers [ListWorkers] and [SurveyWorkers]: those of the configuration,
// then the others as they were added, node by node.
type Workers struct {
	Workers []WorkerInfo `json:"Workers"`
	// Sessions is how many of them sessions of the account may hold, whatever its plan
	// says. Zero in an answer for the operator, and from nodes of earlier releases.
	Sessions int `json:"Sessions,omitempty"`
}

var _ = define(definition[ListWorkers, Workers]{
	number: 10, reply: 11,
	all: &allDefinition[ListWorkers, Workers]{
		merge: func(_ *ListWorkers, parts []part[Workers]) *Workers {
			all := &Workers{Workers: []WorkerInfo{}}
			for _, p := range parts {
				all.Workers = append(all.Workers, p.reply.Workers...)
				all.Sessions += p.reply.Sessions
			}
			return all
		},
		absent: func(m *ListWorkers, last []WorkerInfo) *Workers {
			return &Workers{Workers: VisibleTo(m.Account.ID, last)}
		},
	},
})

// VisibleTo is what an account may know of workers that the operator knows.
func VisibleTo(account string, workers []WorkerInfo) (all []WorkerInfo) {
	for _, w := range workers {
		if w.Owner != "" && w.Owner != account {
			continue
		}
		if w.Account != account {
			w.Session, w.TaskID, w.Held = "", "", nil
		}
		w.Account = ""
		all = append(all, w)
	}
	return all
}
