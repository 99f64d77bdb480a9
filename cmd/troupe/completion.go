package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// completions ask the program itself what may follow, so that the flags are written once. A
// shell completes names of files where the program has nothing to offer.
var completions = map[string]string{
	"bash": `# Completion of troupe for bash: . <(troupe completion bash)
_troupe() {
	local word
	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		COMPREPLY+=("$word")
	done < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _troupe troupe
`,
	"zsh": `#compdef troupe
# Completion of troupe for zsh: . <(troupe completion zsh), after compinit
_troupe() {
	local line
	local -a offered
	for line in "${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		[[ -n $line ]] && offered+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	if (( $#offered )); then _describe troupe offered; else _files; fi
}
if [[ $funcstack[1] == _troupe ]]; then _troupe "$@"; else compdef _troupe troupe; fi
`,
	"fish": `# Completion of troupe for fish: troupe completion fish | source
function __troupe_complete
	set -l words (commandline -opc) (commandline -ct)
	set -l offered ($words[1] __complete -- $words[2..-1] 2>/dev/null)
	if test (count $offered) -gt 0
		printf '%s\n' $offered
	else
		__fish_complete_path (commandline -ct)
	end
end
complete -c troupe -f -a '(__troupe_complete)'
`,
}

func (c completionCommand) Run(w *environment) error {
	_, err := fmt.Fprint(w.stdout, completions[c.Shell])
	return err
}

// completeCommand answers the scripts of [completions]: a line for each word that may stand
// for the last one, with its help after a tab.
type completeCommand struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

func (c completeCommand) Run(w *environment, line *kong.Context) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, o := range offered(line.Model.Node, words) {
		if _, err := fmt.Fprintf(w.stdout, "%s\t%s\n", o.word, o.help); err != nil {
			return err
		}
	}
	return nil
}

// An offer is a word that may stand where a shell completes.
type offer struct{ word, help string }

// offered are the words that may stand for the last of words. None: perhaps the name of a
// file.
func offered(root *kong.Node, words []string) (all []offer) {
	words, prefix := joined(words)
	last, node, ended := "", root, false
	var waits *kong.Flag // for its value
	for i, word := range words {
		if i == len(words)-1 {
			last = word
			break
		}
		switch {
		case waits != nil:
			waits = nil
		case ended:
		case word == "--":
			ended = true
		case strings.HasPrefix(word, "-"):
			if f := flagOf(node, word); f != nil && !f.IsBool() && !f.IsCounter() && !strings.Contains(word, "=") {
				waits = f
			}
		default:
			if c := childOf(node, word); c != nil {
				node = c
			}
		}
	}
	add := func(word, help string) {
		if strings.HasPrefix(prefix+word, last) {
			help, _, _ = strings.Cut(strings.ReplaceAll(help, "\t", " "), "\n")
			all = append(all, offer{word, help})
		}
	}
	name, _, valued := strings.Cut(last, "=")
	switch f := flagOf(node, name); {
	case waits != nil:
		for _, v := range values(waits) {
			add(v, waits.Help)
		}
	case ended:
	case strings.HasPrefix(last, "-") && valued:
		if f != nil {
			if prefix == "" {
				name += "="
			} else { // the shell has cut the word there, and replaces only what follows
				name = ""
			}
			for _, v := range values(f) {
				add(name+v, f.Help)
			}
		}
	case strings.HasPrefix(last, "-"):
		for _, f := range flagsOf(node) {
			add("--"+f.Name, f.Help)
			if f.Tag.Negatable != "" {
				add("--no-"+f.Name, f.Help)
			}
		}
	default:
		for _, c := range node.Children {
			if !c.Hidden {
				add(c.Name, c.Help)
			}
		}
		for _, p := range node.Positional {
			for _, v := range slices.Sorted(slices.Values(choices(p.Enum))) {
				add(v, p.Help)
			}
		}
	}
	return all
}

// joined puts a flag and its value together that a shell has cut at the =, as bash does.
// Prefix is then what stands before the value.
func joined(words []string) (whole []string, prefix string) {
	for i := 0; i < len(words); i++ {
		word := words[i]
		if strings.HasPrefix(word, "--") && i+1 < len(words) && words[i+1] == "=" {
			value := ""
			if i+2 < len(words) {
				value = words[i+2]
			}
			if i+2 >= len(words)-1 {
				prefix = word + "="
			}
			whole, i = append(whole, word+"="+value), i+2
			continue
		}
		whole = append(whole, word)
	}
	return whole, prefix
}

func childOf(n *kong.Node, name string) *kong.Node {
	for _, c := range n.Children {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return c
		}
	}
	return nil
}

// flagsOf are the flags that may follow a command: its own and those above it.
func flagsOf(n *kong.Node) (all []*kong.Flag) {
	for _, group := range n.AllFlags(true) {
		all = append(all, group...)
	}
	return all
}

func flagOf(n *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	for _, f := range flagsOf(n) {
		if f.Name == name || f.Tag.Negatable != "" && "no-"+f.Name == name {
			return f
		}
	}
	return nil
}

// values are what a flag may be set to, where that is a list.
func values(f *kong.Flag) []string {
	if f.IsBool() {
		return []string{"true", "false"}
	}
	return choices(f.Enum)
}

func choices(enum string) (all []string) {
	for v := range strings.SplitSeq(enum, ",") {
		if v = strings.TrimSpace(v); v != "" {
			all = append(all, v)
		}
	}
	return all
}
