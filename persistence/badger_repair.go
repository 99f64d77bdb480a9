package persistence

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/rs/zerolog"
)

// Repair is the result of repairing a damaged store.
type Repair struct {
	// Whole: there was nothing to repair, and nothing was changed.
	Whole bool     `json:"whole"`
	Found []string `json:"found,omitempty"` // a sentence each
	// Aside is the place of the damaged store, unchanged.
	Aside string `json:"aside,omitempty"`
	// Kept and Lost count records by their kind.
	Kept map[string]int64 `json:"kept"`
	Lost map[string]int64 `json:"lost"`
	// Expired counts those whose time was over.
	Expired map[string]int64 `json:"expired,omitempty"`
	// Exact says that Lost counts all losses and everything else is current.
	// Otherwise unknown changes are lost: records may be older than they were or
	// had been deleted, and Lost is a lower bound.
	Exact bool `json:"exact"`
	// Changes are how many changes are lost, where that is known.
	Changes uint64 `json:"changes,omitempty"`
}

// reportName is the last file that is written to a repaired store before it takes
// the place of the damaged one.
const reportName = "REPAIR"

// RepairBadger makes a new store of all that can be read of a damaged one, which
// is moved aside. A repair that was interrupted is finished, or begun again; a
// store that is whole is left alone.
func RepairBadger(dir string, log zerolog.Logger) (*Repair, error) {
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	made := dir + ".repaired"
	if done, err := readReport(made); err == nil {
		return done, swap(dir, made, done, "damaged")
	}
	if err := os.RemoveAll(made); err != nil {
		return nil, fmt.Errorf("remove what an interrupted repair has left: %w", err)
	}
	_, err = check(dir)
	if err == nil {
		return &Repair{Whole: true}, nil
	}
	if !errors.Is(err, ErrDamaged) {
		return nil, err
	}
	var d *Damage
	r := &Repair{Kept: map[string]int64{}, Lost: map[string]int64{}, Expired: map[string]int64{}}
	if errors.As(err, &d) {
		r.Found = d.Found
	}
	records, err := r.recoverRecords(dir)
	if err != nil {
		return nil, denied(dir, err)
	}
	if err := rebuild(made, records, r, log); err != nil {
		return nil, fmt.Errorf("make the repaired store: %w", errors.Join(err, os.RemoveAll(made)))
	}
	return r, swap(dir, made, r, "damaged")
}

// recovered is what is read of a damaged store.
type recovered struct {
	newest map[string]version
	bound  uint64
}

// recoverRecords reads all that can be read, and counts it.
func (r *Repair) recoverRecords(dir string) (*recovered, error) {
	all := &recovered{newest: map[string]version{}}
	in, err := inspect(dir, func(v version) {
		if old, there := all.newest[v.key]; !there || v.at > old.at {
			all.newest[v.key] = v
		}
	})
	if err != nil {
		return nil, err
	}
	r.Exact = in.state != nil && in.exact()
	if in.state != nil {
		if newest := in.newest(all); in.state.Version > newest {
			r.Changes = in.state.Version - newest
		}
		all.bound = in.state.Bound
	}
	now := time.Now()
	for key, v := range all.newest {
		if key == boundKey && len(v.value) == 8 && !v.deleted {
			all.bound = max(all.bound, binary.BigEndian.Uint64(v.value))
		}
		name, ours := cutRecord(key)
		keep := ours && !v.deleted && !in.maybeOverwritten(v)
		var cur current
		if keep {
			cur, err = decode(v.value)
			all.bound = max(all.bound, cur.revision)
			if keep = err == nil; keep && expired(cur.expires, now) {
				keep = false
				r.Expired[kindOf(name)]++
			}
		}
		if !keep {
			delete(all.newest, key)
			continue
		}
		r.Kept[kindOf(name)]++
	}
	r.count(in)
	return all, nil
}

// count says what is lost: what there was and is not there now. Without the
// store's own count it is what the damaged tables say of themselves.
func (r *Repair) count(in *inspection) {
	if in.state == nil {
		for _, t := range in.tables {
			if t.all > t.read {
				r.Lost["unknown"] += int64(t.all - t.read)
			}
		}
		return
	}
	for kind, n := range in.state.Records {
		if n -= r.Kept[kind] + r.Expired[kind]; n > 0 {
			r.Lost[kind] = n
		}
	}
}

