package http

import (
	"fmt"
	"strings"
	"time"

	"troupe/http/answer"
)

// Reference is the table of codes as Markdown, made from the table that the
// answers are made from.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Errors\n\n" +
		"<!-- Generated from the table of codes by `make generate`. -->\n\n" +
		"Let programs read `code`. `error` is a sentence for people and may say more than the one here. If `retryable` is true, you may send the same request again unchanged. " +
		"`Retry-After` is present where the table names a time; the service sends a better time if it knows one.\n\n" +
		"A task that ran and failed is a `200`: the request itself was carried out. The codes of failed actions are in `code` of a stopped list, and in `errors` of a list that continued.\n\n" +
		"| code | status | retryable | Retry-After | meaning |\n|---|---|---|---|---|\n")
	for _, c := range answer.Codes() {
		retry, after := "no", ""
		if c.Retryable {
			retry = "yes"
		}
		if c.After > 0 {
			after = fmt.Sprintf("%d s", c.After/time.Second)
		}
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s | %s |\n", c.Code, c.Status, retry, after, strings.ReplaceAll(c.Text, "|", "\\|"))
	}
	return b.String()
}
