package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Secret is a value of an account that tasks use without knowing it:
// ${secret:NAME} in the text of fill. It is typed into pages of its origins and
// nowhere else, and masked in everything that a task gives.
type Secret struct {
	Name    string
	Value   string
	Origins []string // such as "https://shop.example"; see [ParseOrigin]
}

// Bounds of a secret. What is shorter could not be masked without masking half
// of a result with it.
const (
	MinSecret = 4
	MaxSecret = 4 << 10
)

// mask is what stands for a secret in whatever a task gives.
const mask = "***"

var (
	secretName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
	secretMark  = regexp.MustCompile(`^\$\{secret:([^}]*)\}`)
	secretBegin = "${secret:"
	originHost  = regexp.MustCompile(`^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]+)?$`)
)

// CheckSecret says what is wrong with a secret.
func CheckSecret(s Secret) error {
	switch {
	case !secretName.MatchString(s.Name):
		return fmt.Errorf("the name %q is not 1 to 64 of letters, digits and _ . -, beginning with a letter or _", s.Name)
	case len(s.Value) < MinSecret || len(s.Value) > MaxSecret:
		return fmt.Errorf("the value has %d bytes: want %d to %d", len(s.Value), MinSecret, MaxSecret)
	case len(s.Origins) == 0:
		return fmt.Errorf("a secret needs the origin of the pages that it may be typed into, such as https://shop.example")
	}
	for _, o := range s.Origins {
		if own, err := ParseOrigin(o); err != nil {
			return err
		} else if own != o {
			return fmt.Errorf("the origin %q is spelled %q", o, own)
		}
	}
	return nil
}

// ParseOrigin gives the one spelling of an origin that browsers use.
func ParseOrigin(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%q is no origin: want a scheme and a host, such as https://shop.example", s)
	}
	host := strings.ToLower(u.Host)
	if !originHost.MatchString(host) {
		return "", fmt.Errorf("%q is no origin: the host is written as browsers do, in ASCII (xn--...) and without wildcards", s)
	}
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; strings.HasSuffix(host, port) {
		host = strings.TrimSuffix(host, port)
	}
	return u.Scheme + "://" + host, nil
}

// secretText is a text that may hold secrets. It is the only shape that may.
func secretText(what string) Shape[Text] {
	s := textShape(what)
	return Shape[Text]{Words: s.Words, Schema: s.Schema, read: func(d *decoder, n *node) Text {
		t := s.read(d, n)
		if !n.isString() || !strings.Contains(n.str, secretBegin) {
			return t
		}
		if d.mayHoldSecrets == nil {
			d.mayHoldSecrets = map[*node]bool{}
		}
		d.mayHoldSecrets[n] = true
		t = parseTextWith(n.str, true)
		for _, p := range t.parts {
			if p.secret && !secretName.MatchString(p.key) {
				d.fault(n, "want ${secret:NAME} with the name of a secret, not ${secret:%s}", p.key)
			}
		}
		return t
	}}
}

// refuseSecrets finds secrets where none can stand.
func (d *decoder) refuseSecrets(n *node) {
	if !d.mayHoldSecrets[n] && n.isString() && holdsSecret(n.str) || n.parent != nil && n.parent.isObject() && holdsSecret(n.key) {
		d.fault(n, "a secret can stand only in the text of fill: it would be readable here (a plain ${secret: is written $${secret:)")
	}
	for _, l := range [][]*node{n.list, n.fields} {
		for _, c := range l {
			d.refuseSecrets(c)
		}
	}
}

func holdsSecret(s string) bool {
	if !strings.Contains(s, secretBegin) {
		return false
	}
	for _, p := range parseTextWith(s, true).parts {
		if p.secret {
			return true
		}
	}
	return false
}

// secrets fills in the secrets of a text, and returns the origins that all of
// them may be typed into; nil where the text holds none.
func (r *Run) secrets(t Text) (filled Text, origins []string, err error) {
	for i, p := range t.parts {
		if !p.secret {
			continue
		}
		at := slices.IndexFunc(r.stage.Secrets, func(s Secret) bool { return s.Name == p.key })
		if at < 0 {
			return t, nil, Problemf(CodeInvalidValue, "there is no secret %q in this account", p.key)
		}
		s := r.stage.Secrets[at]
		if origins == nil {
			origins = append([]string{}, s.Origins...)
			filled = Text{source: t.source, parts: slices.Clone(t.parts)}
		}
		origins = slices.DeleteFunc(origins, func(o string) bool { return !slices.Contains(s.Origins, o) })
		filled.parts[i] = part{literal: s.Value}
	}
	if origins == nil {
		return t, nil, nil
	}
	return filled, origins, nil
}

