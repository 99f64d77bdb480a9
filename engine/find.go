package engine

import "troupe/engine/lang"

var _ = define(Action[lang.Selector]{
	Name: "find", Group: "Finding elements",
	Doc:     "Waits until an element is in the document. With `save`, later actions of this task can use it as `$key` while it stays in the document.",
	Value:   lang.SelectorShape,
	Finds:   true,
	Example: `{"find":".products","options":{"save":"list"}}`,
	Read: func(r *Run, s *Step, v lang.Selector) (Call, error) {
		return r.page.find("find", v, r.saveElement(s))
	},
})

// saveElement is what the page script needs to keep the element it finds.
func (r *Run) saveElement(s *Step) map[string]any {
	if s.Options.Save == "" {
		return nil
	}
	return map[string]any{"as": r.cache.ElementKey(s.Options.Save)}
}
