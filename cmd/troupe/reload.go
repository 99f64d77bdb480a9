package main

import (
	"os"
	"os/signal"
	"syscall"

	"troupe/engine"
)

// hangups keeps SIGHUP from ending the process, where it does not mean that.
func hangups(news bool) (got chan os.Signal, forget func()) {
	got = make(chan os.Signal, 1)
	if news {
		signal.Notify(got, syscall.SIGHUP)
	}
	return got, func() { signal.Stop(got) }
}

// reloadAt reads the configuration again at each SIGHUP. The returned function ends
// that.
func (s *service) reloadAt(got <-chan os.Signal) (end func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-got:
				s.reload()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// reload takes over the plans and proxies as the configuration file has them now. One that
// is wrong changes nothing. Certificates need no word: they are looked at anyway.
func (s *service) reload() {
	file, err := readConfig(s.Config)
	var proxies map[string]engine.NamedProxy
	if err == nil {
		proxies, err = namedProxies(file.proxies, false)
	}
	if err != nil {
		s.log.Error().Err(err).Str("file", s.Config).Msg("the configuration cannot be read: the plans stay as they are, and so do the proxies")
		return
	}
	limits := file.limits
	s.namedProxies.Set(proxies)
	s.node.SetLimits(limits)
	s.edge.SetLimits(limits)
	s.plans.Store(&limits)
	var changed []string
	for _, plan := range engine.Plans {
		if limits[plan] != s.limits[plan] {
			changed = append(changed, string(plan))
		}
	}
	s.limits = limits
	s.log.Info().Strs("changed", changed).Msg("the configuration was read again")
}
