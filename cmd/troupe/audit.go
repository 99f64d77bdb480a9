package main

import (
	"fmt"
	"io"
	"strings"

	"troupe/http/admin"
	"troupe/persistence"
)

type auditCommand struct {
	operator
	Limit   int    `default:"100" help:"How many at most. Default: 100."`
	Account string `help:"Only what this account did, or what was done to it."`
}

func (c *auditCommand) Run(w *environment) error {
	if c.Limit < 1 || c.Limit > 10_000 {
		return usage("--limit is %d: want 1 to 10000", c.Limit)
	}
	all, _, err := execute(w, c.operator, false, admin.ListAudit{Limit: c.Limit, Account: c.Account})
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	return c.print(w, all, func(out io.Writer) {
		rows := [][]string{{"TIME", "COMMAND", "ABOUT", "BY", "FROM", "RESULT"}}
		for _, a := range all {
			result := a.Result
			if a.Detail != "" {
				result += ": " + a.Detail
			}
			rows = append(rows, []string{a.At.Local().Format("2006-01-02 15:04:05"), a.Command, a.About, issuer(a.By), a.From, result})
		}
		table(out, rows)
	})
}

// issuer says who ran a command, or issued a token.
func issuer(by persistence.Issuer) string {
	if by.Via != persistence.ViaHTTP {
		return by.Via
	}
	return strings.TrimSpace(by.Account + " " + by.Token)
}
