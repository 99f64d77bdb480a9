package outside_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A flow is a workflow of n8n, as far as the documents use it.
type flow struct {
	Name  string
	Nodes []struct {
		Name       string
		Parameters struct {
			Method, URL, JSONBody, JSONOutput string
			BodyParameters                    struct {
				Parameters []struct{ Name, Value string }
			}
			Options struct {
				Response struct {
					Response struct{ NeverError bool }
				}
			}
		}
	}
	Connections map[string]struct{ Main [][]struct{ Node string } }
}

var (
	expression  = regexp.MustCompile(`\{\{\s*(.*?)\s*\}\}`)
	itemsField  = regexp.MustCompile(`^JSON\.stringify\(\$json\.(\w+)\)$`)
	searchValue = "mug\n" // would break JSON that is not made with care
)

// workflow plays what the nodes of a workflow ask for, one after the other, and
// looks whether they lead to each other. What n8n itself makes of it is for
// TestRecipesInN8n.
func (r *reader) workflow(text string) error {
	var f flow
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return err
	}
	asked, names := 0, map[string]bool{}
	for _, n := range f.Nodes {
		names[n.Name] = true
		p := n.Parameters
		if p.URL == "" {
			continue
		}
		asked++
		url, err := r.filled(p.URL)
		if err == nil {
			err = r.ask(p.Method, url, p.JSONBody, p.BodyParameters.Parameters)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		if p.Options.Response.Response.NeverError { // it is there to fail
			if !strings.Contains(string(r.answer), `{"success":false,`) {
				return fmt.Errorf("%s: want a failure, not %s", n.Name, r.answer)
			}
			r.answer = nil
		}
		if err := r.finish(); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	if asked == 0 {
		return fmt.Errorf("no node of %q asks for anything", f.Name)
	}
	for from, to := range f.Connections {
		for _, way := range to.Main {
			for _, c := range way {
				if !names[from] || !names[c.Node] {
					return fmt.Errorf("%s leads to %s, and one of them is not there", from, c.Node)
				}
			}
		}
	}
	return nil
}

// ask sends what a node would send.
func (r *reader) ask(method, url, body string, fields []struct{ Name, Value string }) error {
	if !strings.HasPrefix(url, described+"/v1/") && !strings.HasPrefix(url, r.base+"/files/") {
		return fmt.Errorf("it asks %s, which is not the service", url)
	}
	if method == "GET" {
		return r.shell(`curl -sS --fail -H "Authorization: Bearer $TOKEN" '` + url + `' | tr -d '\000'`)
	}
	if body != "" {
		task, err := r.filled(body)
		if err != nil {
			return err
		}
		return r.post(task)
	}
	form := ""
	for _, f := range fields {
		part := f.Value
		if part == "" { // a binary
			part = "Where is my lamp?"
		}
		if err := os.WriteFile(filepath.Join(r.dir, f.Name+".txt"), []byte(part), 0o600); err != nil {
			return err
		}
		form += map[bool]string{true: " -F payload='<payload.txt'", false: " -F " + f.Name + "=@" + f.Name + ".txt"}[f.Name == "payload"]
	}
	return r.shell(`curl -sS --fail ` + url + ` -H "Authorization: Bearer $TOKEN"` + form)
}

// filled is a text with the values of its expressions, if it has any: what the
// documents take from items, and from the answers before.
func (r *reader) filled(text string) (string, error) {
	text, dynamic := strings.CutPrefix(text, "=")
	if !dynamic {
		return text, nil
	}
	var err error
	text = expression.ReplaceAllStringFunc(text, func(e string) string {
		e = expression.FindStringSubmatch(e)[1]
		switch {
		case itemsField.MatchString(e):
			return asJSON(searchValue)
		case e == "$json.data.url" && r.vars["FILE"] != "":
			return r.vars["FILE"]
		case strings.HasSuffix(e, ".item.json.taskId") && r.vars["TASK"] != "":
			return r.vars["TASK"]
		}
		err = fmt.Errorf("the test does not know the value of {{ %s }} here", e)
		return ""
	})
	return text, err
}
