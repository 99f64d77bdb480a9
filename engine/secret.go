package engine

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

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
		r.uses(s)
		if origins == nil {
			origins = append([]string{}, s.Origins...)
		}
		origins = slices.DeleteFunc(origins, func(o string) bool { return !slices.Contains(s.Origins, o) })
		return s.Value, nil
	})
	return filled, origins, err
}

// maskerOf takes the secrets out of whatever a task gives. It is nil for an
// account that has none. Short ones are taken out when the task uses them: masked
// everywhere, they could be found by trying all that they may be.
func maskerOf(all []Secret) *mask.Masker {
	if len(all) == 0 {
		return nil
	}
	m := new(mask.Masker)
	m.Add(longSecrets(all)...)
	return m
}

func longSecrets(all []Secret) (values []string) {
	for _, s := range all {
		if !mask.IsShort(s.Value) {
			values = append(values, s.Value)
		}
	}
	return values
}

// usedSecrets are the names of those that the tasks of a session have used. What they have
// put into pages is there for the tasks that follow.
type usedSecrets struct {
	mu    sync.Mutex
	names map[string]bool
}

func (u *usedSecrets) add(names ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names == nil {
		u.names = map[string]bool{}
	}
	for _, n := range names {
		u.names[n] = true
	}
}

func (u *usedSecrets) all() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Sorted(maps.Keys(u.names))
}

// uses masks a secret from now on, in this task and in those of the session that follow.
func (r *Run) uses(s Secret) {
	r.used.add(s.Name)
	r.mask.Add(s.Value)
}

// names reports whether a task, or a flow that it runs, has the mark of a secret in its text.
// What pages say before it is typed is to be masked, too: it may have been told to them
// before.
func (t *Task) names(secret string) bool {
	mark := "${secret:" + secret + "}"
	return bytes.Contains(t.source, []byte(mark)) || slices.ContainsFunc(t.flows, func(f StoredFlow) bool { return bytes.Contains(f.Source, []byte(mark)) })
}

// goesOnWith masks what the task names, and what earlier tasks of the session have used.
func (r *Run) goesOnWith(used *usedSecrets) {
	r.used = used
	if p := r.env.Profile; p != nil {
		used.add(p.Secrets...)
	}
	names := used.all()
	for _, s := range r.env.Secrets {
		if slices.Contains(names, s.Name) || mask.IsShort(s.Value) && r.task.names(s.Name) {
			r.mask.Add(s.Value)
		}
	}
}
