// Package documents makes pages of the project's documents: Markdown becomes
// HTML, links between files become links between pages, and each page has its
// place in a group.
//
// It knows nothing of how pages are served. What it makes holds no scripts, no
// style and no HTML that the documents bring along.
package documents
