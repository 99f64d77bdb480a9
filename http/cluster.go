package http

import (
	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/answer"
	"troupe/persistence"
)

// cluster answers with the nodes of the cluster.
func (s *Server) cluster(ctx *fasthttp.RequestCtx, _ persistence.Account) *answer.Refusal {
	if s.cfg.Cluster == nil {
		return answer.RefuseText(engine.CodeNotFound, "This service is not a node of a cluster")
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, s.cfg.Cluster(s.base))
	return nil
}
