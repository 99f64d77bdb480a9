package persistence

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Writers are the profiles of an account that one may save now, by their names, with the
// task that has the right.
func (p *Profiles) Writers(ctx context.Context, account string) (map[string]string, error) {
	prefix := profileWriterPrefix + account + "/"
	all, err := p.store.List(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("list the writers of profiles: %w", err)
	}
	writers := make(map[string]string, len(all))
	for _, r := range all {
		var w profileWriter
		if err := json.Unmarshal(r.Value, &w); err != nil {
			return nil, fmt.Errorf("read the writer of a profile: %w", err)
		}
		writers[strings.TrimPrefix(r.Key, prefix)] = w.Task
	}
	return writers, nil
}
