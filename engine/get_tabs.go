package engine

import (
	"context"
	"encoding/json"

	"troupe/engine/lang"
)

var _ = define(Action[struct{}]{
	Name: "getTabs", Group: "Tabs and history",
	Doc:     "Lists the open tabs in the order in which they were opened.",
	Value:   lang.TrueShape,
	Result:  "an array of `{index, title, url, current}`",
	Example: `{"getTabs":true}`,
	Run: func(ctx context.Context, r *Run, s *Step, _ struct{}) (Result, error) {
		if _, err := r.navigation.settledTab(ctx, s); err != nil { // what the last input has opened is listed, too
			return nil, err
		}
		list, err := r.tabs.List(ctx)
		if err != nil {
			return nil, err
		}
		type tab struct {
			Index   int    `json:"index"`
			Title   string `json:"title"`
			URL     string `json:"url"`
			Current bool   `json:"current"`
		}
		all := []tab{}
		for i, t := range list {
			all = append(all, tab{i, lang.Short(t.Title, maxTabTitle), t.URL, t.Current})
		}
		return json.Marshal(all)
	},
})

// maxTabTitle bounds the title of a page in an answer, in characters.
const maxTabTitle = 1000
