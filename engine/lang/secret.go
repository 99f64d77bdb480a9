package lang

import (
	"regexp"
	"strings"
)

var (
	secretName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
	secretBegin = "${secret:"
)

// SecretTextShape is a text that may hold ${secret:NAME}. No other shape may.
func SecretTextShape(what string) Shape[Text] {
	s := TextShape(what)
	return Shape[Text]{Words: s.Words, Schema: s.Schema, Read: func(d *Decoder, n *Node) Text {
		t := s.Read(d, n)
		if !n.IsString() || !strings.Contains(n.Text, secretBegin) {
			return t
		}
		if d.mayHoldSecrets == nil {
			d.mayHoldSecrets = map[*Node]bool{}
		}
		d.mayHoldSecrets[n] = true
		t = parseTextWith(n.Text, withNames)
		for p := range t.parts {
			if p.secret && !IsSecretName(p.key) {
				d.Fault(n, "want ${secret:NAME} with the name of a secret, not ${secret:%s}", p.key)
			}
		}
		return t
	}}
}

// ParseSecretText reads a text that a request had where secrets may stand.
func ParseSecretText(s string) Text { return parseTextWith(s, withNames) }

// OneSecret is the name of the secret that the text consists of, if it is one alone.
func (t Text) OneSecret() (name string, ok bool) {
	if t.marks != withNames || t.filled != nil {
		return "", false
	}
	p, n := readMark(t.source, true)
	if !p.secret || n != len(t.source) {
		return "", false
	}
	return p.key, true
}

// IsSecretName reports whether a secret can have the name s.
func IsSecretName(s string) bool { return secretName.MatchString(s) }

// FillSecrets replaces the secrets in a text by their values. Other values are left
// to [Text.Expand].
func (t Text) FillSecrets(value func(name string) (string, error)) (Text, error) {
	if t.marks != withNames {
		return t, nil
	}
	var b strings.Builder
	for p := range t.parts {
		switch {
		case p.secret:
			v, err := value(p.key)
			if err != nil {
				return t, err
			}
			p.literal = v
		case p.key != "":
			b.WriteString("${" + p.key + "}")
			continue
		}
		b.WriteString(strings.ReplaceAll(p.literal, "$", "$$")) // it is not expanded again
	}
	filled := b.String()
	return Text{source: t.source, filled: &filled, marks: keyMarks}, nil
}

// RefuseSecrets makes a fault of each secret that no shape has allowed, in n and
// below it.
func (d *Decoder) RefuseSecrets(n *Node) {
	if !d.mayHoldSecrets[n] && n.IsString() && holdsSecret(n.Text) || n.parent != nil && n.parent.IsObject() && holdsSecret(n.Key) {
		d.Fault(n, "a secret can stand only in the text of fill, and in headers and credentials of config: it would be readable here (a plain ${secret: is written $${secret:)")
	}
	for _, l := range [][]*Node{n.Elements, n.Fields} {
		for _, c := range l {
			d.RefuseSecrets(c)
		}
	}
}

func holdsSecret(s string) bool {
	if !strings.Contains(s, secretBegin) {
		return false
	}
	for p := range parseTextWith(s, withNames).parts {
		if p.secret {
			return true
		}
	}
	return false
}
