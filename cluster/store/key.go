package store

import (
	"encoding/hex"
	"errors"
	"strings"
)

// A record is the last message of a subject. The parts of its key are the
// tokens of the subject, and what a token cannot hold is escaped:
//
//	account/bob.x  →  store.account.bob=2ex
//	a//            →  store.a.=.=
const (
	recordSubjects = "store."
	beatSubjects   = "beat." // followed by a node: see feed
	emptyPart      = "="
)

// plain reports whether a byte of a key stands for itself in a subject.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// subjectOf gives the subject of a key.
func RecordSubject(key string) string {
	var b strings.Builder
	b.Grow(len(recordSubjects) + len(key))
	b.WriteString(recordSubjects)
	for i, part := range strings.Split(key, "/") {
		if i > 0 {
			b.WriteByte('.')
		}
		if part == "" {
			b.WriteString(emptyPart)
		}
		for i := range len(part) {
			if c := part[i]; plain(c) {
				b.WriteByte(c)
			} else {
				b.WriteByte('=')
				b.WriteString(hex.EncodeToString([]byte{c}))
			}
		}
	}
	return b.String()
}

var errNoRecord = errors.New("the subject does not name a record")

// keyOf is the reverse of subjectOf.
func keyOf(subject string) (string, error) {
	rest, ours := strings.CutPrefix(subject, recordSubjects)
	if !ours {
		return "", errNoRecord
	}
	var b strings.Builder
	b.Grow(len(rest))
	for i, part := range strings.Split(rest, ".") {
		if i > 0 {
			b.WriteByte('/')
		}
		if part == emptyPart {
			continue
		}
		for part != "" {
			if part[0] != '=' {
				b.WriteByte(part[0])
				part = part[1:]
				continue
			}
			if len(part) < 3 {
				return "", errNoRecord
			}
			c, err := hex.DecodeString(part[1:3])
			if err != nil {
				return "", errNoRecord
			}
			b.Write(c)
			part = part[3:]
		}
	}
	return b.String(), nil
}
