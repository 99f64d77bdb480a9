package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// togetherLasts is how long the attacks go on together.
const togetherLasts = 60 * time.Second

// runTogether measures the attacks that have the service read, keep or parse much, from three
// accounts at once, while a fourth one runs tasks. The service lives if it stays below the
// memory of a small machine, and the fourth account notices nothing.
func runTogether(b *bench, p *part) error {
	hostile := hostileSite()
	defer hostile.Close()
	dir, tokens, err := serviceDataOf(b, "bench", "second", "third", "fourth")
	if err != nil {
		return err
	}
	bounds := "Nothing bounds its memory but itself"
	f, unbounded := newFence(1<<30, 3<<30)
	if unbounded == nil {
		defer func() { _ = f.remove() }()
		around := *b
		around.fence = f
		folder, err := around.folder()
		if err != nil {
			return err
		}
		if around.browser, err = f.browser(b.browser, folder); err != nil {
			return err
		}
		b = &around
		bounds = "Control groups of the kernel bound the memory of its process to 1 GiB, and of it and its two browsers to 3 GiB"
	} else {
		fmt.Fprintf(os.Stderr, "memory is sampled, and not bounded: %v\n", unbounded)
	}
	all := make([]*attacker, len(readAttacks))
	start := func(lasts time.Duration) (*side, func(), error) {
		s, err := launchService(b, dir, 2, tokens)
		if err == nil {
			if err = ready(s); err != nil {
				s.stop()
			}
		}
		if err != nil {
			return nil, nil, err
		}
		ctx, cancel := context.WithTimeout(b.ctx, lasts)
		for i, a := range all {
			if a == nil {
				a = &attacker{site: hostile.URL}
				all[i] = a
			}
			a.ctx, a.client = ctx, s.client(i%3)
			a.addr = strings.TrimSuffix(strings.TrimPrefix(a.client.url, "http://"), "/v1")
		}
		return s, func() { cancel(); s.stop() }, nil
	}
	for _, one := range readAttacks {
		if one.before != nil { // of the first account
			if err := one.before(b.service, dir); err != nil {
				return err
			}
		}
	}
	_, stop, err := start(5 * time.Minute)
	if err != nil {
		return err
	}
	for i, one := range readAttacks {
		if one.prepare == nil {
			continue
		}
		if err := one.prepare(all[i]); err != nil {
			stop()
			return fmt.Errorf("preparing %q: %w", one.name, err)
		}
	}
	stop()

	s, stop, err := start(togetherLasts)
	if err != nil {
		return err
	}
	defer stop()
	var attacking, others sync.WaitGroup
	for i, one := range readAttacks {
		attacking.Go(func() {
			for all[i].ctx.Err() == nil {
				_ = one.play(all[i])
				select { // what is refused at once is tried again at once, but not in a tight loop
				case <-time.After(50 * time.Millisecond):
				case <-all[i].ctx.Done():
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { attacking.Wait(); close(over) }()
	tasks, failed, slowest, why := 0, 0, time.Duration(0), ""
	others.Go(func() {
		fourth := &client{ctx: b.ctx, http: &http.Client{Timeout: 2 * time.Minute}, url: s.client(0).url, token: tokens[3]}
		for going := true; going; {
			select {
			case <-over:
				going = false
			default:
			}
			began := time.Now()
			a, err := fourth.post(fmt.Sprintf(`{"queueTimeout":60000,"timeout":60000,"actions":[{"open":"%s/text"},{"getText":"h1"}]}`, hostile.URL))
			slowest = max(slowest, time.Since(began))
			if tasks++; err != nil || string(a.Data) != `"text"` {
				failed++
				why = fmt.Sprint(err, " ", string(a.Data))
			}
		}
	})
	own, together, bounded := 0.0, 0.0, 0.0
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for going := true; going; {
		select {
		case <-over:
			going = false
		case <-look.C:
		}
		own, together = max(own, memoryOf(s.pid)), max(together, memory(s.pid))
		if f != nil {
			bounded = max(bounded, f.inUse())
		}
	}
	others.Wait()
	ended := 0
	if f != nil {
		if ended, err = f.ended(); err != nil {
			return fmt.Errorf("counting what was ended for its memory: %w", err)
		}
	}
	if _, err := s.client(0).capacity(); err != nil {
		return fmt.Errorf("the service has not lived through it (%.0f MB, %d processes ended for their memory): %w", own, ended, err)
	}
	p.say("%s", origin(b))
	p.say("All attacks on what is read, kept and parsed go on together for %v, from three accounts with the plan Pro, while a fourth one runs tasks of two actions. Two workers, default settings. %s. Memory is the highest PSS.", togetherLasts, bounds)
	t := table{head: []string{"service alone, MB", "without what it maps of files, MB", "with its browsers, MB", "processes ended for their memory", "tasks of the fourth account", "of them failed", "the slowest, s"}}
	t.row(fmt.Sprintf("%.0f", own), fmt.Sprintf("%.0f", bounded), fmt.Sprintf("%.0f", together), fmt.Sprint(ended), fmt.Sprint(tasks), fmt.Sprint(failed), fmt.Sprintf("%.1f", slowest.Seconds()))
	p.add(t)
	if ended > 0 {
		return fmt.Errorf("the kernel ended %d processes for their memory", ended)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d tasks of another account failed: %s", failed, tasks, why)
	}
	return nil
}
