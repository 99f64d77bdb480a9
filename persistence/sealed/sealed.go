// Package sealed is the register of what is kept sealed: of the prefixes of keys whose
// records only the owner of the key can read. Who seals registers the prefix beside it.
// What is not registered cannot be sealed, so that a change of the key finds all of it.
package sealed

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Kind is what the records of a prefix have in common.
type Kind struct {
	Prefix string // ends in a slash
	Form   Form
	Field  string // where Form is Field: its name
	Holds  string // for the operator: a noun in the plural
}

// Form says what of a record is sealed.
type Form int

// The forms.
const (
	Value Form = iota // the value behind the mark of a value store, or its file
	Whole             // the whole record
	Field             // one field of an object in JSON, as base64
)

var (
	mu    sync.Mutex
	kinds []Kind
)

// Register adds a kind, and returns its prefix. Call it where a package begins.
func Register(k Kind) string {
	mu.Lock()
	defer mu.Unlock()
	for _, other := range kinds {
		if strings.HasPrefix(k.Prefix, other.Prefix) || strings.HasPrefix(other.Prefix, k.Prefix) {
			panic(fmt.Sprintf("the prefixes %q and %q of sealed records begin alike", other.Prefix, k.Prefix))
		}
	}
	if !strings.HasSuffix(k.Prefix, "/") || k.Holds == "" || (k.Form == Field) != (k.Field != "") {
		panic(fmt.Sprintf("%+v describes no sealed records", k))
	}
	kinds = append(kinds, k)
	return k.Prefix
}

// Kinds are all kinds, by prefix.
func Kinds() []Kind {
	mu.Lock()
	defer mu.Unlock()
	all := slices.Clone(kinds)
	slices.SortFunc(all, func(a, b Kind) int { return strings.Compare(a.Prefix, b.Prefix) })
	return all
}

// Of finds the kind of a key.
func Of(key string) (Kind, bool) {
	mu.Lock()
	defer mu.Unlock()
	for _, k := range kinds {
		if strings.HasPrefix(key, k.Prefix) {
			return k, true
		}
	}
	return Kind{}, false
}
