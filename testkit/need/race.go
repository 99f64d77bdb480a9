//go:build race

package need

// Race reports whether this program looks for races, which takes many times as long.
const Race = true
