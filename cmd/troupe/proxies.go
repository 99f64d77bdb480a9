package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"troupe/engine"
	"troupe/engine/egress"
	"troupe/persistence"
)

// proxySetting is an outbound proxy that a configuration file names, and who may use it.
type proxySetting struct {
	URL string `json:"url"`
	// The credentials are user:password, in a file or in an environment variable.
	CredentialsFile string   `json:"credentialsFile"`
	CredentialsEnv  string   `json:"credentialsEnv"`
	Accounts        []string `json:"accounts"` // by name
	Plans           []string `json:"plans"`
}

var proxyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// readProxies reads the proxies of a configuration file.
func readProxies(raw map[string]json.RawMessage) (map[string]proxySetting, error) {
	all := map[string]proxySetting{}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if !proxyName.MatchString(name) {
			return nil, fmt.Errorf("proxies: %q is no name: want 1 to 64 letters, digits and _ . -, beginning with a letter or a digit", name)
		}
		var p proxySetting
		err := strictly(raw[name], &p)
		if err == nil {
			err = p.check(name)
		}
		if err != nil {
			return nil, fmt.Errorf("proxies.%s: %w", name, err)
		}
		all[name] = p
	}
	return all, nil
}

func (p *proxySetting) check(name string) error {
	if _, err := egress.ParseNamed(name, p.URL, ""); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	if p.CredentialsFile != "" && p.CredentialsEnv != "" {
		return errors.New("want credentialsFile or credentialsEnv, not both")
	}
	for _, plan := range p.Plans {
		if _, err := engine.ParsePlan(plan); err != nil {
			return fmt.Errorf("plans: %w", err)
		}
	}
	return nil
}

// allows reports whether an account may use the proxy.
func (p proxySetting) allows(account string, plan engine.Plan) bool {
	return slices.Contains(p.Accounts, persistence.AccountName(account)) || slices.Contains(p.Plans, string(plan))
}

// credentials reads user:password; empty: there are none.
func (p proxySetting) credentials() (string, error) {
	switch {
	case p.CredentialsFile != "":
		b, err := os.ReadFile(p.CredentialsFile)
		if err != nil {
			return "", fmt.Errorf("credentialsFile: %w", err)
		}
		if s := strings.TrimSpace(string(b)); s != "" {
			return s, nil
		}
		return "", fmt.Errorf("credentialsFile: %s is empty", p.CredentialsFile)
	case p.CredentialsEnv != "":
		if s := strings.TrimSpace(os.Getenv(p.CredentialsEnv)); s != "" {
			return s, nil
		}
		return "", fmt.Errorf("credentialsEnv: the variable %s is not set", p.CredentialsEnv)
	}
	return "", nil
}

// namedProxies are the proxies of a configuration file with their credentials. Everybody may
// use those that are for anyone.
func namedProxies(all map[string]proxySetting, anyone bool) (map[string]engine.NamedProxy, error) {
	named := map[string]engine.NamedProxy{}
	for name, p := range all {
		credentials, err := p.credentials()
		if err != nil {
			return nil, fmt.Errorf("proxies.%s: %w", name, err)
		}
		to, err := egress.ParseNamed(name, p.URL, credentials)
		if err != nil {
			return nil, fmt.Errorf("proxies.%s: %w", name, err)
		}
		allows := p.allows
		if anyone {
			allows = func(string, engine.Plan) bool { return true }
		}
		named[name] = engine.NamedProxy{Upstream: to, Allows: allows}
	}
	return named, nil
}
