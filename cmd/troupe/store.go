package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"troupe/persistence"
)

type storeCommands struct {
	Check   storeCheck   `cmd:"" help:"Read the whole store and report damage. Changes nothing."`
	Repair  storeRepair  `cmd:"" help:"Make a new store from the readable part of a damaged one, which is moved aside."`
	Compact storeCompact `cmd:"" help:"Give back the disk space of removed and overwritten records. The service must be stopped."`
	Backup  storeBackup  `cmd:"" help:"Write all records of the store to a file."`
	Restore storeRestore `cmd:"" help:"Restore the store from a backup. The current store is moved aside."`
}

// stopped is the data folder of a single node that does not run.
func stopped(c operator) (string, error) {
	dir, err := findData(c.Data)
	if err != nil {
		return "", usageError{err}
	}
	if serviceRuns(dir) {
		return "", usage("a service runs with the data folder %s: stop it first", dir)
	}
	if _, err := os.Stat(clusterIn(dir)); err == nil {
		return "", usage("the data folder %s is that of a node of a cluster: docs/cluster.md says what to do about a damaged one", dir)
	}
	if _, err := os.Stat(dir); err != nil {
		return "", usage("look at the data folder: %w", err)
	}
	return dir, nil
}

type storeCheck struct{ operator }

func (c *storeCheck) Run(w *environment) error {
	dir, err := stopped(c.operator)
	if err != nil {
		return err
	}
	if err := explained(dir, persistence.CheckBadger(storeIn(dir))); err != nil {
		return err
	}
	return c.print(w, map[string]bool{"whole": true}, func(out io.Writer) { fmt.Fprintln(out, "The store is intact.") })
}

type storeRepair struct{ operator }

func (c *storeRepair) Run(w *environment) error {
	dir, err := stopped(c.operator)
	if err != nil {
		return err
	}
	r, err := persistence.RepairBadger(storeIn(dir), zerolog.Nop())
	if err != nil {
		return fmt.Errorf("repair the store: %w", explained(dir, err))
	}
	return c.print(w, r, func(out io.Writer) { printRepair(out, r) })
}

func printRepair(out io.Writer, r *persistence.Repair) {
	if r.Whole {
		fmt.Fprintln(out, "The store is intact. Nothing was changed.")
		return
	}
	for _, found := range r.Found {
		fmt.Fprintln(out, "Found: "+found)
	}
	rows := [][]string{{"RECORDS", "KEPT", "LOST", "EXPIRED"}}
	kinds := map[string]bool{}
	for _, m := range []map[string]int64{r.Kept, r.Lost, r.Expired} {
		for kind := range m {
			kinds[kind] = true
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		rows = append(rows, []string{kind, fmt.Sprint(r.Kept[kind]), fmt.Sprint(r.Lost[kind]), fmt.Sprint(r.Expired[kind])})
	}
	table(out, rows)
	if !r.Exact {
		text := "Changes are lost"
		if r.Changes > 0 {
			text = fmt.Sprintf("The last %d changes are lost", r.Changes)
			if r.Changes == 1 {
				text = "The last change is lost"
			}
		}
		fmt.Fprintln(out, text+". The kept records may be out of date: recently removed tokens and accounts may be back. Check troupe token list. More may be lost than is counted here.")
	}
	fmt.Fprintln(out, "The damaged store is in "+r.Aside+".")
}

type storeBackup struct {
	operator
	File string `arg:"" help:"File to write. It must not be there yet."`
}

func (c *storeBackup) Run(w *environment) (err error) {
	dir, err := stopped(c.operator)
	if err != nil {
		return err
	}
	if _, err := os.Stat(storeIn(dir)); err != nil {
		return usage("there is no store in the data folder %s", dir)
	}
	n, err := persistence.BackupBadger(storeIn(dir), c.File)
	if err != nil {
		return fmt.Errorf("back up the store: %w", explained(dir, err))
	}
	return c.print(w, n, func(out io.Writer) {
		fmt.Fprintf(out, "%s has %s. Keep the key of the data folder elsewhere: it opens what is sealed in the backup.\n", c.File, counted(n))
	})
}

type storeRestore struct {
	operator
	File string `arg:"" help:"File that troupe store backup has written."`
}

func (c *storeRestore) Run(w *environment) error {
	dir, err := stopped(c.operator)
	if err != nil {
		return err
	}
	n, aside, err := persistence.RestoreBadger(storeIn(dir), c.File, zerolog.Nop())
	if err != nil {
		return fmt.Errorf("restore the store: %w", explained(dir, err))
	}
	return c.print(w, n, func(out io.Writer) {
		fmt.Fprintf(out, "The store has %s.\n", counted(n))
		if aside != "" {
			fmt.Fprintln(out, "The one before is in "+aside+".")
		}
	})
}

// counted says how many records there are.
func counted(n map[string]int64) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("%d %s", n[kind], kind))
	}
	if parts == nil {
		return "no records"
	}
	return "these records: " + strings.Join(parts, ", ")
}
