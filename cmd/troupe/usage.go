package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"troupe/http/address"
	"troupe/http/answer"
)

// usageSums are what the runs of an account come to.
type usageSums struct {
	By         string           `json:"by"`
	Usage      []answer.SumsRow `json:"usage"`
	Total      answer.Sums      `json:"total"`
	Unreadable []string         `json:"unreadable"`
}

// overTime shows the sums of the account's runs.
func (c *usageCommand) overTime(w *environment) error {
	const doing = "show the sums of runs"
	if c.JSON && c.CSV {
		return usage("give either --json or --csv")
	}
	q := url.Values{"by": {cmp.Or(c.By, "day")}}
	for name, value := range map[string]string{"from": c.From, "to": c.To} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if c.CSV {
		q.Set("format", "csv")
		resp, err := c.send(w.ctx, http.MethodGet, address.Fixed("/v1/usage").With(q), "", nil)
		if err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(w.stdout, resp.Body); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		return nil
	}
	var raw json.RawMessage
	if err := c.call(w.ctx, http.MethodGet, address.Fixed("/v1/usage").With(q), &raw); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	var of usageSums
	if err := json.Unmarshal(raw, &of); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return c.print(w, raw, func(out io.Writer) {
		rows := [][]string{{strings.ToUpper(of.By), "RUNS", "FAILED", "STEPS", "BROWSER SECONDS", "RESULT BYTES", "ATTEMPTS"}}
		for _, r := range of.Usage {
			rows = append(rows, sumsRow(plain(rowName(r)), r.Sums))
		}
		table(out, append(rows, sumsRow("all", of.Total)))
		if len(of.Unreadable) > 0 {
			fmt.Fprintf(out, "The service's key does not open: %s\n", strings.Join(of.Unreadable, ", "))
		}
	})
}

// rowName is how a row is called.
func rowName(r answer.SumsRow) string {
	name := r.Day
	for _, s := range []*string{r.Label, r.Token} {
		if s != nil {
			name = cmp.Or(*s, "-")
		}
	}
	if r.Other {
		name = "others"
	}
	return name
}

func sumsRow(name string, s answer.Sums) []string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	return []string{name, n(s.Runs), n(s.Failed), n(s.Ended), strconv.FormatFloat(s.Browser, 'f', 1, 64), n(s.Bytes), n(s.Attempts)}
}
