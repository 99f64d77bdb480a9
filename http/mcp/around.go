package mcp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"troupe/engine"
	"troupe/engine/lang"
)

// around is the config that a model may choose: what pages find around them. What a
// person bounds is not among it. The API checks the values.
type around map[string]json.RawMessage

func (a around) check() error {
	names := engine.SurroundingNames()
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if !slices.Contains(names, name) {
			return wrongArgument("There is no %q in config: want %s%s", lang.Short(name, 60), strings.Join(names, ", "), lang.DidYouMean(name, names))
		}
	}
	return nil
}

// within is the config of a task under a policy, with what pages find around them.
func (a around) within(config map[string]any) map[string]any {
	for name, value := range a {
		config[name] = value
	}
	return config
}

// configHelp is under which name the tool actions explains it.
const configHelp = "config"

func helpConfig() string {
	return "config of run and session: what pages find around them. In a session it stays until a later config says otherwise.\n" + engine.HelpSurroundings()
}
