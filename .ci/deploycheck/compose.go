package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
)

// checkCompose loads a project as Docker Compose does, and looks for the files
// that it names.
func checkCompose(ctx context.Context, name string) error {
	o, err := cli.NewProjectOptions([]string{name}, cli.WithInterpolation(true), cli.WithNormalization(true), cli.WithConsistency(true))
	if err != nil {
		return err
	}
	p, err := o.LoadProject(ctx)
	if err != nil {
		return fmt.Errorf("load %s: %w", name, err)
	}
	made := func(path string) bool { // by who starts it, as the guide says
		rel, err := filepath.Rel(p.WorkingDir, path)
		return err == nil && (rel == "secret" || rel == "tls")
	}
	need := func(what, path string) error {
		if _, err := os.Stat(path); err != nil && !made(path) {
			return fmt.Errorf("%s: %s: %w", name, what, err)
		}
		return nil
	}
	for _, s := range p.Secrets {
		if err := need("a secret", s.File); err != nil {
			return err
		}
	}
	for _, s := range p.Services {
		if s.Build != nil {
			if err := need(s.Name, filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
				return err
			}
		}
		for _, v := range s.Volumes {
			if v.Type == "bind" {
				if err := need(s.Name, v.Source); err != nil {
					return err
				}
			}
		}
		for _, o := range s.SecurityOpt {
			if profile, ok := strings.CutPrefix(o, "seccomp="); ok {
				if err := need(s.Name, filepath.Join(p.WorkingDir, profile)); err != nil {
					return err
				}
			}
		}
	}
	if len(p.Services) == 0 {
		return fmt.Errorf("%s has no services", name)
	}
	return nil
}
