// Package doctor looks at everything that the service needs of its machine, and
// says what to do where something is missing.
//
// Each check is a [Finding]: what was seen, whether it is Good, and advice where it
// is not. Nothing is changed, and the service may run meanwhile.
package doctor
