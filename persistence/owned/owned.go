// Package owned is the register of the owners of records. Each package registers the prefixes
// of the keys that it writes, with how to find the account of a record, or with another bound.
// So the bytes of an account's records can be counted, and no kind is forgotten.
package owned

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Kind is what the records of a prefix have in common.
type Kind struct {
	Prefix string // ends in a slash
	By     By     // how to find the account
	Of     string // where By is Parent: the prefix of what they belong to
	// Apart says what bounds them, where they do not count in the room of their account.
	// Records that are nobody's have it, too.
	Apart string
}

// By says how to find the account of a record.
type By int

// The ways.
const (
	Nobody By = iota // no client makes them, or as many as it likes
	Key              // the identifier of the account is the next part of the key
	Value            // the record is an object in JSON, with the field "account"
	Parent           // the next part of the key identifies a record of another prefix, whose account it is
)

var (
	mu    sync.RWMutex
	kinds = map[string]Kind{}
)

// Register adds a kind, and returns its prefix. Call it where a package begins.
func Register(k Kind) string {
	mu.Lock()
	defer mu.Unlock()
	if _, twice := kinds[k.Prefix]; twice || !whole(k) {
		panic(fmt.Sprintf("%+v describes no records, or others have the prefix", k))
	}
	kinds[k.Prefix] = k
	return k.Prefix
}

func whole(k Kind) bool {
	return strings.Count(k.Prefix, "/") == 1 && strings.HasSuffix(k.Prefix, "/") && (k.By == Parent) == (k.Of != "") && (k.By != Nobody || k.Apart != "")
}

// Kinds are all kinds, by prefix.
func Kinds() []Kind {
	mu.Lock()
	defer mu.Unlock()
	var all []Kind
	for _, k := range kinds {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b Kind) int { return strings.Compare(a.Prefix, b.Prefix) })
	return all
}

// Of finds the kind of a key, and the part behind the prefix.
func Of(key string) (k Kind, part string, ok bool) {
	word, rest, _ := strings.Cut(key, "/")
	mu.RLock()
	k, ok = kinds[word+"/"]
	mu.RUnlock()
	part, _, _ = strings.Cut(rest, "/")
	return k, part, ok
}
