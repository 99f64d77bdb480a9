package main

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// runCold measures how long a process needs from its start to its first result.
func runCold(b *bench, p *part) error {
	type start struct {
		name string
		n    int
		kind kind
	}
	starts := []start{{"troupe", 1, kind{start: coldService}}, {"troupe", 2, kind{start: coldService}}, {"troupe", 8, kind{start: coldService}}, {rawClean.name, 1, rawClean}}
	if b.withPeers {
		starts = append(starts, start{"Puppeteer", 1, puppeteerWarm}, start{"Playwright", 1, playwrightWarm})
		if err := installPeers(b); err != nil {
			return err
		}
	}
	rounds, warm := 5, 1 // the first one brings the programs into memory
	if b.quick {
		rounds, warm = 1, 0
	}
	took := make([][]time.Duration, len(starts))
	for range warm + rounds {
		for i, s := range starts {
			t, err := firstResult(b, s.kind, s.n)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			took[i] = append(took[i], t)
		}
	}
	p.say("%s", origin(b))
	p.say("From the start of the process to the answer of its first task (W1), in ms: %d starts of each in turn, after %d that do not count. The data folder exists, so the service opens its store and reads its accounts.", rounds, warm)
	t := table{head: []string{"side", "workers", "p50", "most", "aim"}}
	for i, s := range starts {
		list := took[i][warm:]
		slices.Sort(list)
		verdict := ""
		if s.name == troupe.name {
			if verdict = "at most 400: met"; ms(at(list, 50)) > 400 {
				verdict = fmt.Sprintf("at most 400: missed by %.0f ms", ms(at(list, 50))-400)
			}
		}
		t.row(s.name, fmt.Sprint(s.n), fmt.Sprintf("%.0f", ms(at(list, 50))), fmt.Sprintf("%.0f", ms(list[len(list)-1])), verdict)
	}
	p.add(t)
	return nil
}

// firstResult starts a side, lets it play a task and ends it.
func firstResult(b *bench, k kind, n int) (time.Duration, error) {
	start := time.Now()
	s, err := k.start(b, n)
	if err != nil {
		return 0, err
	}
	defer s.stop()
	if !s.began.IsZero() {
		start = s.began
	}
	_, err = s.client(0).do(cold, b.site)
	return time.Since(start), err
}

// cold is W1 from a client that waits until there is a worker.
var cold = work{"W1", "", func(c *client, base string) error {
	a, err := c.post(`{"queueTimeout":30000,"actions":[{"open":"` + base + `/text"},{"getText":"#h"}]}`)
	if err != nil {
		return err
	}
	return is(`"Hello, bench"`)(c, a.Data)
}}

// coldService starts the service and returns as soon as it takes a connection.
func coldService(b *bench, n int) (*side, error) {
	dir, tokens, err := serviceData(b)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	s, err := launchService(b, dir, n, tokens)
	if err != nil {
		return nil, err
	}
	s.began = began
	addr := strings.TrimSuffix(strings.TrimPrefix(s.clients[0].url, "http://"), "/v1")
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return s, c.Close()
		}
		if time.Since(began) > 30*time.Second {
			s.stop()
			return nil, fmt.Errorf("starting the service: %w", err)
		}
		time.Sleep(time.Millisecond)
	}
}
