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
		"Programs go by `code`; `error` is a sentence for people and may say more than the one here. `retryable` says that the same request may be sent again as it is. " +
		"`Retry-After` is there where the table names a time, with a better one where it is known.\n\n" +
		"A task that was played and did not end well is a `200`: the request itself was carried out. The codes of failed actions stand in `code` of a list that was stopped, and in `errors` of one that went on.\n\n" +
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
