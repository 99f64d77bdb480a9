package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"troupe/engine"
)

// flowFolder is a folder with flows as files, for tasks that are played without a
// service: sign-in is in sign-in.json, and sign-in@3 in sign-in@3.json.
type flowFolder struct {
	FlowFolder string `name:"flows" help:"Folder with the stored flows that the task runs, each in a file NAME.json." placeholder:"DIR"`
}

// Flow is part of [engine.Flows].
func (f flowFolder) Flow(name string, version int) (engine.StoredFlow, error) {
	file := name
	if version > 0 {
		file = fmt.Sprintf("%s@%d", name, version)
	}
	root, err := os.OpenRoot(f.FlowFolder)
	if err != nil {
		return engine.StoredFlow{}, err
	}
	defer root.Close()
	b, err := root.ReadFile(file + ".json")
	if errors.Is(err, os.ErrNotExist) {
		err = engine.ErrNoFlow
	}
	return engine.StoredFlow{Name: name, Version: version, Source: b}, err
}

// FlowNames is part of [engine.Flows].
func (f flowFolder) FlowNames() (names []string) {
	entries, _ := os.ReadDir(f.FlowFolder) // they are for a suggestion
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && engine.IsFlowName(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// flows are those of the folder; nil without one.
func (f flowFolder) flows() engine.Flows {
	if f.FlowFolder == "" {
		return nil
	}
	return f
}
