package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// An exampleLine is a command line, and what it is for.
type exampleLine struct{ does, line string }

// examples are those of the commands by their names. A test parses each. The help and the pages
// of the manual show them.
var examples = map[string][]exampleLine{
	"": {
		{"Start a service on this machine", "troupe serve"},
		{"Sign in to a service", "troupe login https://troupe.example.org"},
		{"Run a task file", "troupe run task.json --out pictures"},
	},
	"login": {
		{"Type or paste the token when asked", "troupe login https://troupe.example.org"},
		{"Take it from a file, and name the context", "troupe login https://troupe.example.org --name work < token.txt"},
	},
	"context":        {{"See where commands go", "troupe context list"}, {"Send them elsewhere", "troupe context use work"}},
	"context use":    {{"Send commands to another service", "troupe context use work"}},
	"context remove": {{"Forget a service", "troupe context remove work"}},
	"usage":          {{"Ask another service once", "troupe usage --context work"}, {"Sum up the runs of a month", "troupe usage --from 2026-11-01 --to 2026-12-01 --by label"}},
	"run": {
		{"Run a file, with its pictures in a folder", "troupe run task.json --out pictures"},
		{"Run in a session", "troupe run task.json --session sess_5d03047dd2de650c941a96bd73b9a0fb"},
		{"Start it and go", "troupe run task.json --detach"},
		{"Use a browser of this machine", "troupe run task.json --local"},
	},
	"validate":     {{"Check a file", "troupe validate task.json"}},
	"task":         {{"Find a task that failed", "troupe task list"}, {"See why", "troupe task show task_5c49f9d7f0a20751_1795449031"}},
	"task list":    {{"List what waits in the queue", "troupe task list --status queued"}, {"List queued tasks that failed for good", "troupe task list --status dead"}},
	"task show":    {{"See why a task failed", "troupe task show task_5c49f9d7f0a20751_1795449031"}},
	"task watch":   {{"Follow a task, and keep its pictures", "troupe task watch task_5c49f9d7f0a20751_1795449031 --out pictures"}},
	"runs":         {{"Find a run that failed", "troupe runs list --state failed"}, {"Run it again", "troupe runs again task_5c49f9d7f0a20751_1795449031"}},
	"runs list":    {{"Search in the runs of a day", "troupe runs list --search 'price lamps' --from 2026-11-29 --to 2026-11-30"}, {"Keep all that failed in a table", "troupe runs list --state failed --limit 10000 --csv"}},
	"runs show":    {{"See how a run ended, with its request", "troupe runs show task_5c49f9d7f0a20751_1795449031 --json"}},
	"runs again":   {{"Run it again as it was", "troupe runs again task_5c49f9d7f0a20751_1795449031"}, {"Change fields, and do not wait", "troupe runs again task_5c49f9d7f0a20751_1795449031 changes.json --detach"}},
	"runs delete":  {{"Delete a run", "troupe runs delete task_5c49f9d7f0a20751_1795449031"}},
	"session open": {{"Keep a browser for ten unused minutes", "troupe session open --label shop --timeout 10m"}},
	"session":      {{"Open a session", "troupe session open"}, {"Close it", "troupe session close sess_5d03047dd2de650c941a96bd73b9a0fb"}},
	"batch":        {{"Run a task for each line of a table", "troupe batch run task.json items.csv --out results.ndjson"}},
	"batch run":    {{"Run a task for each line of a table", "troupe batch run task.json items.csv --out results.ndjson"}},
	"schedule":     {{"Run a task on workdays at nine", "troupe schedule create task.json --cron '0 9 * * 1-5' --time-zone Europe/Berlin"}},
	"flow":         {{"Store a flow", "troupe flow put sign-in sign-in.json"}, {"Run it", "troupe flow run sign-in --with user=ada"}},
	"flow put":     {{"Store a flow", "troupe flow put sign-in sign-in.json"}, {"Store it for an account, as the operator", "troupe flow put sign-in sign-in.json --account ada"}},
	"flow run":     {{"Run a flow with parameters", "troupe flow run sign-in --with user=ada --with times:=3"}},
	"profile":      {{"Take a profile to another service", "troupe profile export shop-ada --out state.json"}},
	"notice":       {{"See what receivers were told", "troupe notice list"}},
	"notice list":  {{"See what waits to be sent", "troupe notice list --status waiting"}},
	"endpoint":     {{"Tell a receiver of tasks that fail", "troupe endpoint add https://example.org/hook --event failed"}},
	"endpoint add": {{"Tell a receiver of tasks that fail", "troupe endpoint add https://example.org/hook --event failed"}},
	"serve":        {{"Run four workers", "troupe serve --workers 4"}},
	"mcp":          {{"Let a model use a service", "troupe mcp --url https://troupe.example.org"}},
	"schedule create": {
		{"Run a task every quarter of an hour", "troupe schedule create task.json --every 15m"},
		{"Run a task on workdays at nine", "troupe schedule create task.json --cron '0 9 * * 1-5' --time-zone Europe/Berlin"},
	},
	"account create": {{"Create an account", "troupe account create ada --plan standard"}},
	"token create":   {{"Make a token", "troupe token create --account ada"}, {"Make one at a service, with an operator's token", "troupe token create --account ada --context work"}},
	"secret set":     {{"Store a password", "troupe secret set shop-password --account ada --origin https://shop.example < password.txt"}},
	"completion":     {{"Complete in this bash", ". <(troupe completion bash)"}},
}

// commandName is token create for troupe token create, and empty for troupe.
func commandName(n *kong.Node) string {
	if n.Parent == nil {
		return ""
	}
	return strings.TrimSpace(commandName(n.Parent) + " " + n.Name)
}

// addExamples puts the examples into the help.
func addExamples(k *kong.Kong) error {
	return kong.Visit(k.Model.Node, func(v kong.Visitable, next kong.Next) error {
		n, ok := v.(*kong.Node)
		if app, is := v.(*kong.Application); is {
			n, ok = app.Node, true
		}
		if ok && len(examples[commandName(n)]) > 0 {
			text := "Examples:\n\n"
			for _, e := range examples[commandName(n)] {
				text += "    # " + e.does + "\n    " + e.line + "\n\n"
			}
			n.Detail = strings.TrimSpace(n.Detail + "\n\n" + strings.TrimSuffix(text, "\n"))
		}
		return next(nil)
	})
}
