package engine

import (
	"slices"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// placeOf is the way to the frame that a step looks in. A reference of a snapshot knows
// where it is.
func (pc *pageCalls) placeOf(s *Step, target any) ([]browser.Part, error) {
	if t, ok := target.(lang.Target); ok && lang.IsReference(t.Root()) {
		return pc.run.refs.way(t.Root(), pc.run.tabs.Current())
	} else if place, ok := pc.found[t.Root()]; ok && t.Root() != "" {
		return place, nil
	}
	return pc.way(pc.frames(s, target))
}

// frames are those that a step looks in: its own, or those of the loop. An element that
// was saved is where it was found.
func (pc *pageCalls) frames(s *Step, target any) []lang.Frame {
	frames := s.Options.Frame
	if frames == nil {
		frames = pc.frame
	}
	if t, ok := target.(lang.Target); ok && t.Root() != "" {
		if in, ok := pc.saved[t.Root()]; ok {
			return in
		}
	}
	return frames
}

// way is the frames of a step as the page script takes them.
func (pc *pageCalls) way(frames []lang.Frame) ([]browser.Part, error) {
	var place []browser.Part
	for i, f := range frames {
		pattern, byURL, err := f.Address(pc.run.cache)
		if err != nil {
			return nil, err
		}
		if byURL {
			matches, err := pc.address(pattern)
			if err != nil {
				return nil, err
			}
			place = append(place, browser.Part{As: lang.Short(pattern, 200), ByURL: true, URL: matches})
			continue
		}
		t, err := f.Target(pc.run.cache)
		if err != nil {
			return nil, err
		}
		if err := pc.owns(t); err != nil {
			return nil, err
		}
		if i == 0 && lang.IsReference(t.Root()) {
			if place, err = pc.run.refs.way(t.Root(), pc.run.tabs.Current()); err != nil {
				return nil, err
			}
			place = slices.Clone(place)
		}
		if in := pc.saved[t.Root()]; i == 0 && t.Root() != "" && len(in) > 0 {
			if place, err = pc.way(in); err != nil {
				return nil, err
			}
		}
		place = append(place, browser.Part{Kind: t.Kind, Sel: t.Sel, Ref: t.Ref, As: t.As})
	}
	return place, nil
}

// nextFrames are the frames by address of the steps that follow, for the document at
// hand. One whose address is not known yet is left out.
func (pc *pageCalls) nextFrames() (next []browser.Part) {
	for i := range pc.run.rest[:min(maxNext, len(pc.run.rest))] {
		frames := pc.run.rest[i].Options.Frame
		if len(frames) == 0 {
			continue
		}
		if _, byURL, err := frames[0].Address(pc.run.cache); err != nil || !byURL {
			continue
		}
		if place, err := pc.way(frames[:1]); err == nil {
			next = append(next, place...)
		}
	}
	return next
}

// address is what matches the address of a frame. The patterns of a task are bounded
// together, and each counts once.
func (pc *pageCalls) address(pattern string) (func(string) bool, error) {
	if matches := pc.urls[pattern]; matches != nil {
		return matches, nil
	}
	matches, err := pc.run.captures.matching.pattern(pattern, true)
	if err != nil {
		return nil, err
	}
	if pc.urls == nil {
		pc.urls = map[string]func(string) bool{}
	}
	pc.urls[pattern] = matches
	return matches, nil
}

// keeps remembers in which frames the element is that a step has saved.
func (pc *pageCalls) keeps(s *Step) {
	if pc.saved == nil {
		pc.saved = map[string][]lang.Frame{}
	}
	key := pc.run.cache.ElementKey(s.Options.Save)
	pc.saved[key] = pc.frames(s, nil)
	delete(pc.found, key)
	if sel, ok := s.value.(lang.Selector); ok {
		if ref, _ := sel.Reference(); ref != "" {
			if pc.found == nil {
				pc.found = map[string][]browser.Part{}
			}
			pc.found[key] = pc.place
		}
	}
}
