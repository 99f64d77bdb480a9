package engine

import "troupe/engine/lang"

var _ = define(Action[struct{}]{
	Name: "getPage", Group: "Data extraction",
	Doc: "Returns what the page says of itself: its address, title, description, canonical address, language, JSON-LD and Open Graph properties. What it does not say is null. " +
		"Addresses are absolute. A property that is there several times is an array. JSON-LD that is no JSON is left out, with a warning.",
	Value: lang.Shape[struct{}]{
		Words: "{}", Schema: `{"type":"object","additionalProperties":false}`,
		Read: func(d *lang.Decoder, n *lang.Node) (v struct{}) {
			d.ReadObject(n, "getPage")
			return v
		},
	},
	Result:  "`{url, title, description, canonical, language, openGraph, jsonLd}`",
	Example: `{"getPage":{}}`,
	Read:    func(r *Run, s *Step, _ struct{}) (Call, error) { return Call{Fn: "facts"}, nil },
})
