package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// databasesScript runs in an empty page that we have made up, where no script of its site
// runs.
//
//go:embed js/databases.js
var databasesScript string

// databases is what the script answers.
type databases struct {
	All  json.RawMessage `json:"databases"`
	Size int             `json:"size"`
	Left int             `json:"left"`
}

func (t *Tab) databases(ctx context.Context, saved map[string]any) (*databases, error) {
	arg, err := json.Marshal(saved)
	if err != nil {
		return nil, err
	}
	b, err := t.Script.valueOf(ctx, databasesScript, arg, false)
	if err != nil {
		return nil, err
	}
	d := new(databases)
	if err := json.Unmarshal(b, d); err != nil {
		return nil, fmt.Errorf("reading the answer about databases: %w", err)
	}
	return d, nil
}

// SaveAll is Save with the databases of sites. What no page has used since the last time
// is as it was then.
func (sn *Snapshots) SaveAll(ctx context.Context) (*State, error) {
	used := map[string]bool{}
	sn.mu.Lock()
	maps.Copy(used, sn.used)
	before := sn.databases
	sn.mu.Unlock()
	s, err := sn.Save(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range s.Tabs { // their pages may have gone on since they were opened
		if o := WebOrigin(t.URL); o != "" {
			used[o] = true
		}
	}
	s.Databases = map[string]json.RawMessage{}
	left := maxState
	for o, all := range before {
		if !used[o] && len(all) <= left {
			s.Databases[o] = all
			left -= len(all)
		}
	}
	if len(used) > 0 {
		err = sn.offstage(ctx, func(t *Tab) error {
			for _, o := range slices.Sorted(maps.Keys(used)) {
				if err := t.pretend(ctx, o); err != nil {
					return err
				}
				d, err := t.databases(ctx, map[string]any{"room": left})
				if err != nil {
					return fmt.Errorf("reading the databases of %s: %w", o, err)
				}
				left -= d.Size
				s.Left += d.Left
				if d.Size > 0 {
					s.Databases[o] = d.All
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	sn.mu.Lock()
	sn.databases, sn.used = s.Databases, map[string]bool{}
	sn.mu.Unlock()
	return s, nil
}

// restoreDatabases puts the databases of a state back.
func (sn *Snapshots) restoreDatabases(ctx context.Context, s *State) error {
	sn.mu.Lock()
	sn.databases = s.Databases
	sn.mu.Unlock()
	if len(s.Databases) == 0 {
		return nil
	}
	return sn.offstage(ctx, func(t *Tab) error {
		for _, o := range slices.Sorted(maps.Keys(s.Databases)) {
			if err := t.pretend(ctx, o); err != nil {
				return err
			}
			if _, err := t.databases(ctx, map[string]any{"put": string(s.Databases[o])}); err != nil {
				return fmt.Errorf("putting the databases of %s back: %w", o, err)
			}
		}
		return nil
	})
}
