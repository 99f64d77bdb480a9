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
	Backup  storeBackup  `cmd:"" help:"Make a backup of all records and files, of the running service or of one that does not run."`
	Backups storeBackups `cmd:"" help:"List the backups of a place, and read them with --check. Changes nothing."`
	Restore storeRestore `cmd:"" help:"Restore records and files from a backup, or from a copied data folder. What is there is moved aside."`
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

// printRecovered says what a store that was made of a copy has.
func printRecovered(out io.Writer, r *persistence.Repair) {
	for _, found := range r.Found {
		fmt.Fprintln(out, "Found: "+found)
	}
	printRecords(out, r)
	if r.Changes > 0 {
		fmt.Fprintf(out, "Changes that are missing at least: %d.\n", r.Changes)
	}
	fmt.Fprintln(out, "The copy was made while a service ran: its last changes can be missing, and the kept records can be out of date. Recently removed tokens and accounts may be back: check troupe token list.")
	if r.Aside != "" {
		fmt.Fprintln(out, "What was there before is in "+r.Aside+".")
	}
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
	printRecords(out, r)
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

// printRecords counts what is kept and lost.
func printRecords(out io.Writer, r *persistence.Repair) {
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
