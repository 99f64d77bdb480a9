// Package mcp is the service for programs that decide by a language model, in the
// Model Context Protocol: a few tools over the API under /v1.
//
// A tool call becomes requests of that API, which go out through an
// [net/http.RoundTripper]: into the same process for the service's own /mcp, and over
// the network for troupe mcp. So a tool can do what its token can, and no more.
//
// Pages are not to be trusted by a model. Whatever comes from one stands between marks
// that no page can write (marks.go), and a policy of the person who connects the model
// bounds what its lists may do (policy.go).
package mcp
