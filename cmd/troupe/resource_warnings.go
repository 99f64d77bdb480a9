package main

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/scarce"
	"troupe/http/telemetry"
)

// When the log warns of what ends soon. The alert rules in deploy/prometheus have
// the same numbers.
const (
	diskLeast       = 1 << 30 // bytes free
	diskLeastPart   = 20      // or one in so many
	certificateSoon = 14 * 24 * time.Hour
	certificateLast = 3 * 24 * time.Hour
)

// machine looks at the disk of the data folder and at the certificate.
func (s *service) machine() (m telemetry.Machine) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(s.data, &disk); err == nil {
		m.DiskFree, m.DiskSize = int64(disk.Bavail)*int64(disk.Bsize), int64(disk.Blocks)*int64(disk.Bsize)
	}
	if s.certificate != nil {
		m.Certificate = s.certificate.Expires()
	}
	return m
}

// warnOfLimits warns while the disk fills up or the certificate is about to end: when
// that begins, and then once a day. The returned function ends it.
func (s *service) warnOfLimits(every time.Duration) func() error {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		var w warnings
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			w.check(s.machine(), time.Now(), s.log)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() error { cancel(); <-done; return nil }
}

// watchUsedUp has the log say what is used up, and looks every few seconds whether a file can
// still be opened: a service that nobody connects to has nothing else that would fail.
func (s *service) watchUsedUp(every time.Duration) func() error {
	scarce.Process.Tell(func(what scarce.What, doing string, number int64, err error) {
		s.log.Error().Err(err).Str("what", string(what)).Str("doing", doing).Int64("times", number).Msg(usedUp[what])
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			f, err := os.Open(os.DevNull)
			if scarce.Note("open a file", err) == nil {
				_ = f.Close()
			}
		}
	}()
	return func() error {
		cancel()
		<-done
		scarce.Process.Tell(nil)
		return nil
	}
}

// usedUp are the texts of the log, with what can be done.
var usedUp = map[scarce.What]string{
	scarce.Descriptors: "no more files and connections can be opened: raise LimitNOFILE= of the unit, docker run --ulimit nofile=… or ulimit -n, or lower --max-connections",
	scarce.Processes:   "no more processes and threads can be started: raise TasksMax= of the unit, docker run --pids-limit or ulimit -u, or lower --workers",
	scarce.Memory:      "the system gives no more memory: give the service more, or lower --workers",
}

// warnings remembers what the log already says.
type warnings struct{ disk, certificate warned }

// warned is how bad the last warning was, and when it was given.
type warned struct {
	level int
	at    time.Time
}

// again reports whether to warn, once for each level and once a day.
func (w *warned) again(level int, now time.Time) bool {
	if level == 0 || level <= w.level && now.Sub(w.at) < 24*time.Hour {
		w.level = level
		return false
	}
	w.level, w.at = level, now
	return true
}

func (w *warnings) check(m telemetry.Machine, now time.Time, log zerolog.Logger) {
	level := 0
	if m.DiskSize > 0 && (m.DiskFree < diskLeast || m.DiskFree < m.DiskSize/diskLeastPart) {
		level = 1
	}
	if w.disk.again(level, now) {
		log.Warn().Int64("free", m.DiskFree).Int64("size", m.DiskSize).Msg("the disk of the data folder is filling up: with less than 64 MiB free, nothing is written")
	}
	level = 0
	left := m.Certificate.Sub(now)
	switch {
	case m.Certificate.IsZero() || left > certificateSoon:
	case left > certificateLast:
		level = 1
	case left > 0:
		level = 2
	default:
		level = 3
	}
	if w.certificate.again(level, now) {
		text := "the certificate expires soon: replace its files; the service reads them again by itself"
		if level == 3 {
			text = "the certificate has expired: clients refuse to connect"
		}
		log.Warn().Time("until", m.Certificate).Msg(text)
	}
}
