package attach

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// FileSign begins what stands for a file that the client has given to the session.
const FileSign = "troupe-file:"

// ErrNoFile is the error of a name that no file of the session has.
var ErrNoFile = errors.New("the session has no such file")

const giveNote = "`files` are names as `troupe-file:NAME`, of files that the client has given to the session. No other path passes"

// maxFiles is how many files one command may name.
const maxFiles = 100

// fileInputs puts the files of the session in the place of their names.
func fileInputs(r *relay, c *command) error {
	if err := c.read(); err != nil {
		return err
	}
	paths, err := r.given("files", c.params["files"])
	if err != nil || paths == nil {
		return err
	}
	return c.set("files", paths)
}

// dragged does so for files that are dragged into a page.
func dragged(r *relay, c *command) error {
	if err := c.read(); err != nil {
		return err
	}
	v := c.params["data"]
	if v == nil {
		return nil
	}
	var data map[string]jsontext.Value
	if err := json.Unmarshal(v, &data, lenient); err != nil {
		return errors.New("data must be an object, with files as an array of texts")
	}
	paths, err := r.given("data.files", data["files"])
	if err != nil || paths == nil {
		return err
	}
	b, err := json.Marshal(paths)
	if err != nil {
		return fmt.Errorf("set data.files: %w", err)
	}
	data["files"] = b
	return c.set("data", data)
}

// given finds the files that a parameter names; nil: it names none.
func (r *relay) given(name string, v jsontext.Value) ([]string, error) {
	if v == nil || v.Kind() == 'n' {
		return nil, nil
	}
	var files []string
	if err := json.Unmarshal(v, &files, lenient); err != nil {
		return nil, fmt.Errorf("%s must be an array of texts", name)
	}
	if len(files) > maxFiles {
		return nil, fmt.Errorf("%s has %d files: name at most %d", name, len(files), maxFiles)
	}
	var paths []string
	for _, f := range files {
		// Clients make a path of their own machine of what is none.
		own, ok := strings.CutPrefix(f[strings.LastIndexAny(f, `/\`)+1:], FileSign)
		if !ok || own == "" {
			return nil, fmt.Errorf("%s: paths would be those of the service's machine: give the file to the session (POST /v1/sessions/{sessionId}/files) and name it as %sNAME, or send its bytes (Playwright: setInputFiles({name, mimeType, buffer}))", name, FileSign)
		}
		path, err := r.browser.File(own)
		switch {
		case errors.Is(err, ErrNoFile):
			return nil, fmt.Errorf("the session has no file %q: GET /v1/sessions/{sessionId}/files lists those that it has", short(own))
		case err != nil:
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
