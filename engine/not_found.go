package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"troupe/engine/browser"
)

// elsewhereTime is how long the frames of other origins are looked through for what
// was not found.
const elsewhereTime = 400 * time.Millisecond

// explain adds to a failure where else there are matches, and what is near where there
// are none.
func (pc *pageCalls) explain(ctx context.Context, tab *browser.Tab, reply *browser.Reply, target any) {
	if reply.Elsewhere == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, elsewhereTime+pc.run.patience)
	defer cancel()
	notes := reply.Elsewhere
	nowhere := strings.HasPrefix(notes, "0 matches")
	if reply.Foreign {
		switch more := tab.MatchesElsewhere(ctx, target, pc.at); {
		case more != "" && nowhere:
			notes, nowhere = more, false
		case more != "":
			notes += ", " + more
		}
	}
	if nowhere {
		if near := pc.near(ctx, target); near != "" {
			notes += "; the nearest: " + near
		}
	}
	reply.Error += ": " + notes
}

// near names elements that may have been meant, in the document that has answered last.
func (pc *pageCalls) near(ctx context.Context, target any) (words string) {
	if pc.at == nil {
		return ""
	}
	arg := map[string]any{"t": target}
	if len(pc.rest) > 0 {
		arg["in"] = pc.rest
	}
	reply, err := pc.at.Call(ctx, "near", arg)
	if err != nil || reply.Code != "" || reply.Hop != nil || json.Unmarshal(reply.Value, &words) != nil {
		return "" // what is known is told without it
	}
	return words
}

// explainGone adds to a failure of a reference what is like its element now, with
// references of its own.
func (pc *pageCalls) explainGone(ctx context.Context, tab *browser.Tab, reply *browser.Reply) {
	if reply.Gone == nil || pc.at == nil || tab == nil {
		return
	}
	role, name := reply.Gone.Role, reply.Gone.Name
	if role == "" {
		as, known := pc.run.refs.calledAs(reply.Gone.Number)
		if !known {
			return
		}
		role, name = as.role, as.name
		reply.Error += fmt.Sprintf("; it was %s", strings.TrimSpace(role+" '"+name+"'"))
	}
	ctx, cancel := context.WithTimeout(ctx, elsewhereTime+pc.run.patience)
	defer cancel()
	at := pc.at
	r, err := at.Call(ctx, "candidates", map[string]any{"role": role, "name": name, "free": pc.run.refs.free()})
	var near struct {
		Words string
		Free  int
	}
	if err != nil || r.Code != "" || json.Unmarshal(r.Value, &near) != nil {
		return // what is known is told without it
	}
	pc.run.refs.gave(tab, pc.place, near.Free)
	if near.Words != "" {
		reply.Error += "; near it there is now: " + near.Words
	} else {
		reply.Error += "; nothing like it is there now"
	}
}
