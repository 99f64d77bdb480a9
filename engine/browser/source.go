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
}

// Sources reads the tab's document, and those of its frames of the same origin, up
// to limit characters in all.
func (t *Tab) Sources(ctx context.Context, limit int) ([]Source, error) {
	for {
		var all []Source
		err := t.Script.evaluate(ctx, strings.TrimSpace(sourceJS)+"("+strconv.Itoa(limit)+")", &all)
		if errors.Is(err, ErrNewDocument) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the page's source: %w", err)
		}
		return all, nil
	}
}