// exact reports whether the keys of all missing parts of tables are known.
func (in *inspection) exact() bool {
	last := uint64(0)
	for _, t := range in.tables {
		if t.damage != nil && t.all < 0 {
			return false
		}
		last = max(last, t.newest)
	}
	for _, l := range in.logs {
		for _, at := range l.ends {
			if at > last+1 && at-1 > in.state.Since {
				return false
			}
			last = max(last, at)
		}
	}
	_, err := manifest(in.dir)
	return err == nil && last >= in.state.Version
}

// newest is the newest version that was read.
func (in *inspection) newest(all *recovered) (newest uint64) {
	for _, v := range all.newest {
		newest = max(newest, v.at)
	}
	return max(newest, in.last)
}

// maybeOverwritten reports whether a damaged part of a table may have had a newer version
// of a record, or that it was deleted.
func (in *inspection) maybeOverwritten(v version) bool {
	for _, t := range in.tables {
		if t.lost != nil && t.all >= 0 && t.newest > v.at && t.has(v.key) {
			return true
		}
	}
	return false
}

func cutRecord(key string) (string, bool) {
	if len(key) <= len(recordPrefix) || key[:len(recordPrefix)] != recordPrefix {
		return "", false
	}
	return key[len(recordPrefix):], true
}

// rebuild writes records into a new store, and the report last.
func rebuild(dir string, all *recovered, r *Repair, log zerolog.Logger) (err error) {
	var size int64
	for key, v := range all.newest {
		size += int64(len(key) + len(v.value) + entryCost)
	}
	if err := prepareFolder(dir); err != nil {
		return err
	}
	if err := makeRoom(dir, 2*size+logRoom+openRoom); err != nil {
		return err
	}
	db, err := badger.Open(badgerOptions(dir, log))
	if err != nil {
		return err
	}
	txn := db.NewTransaction(true)
	write := func(e *badger.Entry) error {
		err := txn.SetEntry(e)
		if errors.Is(err, badger.ErrTxnTooBig) {
			if err := txn.Commit(); err != nil {
				return err
			}
			txn = db.NewTransaction(true)
			err = txn.SetEntry(e)
		}
		return err
	}
	err = write(badger.NewEntry([]byte(boundKey), binary.BigEndian.AppendUint64(nil, all.bound+revisionBlock)))
	for _, key := range slices.Sorted(maps.Keys(all.newest)) {
		if err != nil {
			break
		}
		v := all.newest[key]
		e := badger.NewEntry([]byte(key), v.value)
		e.ExpiresAt = v.expires
		err = write(e)
	}
	if err == nil {
		err = write(badger.NewEntry([]byte(lastKey), nil))
	}
	if err == nil {
		err = txn.Commit()
	}
	txn.Discard()
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	part := filepath.Join(dir, reportName+".part")
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	return errors.Join(syncFile(part), syncFile(dir), os.Rename(part, filepath.Join(dir, reportName)), syncFile(dir))
}

func readReport(dir string) (*Repair, error) {
	text, err := os.ReadFile(filepath.Join(dir, reportName))
	if err != nil {
		return nil, err
	}
	var r Repair
	return &r, json.Unmarshal(text, &r)
}

// swap puts the repaired store in the place of the damaged one. Interrupted after
// any of its steps, it goes on where it was.
func swap(dir, made string, r *Repair, what string) (err error) {
	if r.Aside, err = moveAside(dir, what); err != nil {
		return err
	}
	if r.Aside == "" { // an earlier try has done it
		all, _ := filepath.Glob(dir + ".damaged-*")
		if len(all) > 0 {
			r.Aside = slices.Max(all)
		}
	}
	if err := os.Remove(dir + ".opening"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(made, dir); err != nil {
		return fmt.Errorf("put the repaired store in its place: %w", err)
	}
	return errors.Join(os.Remove(filepath.Join(dir, reportName)), syncFile(dir), syncFile(filepath.Dir(dir)))
}
