package engine

import (
	"context"
	"errors"

	"troupe/engine/lang"
)

var _ = define(Action[lang.Selector]{
	Name: "selectText", Group: "Interaction",
	Doc:     "Selects the text of an element, as dragging over it does: of a field its value, of anything else what is written in it. With `text` it selects the first place with that text. In fields and editors, `type` and `paste` then replace it.",
	Value:   lang.SelectorShape,
	Opts:    []Opt{opt("text", lang.NonEmptyShape("text"), "The part to select. Default: all of it.")},
	Example: `{"selectText":"h1"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Selector) (Result, error) {
		arg := map[string]any{}
		if part, ok := s.Options.own["text"].(lang.Text); ok {
			text, err := part.Expand(r.cache)
			if err != nil {
				return nil, err
			}
			arg["text"] = text
		}
		// A frame's process tells the main page a little later that something in it has the focus.
		err := r.page.focusTold(ctx, v, func() error {
			var is struct {
				Takes bool `json:"takes"` // what is typed
			}
			err := r.page.ask(ctx, s, "selectText", v, arg, &is)
			if err == nil && !is.Takes {
				err = errNoField
			}
			return err
		})
		if errors.Is(err, errNoField) {
			err = nil
		}
		r.page.input = sentAct // editors get the event in a task of its own
		return nil, err
	},
})

// errNoField says that what is selected is not in a field: nothing has got the focus.
var errNoField = errors.New("selected where nothing is typed")
