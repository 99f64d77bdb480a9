package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// answer is what the measured servers answer with, as far as it is looked at.
type answer struct {
	Success                   bool
	Status, TaskID, SessionID string
	Data                      json.RawMessage
	Steps                     []step
}

// client sends requests to a side, one after the other, and counts the time
// until their answers have been read.
type client struct {
	ctx   context.Context
	http  *http.Client
	url   string // with the path of the API
	token string
	took  time.Duration // since it was last set to zero

	config string // what comes before the actions
	steps  []step // of the last answer, where it has them
}

func (c *client) post(body string) (answer, error) {
	return c.send(http.MethodPost, c.url+"/", strings.NewReader(body))
}

// poll waits for the end of an asynchronous task.
func (c *client) poll(task string) (answer, error) {
	return c.send(http.MethodGet, c.url+"/get-result?wait=60000&taskId="+task, nil)
}

// capacity is how many workers a service has, and how many of them are free.
func (c *client) capacity() (now struct{ Workers, Online int }, err error) {
	req, err := http.NewRequestWithContext(c.ctx, http.MethodGet, c.url+"/capacity", nil)
	if err != nil {
		return now, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.http.Do(req)
	if err != nil {
		return now, err
	}
	defer res.Body.Close()
	return now, json.NewDecoder(res.Body).Decode(&now)
}

func (c *client) send(method, url string, body io.Reader) (a answer, err error) {
	req, err := http.NewRequestWithContext(c.ctx, method, url, body)
	if err != nil {
		return a, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	start := time.Now()
	res, err := c.http.Do(req)
	if err != nil {
		return a, err
	}
	b, err := io.ReadAll(res.Body)
	res.Body.Close()
	c.took += time.Since(start)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(b, &a); err != nil || !a.Success {
		return a, fmt.Errorf("answered with %d: %.300s", res.StatusCode, b)
	}
	c.steps = a.Steps
	return a, nil
}

// do runs a workload once and returns how long its requests took.
func (c *client) do(w work, base string) (time.Duration, error) {
	c.took = 0
	if err := w.run(c, base); err != nil {
		return 0, fmt.Errorf("%s: %w", w.name, err)
	}
	return c.took, nil
}
