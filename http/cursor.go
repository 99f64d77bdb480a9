package http

import (
	"regexp"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine/lang"
	"troupe/http/answer"
	"troupe/persistence"
)

// cursorShape is the spelling of the cursors of a list. What has another one was made by
// no list, and an empty part would look like its end.
type cursorShape struct{ re *regexp.Regexp }

func cursorsLike(re string) cursorShape { return cursorShape{regexp.MustCompile("^(?:" + re + ")$")} }

// Cursors of the lists.
var (
	queuedCursors = map[api.QueueList]cursorShape{
		api.ListWaiting: cursorsLike(`(-|[a-z2-7]{8}[0-9a-z]{1,7})/[0-9]{1,2}/[0-9a-f]{14}/task_[0-9A-Za-z_-]{1,100}`),
		api.ListEnded:   cursorsLike(endedCursor),
		api.ListDead:    cursorsLike(endedCursor),
	}
	noticeCursors = map[bool]cursorShape{
		true:  cursorsLike(noticeID), // of those that wait
		false: cursorsLike(`[0-9a-f]{11}/` + noticeID),
	}
	runCursors    = cursorsLike(`[0-9a-f]{8}/task_[0-9A-Za-z_-]{1,100}`)
	batchCursors  = cursorsLike(`[0-9a-z]{10,14}-batch_[0-9a-z_]{1,60}`)
	resultCursors = map[api.BatchOrder]cursorShape{
		api.OrderEnded: cursorsLike(`[0-9a-f]{14}/[0-9]{10}`),
		api.OrderItems: cursorsLike(`[0-9]{1,10}`),
	}
)

const (
	endedCursor = `[0-9a-f]{14}/task_[0-9A-Za-z_-]{1,100}`
	noticeID    = `msg_[0-9a-f]{11}_[a-z2-7]{24}`
)

// readCursor reads the parameter cursor; empty: the first part.
func readCursor(ctx *fasthttp.RequestCtx, shape cursorShape, want string) (string, []lang.Fault) {
	cursor := string(ctx.QueryArgs().Peek("cursor"))
	if cursor == "" || shape.re != nil && shape.re.MatchString(cursor) {
		return cursor, nil
	}
	return "", []lang.Fault{{Path: "/cursor", Message: "want " + want + ", as it is written there"}}
}

// nextWanted says which cursor a list takes that gives next with each part.
const nextWanted = "next of an answer of this list"

// wholeList is a list that comes in one part: it has no cursors.
func wholeList(h func(*fasthttp.RequestCtx, persistence.Account) *answer.Refusal) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, a persistence.Account, _ string) *answer.Refusal {
		if no := noCursor(ctx, "this list comes in one part: leave cursor out"); no != nil {
			return no
		}
		return h(ctx, a)
	}
}

func noCursor(ctx *fasthttp.RequestCtx, why string) *answer.Refusal {
	if len(ctx.QueryArgs().Peek("cursor")) == 0 {
		return nil
	}
	return answer.RefuseInvalid(lang.Fault{Path: "/cursor", Message: why})
}
