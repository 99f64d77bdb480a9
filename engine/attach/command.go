package attach

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Texts of pages may have halves of characters. Names may not come twice: which of two counts is
// read differently by the browser and by us.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true))

// command is what a client has sent.
type command struct {
	ID      int64          `json:"id"`
	Session string         `json:"sessionId"`
	Method  string         `json:"method"`
	Params  jsontext.Value `json:"params"`

	session *session
	params  map[string]jsontext.Value // read when a check needs them
	changed bool
	result  any // that answers it in the place of the browser; nil: the browser does
}

// errMessage is the error of a message that is no command.
var errMessage = errors.New("a message must be an object with id, method, params and sessionId, each at most once")

func parse(b []byte) (*command, error) {
	c := new(command)
	if err := json.Unmarshal(b, c, lenient, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w: %w", errMessage, err)
	}
	if c.Method == "" || len(c.Params) > 0 && c.Params.Kind() != '{' && c.Params.Kind() != 'n' {
		return c, errMessage
	}
	if c.Params.Kind() == 'n' {
		c.Params = nil
	}
	return c, nil
}

// read reads the parameters.
func (c *command) read() error {
	if c.params != nil {
		return nil
	}
	c.params = map[string]jsontext.Value{}
	if len(c.Params) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.Params, &c.params, lenient); err != nil {
		return fmt.Errorf("params are not an object in JSON: %w", err)
	}
	return nil
}

// allows refuses parameters that are not named.
func (c *command) allows(names string) error {
	if err := c.read(); err != nil || names == "" {
		return err
	}
	all := strings.Fields(names)
	var others []string
	for name := range c.params {
		if !slices.Contains(all, name) {
			others = append(others, strconv.Quote(short(name)))
		}
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	return fmt.Errorf("the parameter %s is not open to clients: leave it out", strings.Join(others[:min(len(others), 10)], " or "))
}

// text is a parameter that is a text.
func (c *command) text(name string) (s string, there bool, err error) {
	if err := c.read(); err != nil {
		return "", false, err
	}
	v, there := c.params[name]
	if !there {
		return "", false, nil
	}
	if err := json.Unmarshal(v, &s, lenient); err != nil || v.Kind() != '"' {
		return "", true, fmt.Errorf("%s must be a text", name)
	}
	return s, true, nil
}

// yes is a parameter that is true or false.
func (c *command) yes(name string) (bool, error) {
	if err := c.read(); err != nil {
		return false, err
	}
	switch v := c.params[name]; {
	case v == nil || string(v) == "false":
		return false, nil
	case string(v) == "true":
		return true, nil
	}
	return false, fmt.Errorf("%s must be true or false", name)
}

// set sets a parameter.
func (c *command) set(name string, v any) error {
	if err := c.read(); err != nil {
		return err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	c.params[name], c.changed = b, true
	return nil
}

// encoded is the parameters as they go to the browser.
func (c *command) encoded() ([]byte, error) {
	if !c.changed {
		return c.Params, nil
	}
	b, err := json.Marshal(c.params, json.Deterministic(true), lenient)
	if err != nil {
		return nil, fmt.Errorf("encode the parameters: %w", err)
	}
	return b, nil
}
