package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"troupe/engine"
	"troupe/engine/lang"
)

// contexts are the services that somebody has signed in to, as the file has them.
type contexts struct {
	Current  string                 `json:"current,omitempty"`
	Contexts map[string]savedAccess `json:"contexts"`

	file string
}

// savedAccess is one service with a token for it.
type savedAccess struct {
	URL     string `json:"url"`
	Token   string `json:"token"`
	Account string `json:"account,omitempty"` // as the service said at the login
}

// contextsFile is where the contexts are.
func contextsFile() (string, error) {
	dir := os.Getenv("XDG_CONFIG_HOME")
	switch {
	case filepath.IsAbs(dir): // the specification says to ignore others
	case runtime.GOOS == "windows":
		var err error
		if dir, err = os.UserConfigDir(); err != nil {
			return "", fmt.Errorf("find the folder for contexts: %w", err)
		}
	default:
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the folder for contexts: %w", err)
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "troupe", "contexts.json"), nil
}

// readContexts reads the file. Without one there are no contexts.
func readContexts() (*contexts, error) {
	file, err := contextsFile()
	if err != nil { // without a home there is no file: whoever wants to write one hears of it
		return &contexts{Contexts: map[string]savedAccess{}}, nil //nolint:nilerr
	}
	all := &contexts{file: file}
	b, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, usage("read the contexts: %w", err)
	default:
		if err := json.Unmarshal(b, all); err != nil {
			return nil, usage("read the contexts: %s is damaged: %w. Correct it, or remove it and sign in again with troupe login", file, err)
		}
	}
	if all.Contexts == nil {
		all.Contexts = map[string]savedAccess{}
	}
	return all, nil
}

// named is a context by its name.
func (c *contexts) named(name string) (savedAccess, error) {
	one, ok := c.Contexts[name]
	if ok {
		return one, nil
	}
	if len(c.Contexts) == 0 {
		return one, usage("there is no context %q, because there is none at all: troupe login URL makes one", lang.Short(name, 64))
	}
	names := slices.Sorted(maps.Keys(c.Contexts))
	hint := lang.DidYouMean(name, names)
	if hint == "" {
		hint = ": want " + strings.Join(names, ", ")
	}
	return one, usage("there is no context %q%s", lang.Short(name, 64), hint)
}

// write replaces the file. Whoever reads it has the tokens, so only its owner may.
func (c *contexts) write() error {
	if c.file == "" {
		file, err := contextsFile()
		if err != nil {
			return usageError{err}
		}
		c.file = file
	}
	if err := os.MkdirAll(filepath.Dir(c.file), 0o700); err != nil {
		return usage("write the contexts: %w", err)
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	if err := writePrivate(c.file, append(b, '\n')); err != nil {
		return usage("write the contexts: %w", err)
	}
	return nil
}

// nameOf is what the context of a service is called where nobody names it: its host.
func nameOf(at *url.URL) string {
	name := at.Hostname()
	if port := at.Port(); port != "" {
		name += "-" + port
	}
	name = strings.Map(func(r rune) rune {
		if engine.IsFlowName("a" + string(r)) {
			return r
		}
		return '-'
	}, name)
	return strings.TrimLeft(name[:min(len(name), 64)], "-_.")
}

type contextCommands struct {
	List   contextList   `cmd:"" help:"List the contexts. The current one has a star."`
	Use    contextUse    `cmd:"" help:"Make a context the current one."`
	Remove contextRemove `cmd:"" help:"Forget a context with its token. The token stays valid."`
}

// ownFiles marks commands that need no store: an unknown variable is no reason to refuse them.
type ownFiles struct{}

func (ownFiles) remote([]string) (bool, error) { return true, nil }

type contextList struct {
	ownFiles
	JSON bool `help:"Print JSON, for scripts."`
}

// listedContext is a context in a list, without its token.
type listedContext struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	Account string `json:"account,omitempty"`
	Current bool   `json:"current"`
}

// Run lists contexts.
func (c *contextList) Run(w *environment) error {
	all, err := readContexts()
	if err != nil {
		return err
	}
	list := []listedContext{}
	for _, name := range slices.Sorted(maps.Keys(all.Contexts)) {
		one := all.Contexts[name]
		list = append(list, listedContext{name, one.URL, one.Account, name == all.Current})
	}
	return operator{JSON: c.JSON}.print(w, list, func(out io.Writer) {
		rows := [][]string{{"", "CONTEXT", "URL", "ACCOUNT"}}
		for _, one := range list {
			star := ""
			if one.Current {
				star = "*"
			}
			rows = append(rows, []string{star, one.Name, plain(one.URL), plain(one.Account)})
		}
		table(out, rows)
	})
}

type contextUse struct {
	ownFiles
	Name string `arg:"" help:"Name of the context."`
}

// Run makes a context the current one.
func (c *contextUse) Run(w *environment) error {
	all, err := readContexts()
	if err != nil {
		return err
	}
	one, err := all.named(c.Name)
	if err != nil {
		return err
	}
	all.Current = c.Name
	if err := all.write(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.stdout, "Commands go to %s (context %s).\n", one.URL, c.Name)
	return err
}

type contextRemove struct {
	ownFiles
	Name string `arg:"" help:"Name of the context."`
}

// Run forgets a context.
func (c *contextRemove) Run(w *environment) error {
	all, err := readContexts()
	if err != nil {
		return err
	}
	if _, err := all.named(c.Name); err != nil {
		return err
	}
	delete(all.Contexts, c.Name)
	text := fmt.Sprintf("The context %s is removed.", c.Name)
	if all.Current == c.Name {
		all.Current = ""
		text += " No context is current now."
	}
	if err := all.write(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(w.stdout, text)
	return err
}

// loopbackHost reports whether a host is this machine.
func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
