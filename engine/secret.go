package engine

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"troupe/engine/host"
	"troupe/engine/lang"
	"troupe/engine/mask"
)

// Secret is a value of an account that tasks use without knowing it:
// ${secret:NAME} in the text of fill, and in headers and credentials of config. It is
// typed into pages of its origins and sent to them, and goes nowhere else. It is masked in everything that a task gives.
type Secret struct {
	Name    string
	Value   string
	Origins []string // such as "https://shop.example"; see [ParseOrigin]
}

// Bounds of a secret. What is shorter could not be masked without masking half
// of a result with it.
const (
	MinSecret = mask.Least
	MaxSecret = 4 << 10
)

var (
	originHost = regexp.MustCompile(`^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]+)?$`)
)

// CheckSecret returns what is wrong with a secret, if anything.
func CheckSecret(s Secret) error {
	switch {
	case !lang.IsSecretName(s.Name):
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

// ParseOrigin gives the one spelling of an origin in which it is compared.
func ParseOrigin(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%q is no origin: want a scheme and a host, such as https://shop.example", s)
	}
	if !originHost.MatchString(strings.ToLower(u.Host)) {
		return "", fmt.Errorf("%q is no origin: the host is written as browsers do, in ASCII (xn--...) and without wildcards", s)
	}
	return u.Scheme + "://" + host.WithPort(u), nil
}

// secrets fills in the secrets of a text, and returns the origins that all of
// them may be typed into; nil where the text holds none.
func (r *Run) secrets(t lang.Text) (filled lang.Text, origins []string, err error) {
	filled, err = t.FillSecrets(func(name string) (string, error) {
		called := name
		if name = r.scopes.secretName(called); name == "" {
			return "", Problemf(CodeInvalidValue, "the flow %q was given no secret for its parameter %q", r.scopes.now.flow, called)
		}
		at := slices.IndexFunc(r.env.Secrets, func(s Secret) bool { return s.Name == name })
		if at < 0 {
			return "", Problemf(CodeInvalidValue, "there is no secret %q in this account", name)
		}
		s := r.env.Secrets[at]
		if origins == nil {
			origins = append([]string{}, s.Origins...)
		}
		origins = slices.DeleteFunc(origins, func(o string) bool { return !slices.Contains(s.Origins, o) })
		return s.Value, nil
	})
	return filled, origins, err
}

// maskerOf takes the secrets out of whatever a task gives. It is nil for an
// account that has none.
func maskerOf(all []Secret) *mask.Masker {
	var values []string
	for _, s := range all {
		values = append(values, s.Value)
	}
	return mask.New(values)
}