// masker takes the secrets out of whatever a task gives. It is nil for an
// account that has none.
type masker struct{ r *strings.Replacer }

func newMasker(all []Secret) *masker {
	if len(all) == 0 {
		return nil
	}
	var texts []string
	for _, s := range all {
		texts = append(texts, spellings(s.Value)...)
	}
	texts = slices.DeleteFunc(unique(texts), func(s string) bool { return len(s) < MinSecret })
	slices.SortStableFunc(texts, func(a, b string) int { return len(b) - len(a) }) // of two that begin alike, the longer
	var pairs []string
	for _, v := range texts {
		pairs = append(pairs, v, mask)
	}
	return &masker{strings.NewReplacer(pairs...)}
}

// spellings are the ways in which a value comes back from a page that did
// nothing with it: as it is, in an address or a form, in HTML as a text or an
// attribute, in JSON, in Base64, as signing in by Basic has it, and in one of
// these within another: an address that an address names to go on to, JSON that
// a page shows.
func spellings(s string) []string {
	all := unique(append(spelled(s), inBase64(s)...))
	for _, v := range all[:len(all):len(all)] {
		all = append(all, spelled(v)...)
	}
	return unique(all)
}

func unique(all []string) []string {
	seen := make(map[string]bool, len(all))
	return slices.DeleteFunc(all, func(s string) bool {
		there := seen[s]
		seen[s] = true
		return there
	})
}

func spelled(s string) []string {
	escaped, _ := json.Marshal(s) // as Go and many others do for pages
	var plain strings.Builder     // as a page's script does
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string is always JSON
	inText := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\u00a0", "&nbsp;").Replace(s)
	inAttribute := strings.NewReplacer("&", "&amp;", `"`, "&quot;", "\u00a0", "&nbsp;").Replace(s)
	component := strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(url.QueryEscape(s))
	inForm := strings.NewReplacer("%2A", "*", "~", "%7E").Replace(url.QueryEscape(s))
	return []string{
		component, inForm, s, strings.ReplaceAll(s, "\r\n", "\n"), url.QueryEscape(s), url.PathEscape(s), strings.ReplaceAll(url.QueryEscape(s), "+", "%20"),
		inText, inAttribute, strings.ReplaceAll(inText, `"`, "&quot;"), html.EscapeString(s),
		unquoted(string(escaped)), unquoted(strings.TrimSpace(plain.String())),
	}
}

// inBase64 is what of Base64 is the same whatever stands before and after a
// value. Three bytes make four characters, so there are three ways to begin, in
// two alphabets; characters at both ends are of its neighbours, too.
func inBase64(s string) (all []string) {
	for before := range 3 {
		b := append(make([]byte, before), s...)
		first, end := (before*8+5)/6, len(b)*8/6
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			all = append(all, e.EncodeToString(b)[first:end])
		}
	}
	return all
}

func unquoted(s string) string { return s[1 : len(s)-1] }

func (m *masker) text(s string) string {
	if m == nil {
		return s
	}
	return m.r.Replace(s)
}

// json masks the strings, names and numbers of a JSON value. Where nothing is
// masked it is returned as it is.
func (m *masker) json(b json.RawMessage) json.RawMessage {
	if m == nil || len(b) == 0 {
		return b
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return json.RawMessage(`"` + mask + `"`) // what cannot be looked through is not given
	}
	changed := false
	v = m.value(v, &changed)
	if !changed {
		return b
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage(`"` + mask + `"`)
	}
	return bytes.TrimSpace(out.Bytes())
}

func (m *masker) value(v any, changed *bool) any {
	masked := func(s string) string {
		t := m.r.Replace(s)
		*changed = *changed || t != s
		return t
	}
	switch v := v.(type) {
	case string:
		return masked(v)
	case json.Number:
		if s := masked(v.String()); s != v.String() {
			return s
		}
	case []any:
		for i := range v {
			v[i] = m.value(v[i], changed)
		}
	case map[string]any:
		for _, k := range slices.Collect(maps.Keys(v)) {
			e := m.value(v[k], changed)
			if own := masked(k); own != k {
				delete(v, k)
				v[own] = e
			} else {
				v[k] = e
			}
		}
	}
	return v
}
