package backup

import (
	"context"
	"errors"
	"strings"
)

// Prune removes the backups of a store but for the newest ones, those that these need, and
// files that no backup has. It keeps all files while a manifest cannot be read.
func Prune(ctx context.Context, at Place, store string, keep int) (removed int, err error) {
	l, err := List(ctx, at, store)
	if err != nil {
		return 0, err
	}
	list := l.Stores[store]
	needed := map[string]bool{}
	for i := len(list) - 1; i >= 0; i-- {
		if len(list)-i > keep && !needed[list[i].Name] {
			continue
		}
		needed[list[i].Name] = true
		needed[list[i].Base] = true
	}
	files := map[string]bool{}
	whole := len(l.Broken) == 0
	for _, m := range list {
		if !needed[m.Name] {
			continue
		}
		have, err := readList(ctx, at, m)
		if errors.Is(err, ErrBroken) {
			whole = false
			continue
		}
		if err != nil {
			return removed, err
		}
		for _, f := range have {
			files[filePath(store, f.name())] = true
		}
	}
	for _, m := range list {
		if needed[m.Name] {
			continue
		}
		for _, part := range []string{manifestName, recordsName, listName} { // without the first it is none
			if err := at.Remove(ctx, m.at(part)); err != nil {
				return removed, err
			}
		}
		removed++
	}
	for thing := range l.things {
		parts := strings.Split(thing, "/")
		half := len(parts) == 3 && numberOf(parts[1]) > 0 && l.things[store+"/"+parts[1]+"/"+manifestName] == 0
		lone := whole && len(parts) == 4 && parts[1] == "files" && !files[thing]
		if half || lone {
			if err := at.Remove(ctx, thing); err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}
