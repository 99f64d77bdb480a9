// Package documents makes pages of the project's documents: Markdown becomes
// HTML, links between files become links between pages, and each page has its
// place in a group.
//
// It does not serve pages. Its pages have no scripts, no style, and no HTML from the
// documents.
package documents
