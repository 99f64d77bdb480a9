package admin

import (
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/pprofhandler"
)

// profilePath is where profiles of the process are, as Go's tools want them:
// on the private socket only, for they show what the process works on, and
// taking them costs time.
const profilePath = "/debug/pprof/"

// profiled answers a request for a profile. It reports false for any other one.
func profiled(ctx *fasthttp.RequestCtx) bool {
	if !ctx.IsGet() || !strings.HasPrefix(string(ctx.Path()), profilePath) {
		return false
	}
	pprofhandler.PprofHandler(ctx)
	return true
}
