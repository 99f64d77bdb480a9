// Package troupe holds the documents that people read, so that the binary shows
// those that it was built with.
package troupe

import "embed"

// Documents are texts in Markdown, with their pictures, by their paths from the
// root of the project.
//
//go:embed README.md CHANGELOG.md CONTRIBUTING.md AGENTS.md SECURITY.md docs
var Documents embed.FS
