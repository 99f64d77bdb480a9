package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"troupe/engine"
	"troupe/http/address"
)

// steps shows the steps of a task as they end, until it has ended. Whoever waits for the task
// has its result from elsewhere: what cannot be shown is no failure.
func (c *connection) steps(ctx context.Context, id string, shown *progress) {
	path, err := address.Task.Path(id, "/events")
	if err != nil {
		return
	}
	for last := ""; ; {
		over, err := c.events(ctx, path, &last, shown)
		if over || err != nil && !passing(err) || !pause(ctx, time.Second) {
			return
		}
	}
}

// events reads one stream. It reports whether the task has ended.
func (c *connection) events(ctx context.Context, path address.Path, last *string, shown *progress) (over bool, err error) {
	var headers []string
	if *last != "" {
		headers = []string{"Last-Event-ID", *last}
	}
	resp, err := c.send(ctx, http.MethodGet, path, "", nil, headers...)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	const longestEvent = 64 << 20
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, longestEvent)
	name := ""
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case field == "event":
			name = value
		case field == "id":
			*last = value
		case field == "data" && name == "step":
			var s engine.StepReport
			if json.Unmarshal([]byte(value), &s) == nil {
				shown.step(s)
			}
		case field == "data" && name == "end":
			return true, nil
		}
	}
	return false, lines.Err()
}
