package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

//go:embed js/source.js
var sourceJS string

// Source is the source of one document, as it is and not as it came.
type Source struct {
	URL  string `json:"url"`
	HTML string `json:"html"`
	Cut  bool   `json:"cut"` // there was more

	Foreign bool `json:"foreign"` // of the first: there are frames of other origins
}

// maxSources bounds the documents of a page that are read.
const maxSources = 50

// Sources reads the tab's document, and those of its frames, up to limit characters in
// all.
func (t *Tab) Sources(ctx context.Context, limit int) ([]Source, error) {
	all, err := t.Script.sources(ctx, limit)
	for errors.Is(err, ErrNewDocument) && ctx.Err() == nil {
		all, err = t.Script.sources(ctx, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the page's source: %w", err)
	}
	if len(all) == 0 || !all[0].Foreign {
		return all, nil
	}
	root := Part{Kind: "css", Sel: "html"}
	h, err := t.Script.holds(ctx, root)
	if err != nil {
		return all, nil // what there is of the page is worth more than nothing
	}
	_ = t.search(ctx, &t.Script, root, h.Frames, func(ps *PageScript, _ held) bool {
		left := limit
		for _, s := range all {
			left -= len(s.HTML)
		}
		if left <= 0 || len(all) >= maxSources {
			return false
		}
		if more, err := ps.sources(ctx, left); err == nil {
			all = append(all, more...)
		}
		return true
	})
	return all, nil
}

// sources reads a document, and those of the frames of its origin.
func (ps *PageScript) sources(ctx context.Context, limit int) (all []Source, err error) {
	err = ps.evaluate(ctx, strings.TrimSpace(sourceJS)+"("+strconv.Itoa(limit)+")", &all)
	return all, err
}
