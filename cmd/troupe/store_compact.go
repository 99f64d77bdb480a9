package main

import (
	"fmt"
	"io"
	"os"

	"github.com/rs/zerolog"

	"troupe/persistence"
)

type storeCompact struct{ operator }

func (c *storeCompact) Run(w *environment) error {
	dir, err := stopped(c.operator)
	if err != nil {
		return err
	}
	if _, err := os.Stat(storeIn(dir)); err != nil {
		return usage("there is no store in the data folder %s", dir)
	}
	if err := persistence.CheckCopied(storeIn(dir)); err != nil { // the new store would not tell any more
		return explained(dir, err)
	}
	n, err := persistence.CompactBadger(storeIn(dir), zerolog.Nop())
	if err != nil {
		return fmt.Errorf("compact the store: %w", explained(dir, err))
	}
	return c.print(w, n, func(out io.Writer) {
		fmt.Fprintf(out, "The store took %.1f MB and now takes %.1f MB. A start adds up to 35 MB of logs.\n", float64(n.Before)/1e6, float64(n.After)/1e6)
	})
}
