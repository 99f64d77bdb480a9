package api

// SurveyWorkers asks for all workers of all accounts. Where there are several
// nodes, each worker names its own.
type SurveyWorkers struct{}

func (*SurveyWorkers) reply(*Workers) {}

var _ = define(definition[SurveyWorkers, Workers]{
	number: 19, reply: 11,
	all: &allDefinition[SurveyWorkers, Workers]{
		merge: func(_ *SurveyWorkers, parts []part[Workers]) *Workers {
			all := &Workers{Workers: []WorkerInfo{}}
			for _, p := range parts {
				for _, w := range p.reply.Workers {
					w.Node = p.node
					all.Workers = append(all.Workers, w)
				}
			}
			return all
		},
		absent: func(_ *SurveyWorkers, last []WorkerInfo) *Workers { return &Workers{Workers: last} },
	},
})
