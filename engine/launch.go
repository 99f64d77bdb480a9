package engine

import (
	"context"
	"io"

	"troupe/engine/browser"
)

// Launch starts a browser with one clean context.
func (e *Chromium) Launch(ctx context.Context, worker string) (Instance, error) {
	o := e.Options
	o.Log = e.Log.With().Str("worker", worker).Logger()
	in := &instance{engine: e, egress: e.Egress}
	if e.out != nil {
		door, err := e.out.Open()
		if err != nil {
			return nil, err
		}
		in.door = door
		if in.egress == nil {
			in.egress = func(ctx context.Context, url string, limit int64, may func(string) error) (string, io.ReadCloser, error) {
				return fetch(ctx, following(door.Client(), may), url, limit)
			}
		}
	}
	var err error
	if name := e.group(worker); name != "" {
		err = in.launchShared(ctx, name, o)
	} else {
		err = in.launch(ctx, o)
	}
	if err != nil {
		if in.door != nil {
			in.door.Close()
		}
		return nil, err
	}
	return in, nil
}

func (e *Chromium) group(worker string) string {
	if e.Group == nil {
		return ""
	}
	return e.Group(worker)
}

// launch starts a browser of the worker's own, all of whose traffic goes through
// the worker's door.
func (in *instance) launch(ctx context.Context, o browser.Options) error {
	if in.door != nil {
		o.Proxy = in.door.Addr()
	}
	b, err := browser.Launch(ctx, o)
	if err != nil {
		return err
	}
	c, err := in.newContext(ctx, b)
	if err == nil {
		err = c.Warm(ctx, false)
	}
	if err != nil {
		b.Close()
		return err
	}
	o.Log.Debug().Int("pid", b.PID()).Msg("browser started")
	in.browser, in.tabs = b, c
	return nil
}
