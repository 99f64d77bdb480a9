package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"troupe/engine/lang"
)

// Bounds of what a client says of a task beside what it is to do.
const (
	MaxLabel         = 100 // characters
	MaxMetadata      = 20  // values
	MaxMetadataValue = 256 // characters of a text
	maxMetadataKey   = 40
)

// Metadata is what a client says of a task: a flat object in JSON, in the order in which it
// was sent.
type Metadata = json.RawMessage

var metadataKey = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)

// IsMetadataKey reports whether metadata can have a value under a key.
func IsMetadataKey(key string) bool { return metadataKey.MatchString(key) }

var (
	taskLabelSchema = fmt.Sprintf(`{"type":"string","minLength":1,"maxLength":%d}`, MaxLabel)
	metadataSchema  = fmt.Sprintf(`{"type":"object","maxProperties":%d,"propertyNames":{"pattern":"^[A-Za-z0-9_.-]{1,%d}$"},"additionalProperties":{"anyOf":[{"type":"string","maxLength":%d},{"type":"number"},{"type":"boolean"}]}}`,
		MaxMetadata, maxMetadataKey, MaxMetadataValue)
)

func (d *decoder) readTaskLabel(n *lang.Node) string {
	s := d.ReadNonEmpty(n, "a name for people, such as prices of lamps")
	switch {
	case utf8.RuneCountInString(s) > MaxLabel:
		d.Fault(n, "want at most %d characters, not %d", MaxLabel, utf8.RuneCountInString(s))
	case strings.ContainsFunc(s, unicode.IsControl):
		d.Fault(n, "has a control character, such as a line break: want one line of text")
	}
	return s
}

// readMetadata reads a flat object: values in values are for the client's own store.
func (d *decoder) readMetadata(n *lang.Node) Metadata {
	if !n.IsObject() {
		d.Fault(n, `want an object such as {"customer":"c-17","priority":2}, not %s`, n.TypeName())
		return nil
	}
	if len(n.Fields) > MaxMetadata {
		d.Fault(n, "has %d values: want at most %d", len(n.Fields), MaxMetadata)
		return nil
	}
	for _, f := range n.Fields {
		switch {
		case !IsMetadataKey(f.Key):
			d.Fault(f, "has the name %q: want 1 to %d of letters, digits, and . _ -", lang.Short(f.Key, 100), maxMetadataKey)
		case f.IsString() && utf8.RuneCountInString(f.Text) > MaxMetadataValue:
			d.Fault(f, "want at most %d characters, not %d", MaxMetadataValue, utf8.RuneCountInString(f.Text))
		case f.IsArray(), f.IsObject(), f.IsNull():
			d.Fault(f, "want a string, a number or a boolean, not %s", f.TypeName())
		case f.Kind == '0' && len(f.Raw) > MaxMetadataValue:
			d.Fault(f, "want a number of at most %d characters", MaxMetadataValue)
		}
	}
	if len(n.Fields) == 0 {
		return nil
	}
	return ShortMetadata(n.JSON())
}

// ShortMetadata is metadata as it stands in the text of a task, without blanks and with its
// characters themselves: clients spell ü as \u00fc, and nobody searches for that. Nil: there is
// none.
func ShortMetadata(said json.RawMessage) Metadata {
	short := jsontext.Value(bytes.Clone(said))
	if short.Kind() != '{' || short.Format(jsontext.AllowInvalidUTF8(true)) != nil || len(short) == len("{}") {
		return nil
	}
	return Metadata(short)
}
