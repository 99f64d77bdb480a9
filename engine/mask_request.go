package engine

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"troupe/engine/lang"
	"troupe/engine/mask"
)

// maxMasked bounds the fields of a request that are named as masked: their values are masked
// all the same.
const maxMasked = 100

// secretPlaces are the places of a request whose values are secrets whatever they are: the
// passwords of sites, headers that sign in, and values of cookies. [secretHeader] says which headers.
var (
	secretPlaces = regexp.MustCompile(`^/config/credentials/[^/]+/password$|/setCookies/[0-9]+/value$|/setCookies/value$`)
	secretHeader = regexp.MustCompile(`(?i)^/config/headers/[^/]+/(authorization|proxy-authorization|cookie|[^/]*(token|secret|password|api-?key)[^/]*)$`)
	typedText    = regexp.MustCompile(`/(fill|paste)/1$`)
	passwordLike = regexp.MustCompile(`(?i)passw|passphrase|passcode`)
)

// MaskRequest takes secrets out of the text of a request, and names the fields that had some:
// the account's own, and those that stand in it as they are. A value that names a secret stays.
func MaskRequest(source []byte, secrets []Secret) (masked json.RawMessage, fields []string, err error) {
	n, fault := lang.ReadNode(source)
	if fault != nil {
		return nil, nil, errors.New("mask a request: " + fault.String())
	}
	m := new(mask.Masker)
	for _, s := range secrets {
		if !mask.IsShort(s.Value) || strings.Contains(string(source), "${secret:"+s.Name+"}") {
			m.Add(s.Value)
		}
	}
	instead := map[*lang.Node][]byte{}
	var walk func(n *lang.Node)
	walk = func(n *lang.Node) {
		for _, e := range n.Elements {
			walk(e)
		}
		for _, f := range n.Fields {
			walk(f)
		}
		if !n.IsString() || n.Text == "" {
			return
		}
		text := m.Text(n.Text).String()
		if text == n.Text && isSecretPlace(n) && !strings.Contains(text, "${secret:") {
			text = mask.Mark
		}
		if text == n.Text {
			return
		}
		b, _ := json.Marshal(text) // a string is JSON
		if instead[n] = b; len(fields) < maxMasked {
			fields = append(fields, n.Path())
		}
	}
	walk(n)
	return m.JSON(n.Rewrite(instead, nil)), fields, nil
}

func isSecretPlace(n *lang.Node) bool {
	path := n.Path()
	if secretPlaces.MatchString(path) || secretHeader.MatchString(path) {
		return true
	}
	return typedText.MatchString(path) && passwordLike.Match(n.Parent().Elements[0].JSON())
}
