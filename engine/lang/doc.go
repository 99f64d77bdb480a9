// Package lang is the language of action lists, without the playing of it.
//
// A request is read in two steps. [ReadNode] turns its bytes into a tree of
// [Node]s that know their place. A [Shape] turns a node into a value of Go and
// notes what is wrong with it in a [Decoder], which goes on: a request hears of
// all its faults at once. A Shape also says what the value looks like, for the
// reference and for the JSON Schema.
//
// Values can depend on what a task has saved: a [Text] holds ${key}, a [Selector]
// also $key. They are filled in with [Values] when they are used: [Lookup] also finds what lies in one. [Compare] decides
// the conditions of the language.
package lang
