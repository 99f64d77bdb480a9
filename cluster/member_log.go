package cluster

import (
	"fmt"

	"github.com/rs/zerolog"
)

// engineLog gives the engine's words to our log. What it notices in passing is
// of use to nobody but those who look for a fault.
type engineLog struct{ log zerolog.Logger }

func (l engineLog) Noticef(f string, a ...any) { l.say(l.log.Debug(), f, a) }
func (l engineLog) Warnf(f string, a ...any)   { l.say(l.log.Warn(), f, a) }
func (l engineLog) Fatalf(f string, a ...any)  { l.say(l.log.Error(), f, a) }
func (l engineLog) Errorf(f string, a ...any)  { l.say(l.log.Error(), f, a) }
func (l engineLog) Debugf(f string, a ...any)  { l.say(l.log.Trace(), f, a) }
func (l engineLog) Tracef(string, ...any)      {}

func (engineLog) say(e *zerolog.Event, f string, a []any) {
	if e.Enabled() {
		e.Str("from", "nats").Msg(fmt.Sprintf(f, a...))
	}
}
