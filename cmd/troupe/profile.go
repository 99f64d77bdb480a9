package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/address"
	"troupe/http/answer"
)

type profileCommands struct {
	List   profileList   `cmd:"" help:"List profiles with their newest version."`
	Show   profileShow   `cmd:"" help:"Show a profile with the versions that are kept."`
	Export profileExport `cmd:"" help:"Write a profile as Playwright's storage state."`
	Import profileImport `cmd:"" help:"Store Playwright's storage state as the next version of a profile."`
	Delete profileDelete `cmd:"" help:"Delete a profile with all its versions."`
}

// allProfiles reads the profiles of the account.
func (c *client) allProfiles(w *environment) ([]answer.Profile, error) {
	var all struct {
		Profiles []answer.Profile `json:"profiles"`
	}
	err := c.call(w.ctx, http.MethodGet, address.Fixed("/v1/profiles"), &all)
	return all.Profiles, err
}

type profileList struct{ client }

// Run lists profiles.
func (c *profileList) Run(w *environment) error {
	all, err := c.allProfiles(w)
	if err != nil {
		return fmt.Errorf("list profiles: %w", err)
	}
	return c.print(w, all, func(out io.Writer) {
		rows := [][]string{{"PROFILE", "VERSION", "SAVED", "COOKIES", "SITES", "BYTES"}}
		for _, p := range all {
			if n := len(p.Versions); n > 0 {
				v := p.Versions[n-1]
				rows = append(rows, []string{p.Name, fmt.Sprint(v.Version), minute(v.Saved), fmt.Sprint(v.Cookies), sites(v.Origins), fmt.Sprint(v.Bytes)})
			}
		}
		table(out, rows)
	})
}

// sites names a few origins.
func sites(origins []string) string {
	const most = 3
	if len(origins) <= most {
		return strings.Join(origins, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(origins[:most], " "), len(origins)-most)
}

type profileShow struct {
	client
	Name string `arg:"" help:"Name of the profile."`
}

// Run shows a profile.
func (c *profileShow) Run(w *environment) error {
	all, err := c.allProfiles(w)
	if err != nil {
		return fmt.Errorf("show a profile: %w", err)
	}
	i := slices.IndexFunc(all, func(p answer.Profile) bool { return p.Name == c.Name })
	if i < 0 {
		return fmt.Errorf("show a profile: there is none with the name %q", lang.Short(c.Name, 100))
	}
	return c.print(w, all[i], func(out io.Writer) { describeProfile(out, &all[i]) })
}

// describeProfile prints a profile for people, the newest version first.
func describeProfile(out io.Writer, p *answer.Profile) {
	fmt.Fprintf(out, "The profile %s was created on %s. Its versions:\n", p.Name, minute(p.Created))
	rows := [][]string{{"VERSION", "SAVED", "BY", "COOKIES", "SITES", "BYTES"}}
	for _, v := range slices.Backward(p.Versions) {
		rows = append(rows, []string{fmt.Sprint(v.Version), minute(v.Saved), cmp.Or(v.TaskID, v.Session, "an import"), fmt.Sprint(v.Cookies), sites(v.Origins), fmt.Sprint(v.Bytes)})
	}
	table(out, rows)
}

type profileExport struct {
	client
	Name string `arg:"" help:"Name of the profile, or name@version."`
	Out  string `help:"File for the storage state. Default: the standard output." placeholder:"FILE"`
}

// Run writes a profile. Whoever has the file is signed in as its owner, so nobody else may
// read it.
func (c *profileExport) Run(w *environment) error {
	path, err := address.Profile.Path(c.Name, "")
	if err != nil {
		return usage("export a profile: %w", err)
	}
	resp, err := c.send(w.ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return fmt.Errorf("export a profile: %w", err)
	}
	defer resp.Body.Close()
	state, err := io.ReadAll(resp.Body)
	if err == nil && !json.Valid(state) {
		err = errors.New("the service sends no JSON")
	}
	if err != nil {
		return fmt.Errorf("export a profile: %w", err)
	}
	if c.Out == "" {
		_, err = w.stdout.Write(append(state, '\n'))
		return err
	}
	if err := writePrivate(c.Out, state); err != nil {
		return fmt.Errorf("export a profile: %w", err)
	}
	return c.print(w, map[string]any{"name": c.Name, "file": c.Out, "bytes": len(state)}, func(out io.Writer) {
		fmt.Fprintf(out, "The profile %s is in %s. Protect the file: it signs its readers in.\n", c.Name, c.Out)
	})
}

// writePrivate replaces a file by one that only its owner may read: the whole of it, or
// nothing.
func writePrivate(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".profile-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

type profileImport struct {
	client
	Name string `arg:"" help:"Name of the profile."`
	File string `arg:"" help:"File with the storage state as JSON, or - for the standard input."`
}

// Run stores a storage state.
func (c *profileImport) Run(w *environment) error {
	path, err := address.Profile.Path(c.Name, "")
	if err != nil {
		return usage("import a profile: %w", err)
	}
	state, err := readBounded(c.File, w.stdin, engine.MaxProfile)
	if err != nil {
		return usage("read the storage state: %w", err)
	}
	if !json.Valid(state) {
		return usage("the storage state %s is no JSON", c.File)
	}
	resp, err := c.send(w.ctx, http.MethodPut, path, "application/json", bytes.NewReader(state))
	if err != nil {
		return fmt.Errorf("import a profile: %w", err)
	}
	defer resp.Body.Close()
	var stored struct {
		Profile answer.Profile `json:"profile"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&stored); err != nil {
		return fmt.Errorf("import a profile: %w", err)
	}
	return c.print(w, stored.Profile, func(out io.Writer) {
		fmt.Fprintf(out, "Version %d of the profile %s is stored.\n", stored.Profile.Version, stored.Profile.Name)
	})
}

type profileDelete struct {
	client
	Name string `arg:"" help:"Name of the profile."`
}

// Run deletes a profile.
func (c *profileDelete) Run(w *environment) error {
	var gone struct {
		Name string `json:"name"`
	}
	path, err := address.Profile.Path(c.Name, "")
	if err != nil {
		return usage("delete a profile: %w", err)
	}
	if err := c.call(w.ctx, http.MethodDelete, path, &gone); err != nil {
		return fmt.Errorf("delete a profile: %w", err)
	}
	return c.print(w, gone, func(out io.Writer) { fmt.Fprintf(out, "The profile %s is deleted.\n", gone.Name) })
}
