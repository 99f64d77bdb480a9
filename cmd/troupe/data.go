package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/rs/zerolog"

	"troupe/persistence"
)

// dataError is an error of the data that a service has: it does not start with it,
// and certainly not with an empty store in its place.
type dataError struct {
	error
	advice string // what can be done, in lines
}

func (e dataError) Unwrap() error { return e.error }

// resets give up what cannot be used, as flags.
type resets struct {
	Store bool `help:"Move the store aside and start with an empty one, without accounts and tokens. A node of a cluster fetches its copy from the others. For one start only." env:"-"`
	Key   bool `help:"Create a new sealing key. All that was sealed is lost: secrets, profiles, schedules, batches, queued tasks, saved sessions, notices. For one start only." env:"-"`
}

// store moves the store aside where that is wanted.
func (r resets) store(s *service) error {
	if !r.Store {
		return nil
	}
	moved, err := persistence.SetAside(storeIn(s.data))
	if err != nil {
		return fmt.Errorf("set the store aside: %w", err)
	}
	s.log.Warn().Str("moved", moved).Msg("the service starts with an empty store because of --reset-store; remove that flag")
	return nil
}

// copy moves a node's copy aside where that is wanted: the others have it, too.
func (r resets) copy(s *service) error {
	if !r.Store {
		return nil
	}
	moved, err := persistence.SetAside(clusterIn(s.data))
	if err != nil {
		return fmt.Errorf("set the node's copy aside: %w", err)
	}
	s.log.Warn().Str("moved", moved).Msg("the node starts with an empty copy because of --reset-store, and fetches it from the others; remove that flag")
	return nil
}

// key makes a new key where that is wanted.
func (r resets) key(s *service) error {
	if !r.Key {
		return nil
	}
	aside, err := persistence.NewKey(context.Background(), keyIn(s.data), s.store)
	if err != nil {
		return fmt.Errorf("make a new sealing key: %w", err)
	}
	s.log.Warn().Str("old", aside).Msg("a new sealing key was created because of --reset-key: values sealed with the old one are lost; remove that flag")
	return nil
}

// openDisk opens the store of a data folder. The returned function closes it.
func openDisk(data string, log zerolog.Logger) (*persistence.Badger, func() error, error) {
	if err := persistence.CheckCopied(storeIn(data)); err != nil {
		return nil, nil, explained(data, err)
	}
	b, err := persistence.OpenBadger(storeIn(data), persistence.Options{Log: log})
	if err != nil {
		return nil, nil, explained(data, err)
	}
	if err := unfinishedRestore(data, b); err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	end, err := used(storeIn(data), b.Close, log)
	return b, end, err
}

// used marks a folder as in use. The returned function closes what uses it.
func used(dir string, closes func() error, log zerolog.Logger) (func() error, error) {
	ended, err := persistence.MarkRunning(dir)
	if errors.Is(err, persistence.ErrFull) || errors.Is(err, persistence.ErrUnwritable) {
		log.Warn().Err(err).Msg("a copy of the data folder could not be told from the original")
		return closes, nil
	}
	if err != nil {
		return nil, errors.Join(err, closes())
	}
	return func() error {
		if err := closes(); err != nil {
			return err // what it could not write down is missing in a copy, too
		}
		return ended()
	}, nil
}

// openKey opens the key of a data folder's store.
func openKey(data string, store persistence.Store) (*persistence.Seal, error) {
	seal, err := persistence.OpenSealOf(context.Background(), keyIn(data), store)
	return seal, explained(data, err)
}

// damagedCopy adds what can be done about a node's copy that is damaged.
func damagedCopy(data string, err error) error {
	at := quote(data)
	text := "Nothing was changed. The other nodes have their own copies. You can do one of two things:\n"
	text += "  troupe serve --reset-store --data " + at + " …\n      moves the damaged copy aside and fetches it from the others; keep all other flags as before\n"
	text += "  troupe serve --cluster-damaged --data " + at + " …\n      only when no node has an intact copy: starts with what can be read, and does not report what is lost\n"
	return dataError{fmt.Errorf("join the cluster: %w", err), text}
}

// explained adds what can be done about data that cannot be used.
func explained(data string, err error) error {
	at := quote(data)
	switch {
	case errors.Is(err, persistence.ErrCopy):
		text := "Nothing was changed. You can do one of three things:\n"
		text += "  troupe store restore PLACE --data " + at + "\n      restores a backup in its place\n"
		text += "  troupe store restore " + at + " --data DIR\n      makes a new data folder of what can be read in the copy, and reports what is missing (of a single node)\n"
		text += "  troupe serve --accept-copy --data " + at + " …\n      starts with the copy: the last changes, and files that records name, can be missing or out of date\n"
		return dataError{err, text}
	case errors.Is(err, persistence.ErrDamaged):
		text := "Nothing was changed. You can do one of three things:\n"
		text += "  troupe store repair --data " + at + "\n      keeps what can be read, reports what is lost, and moves the damaged store aside\n"
		text += "  troupe store restore PLACE --data " + at + "\n      restores a backup in its place\n"
		text += "  troupe serve --reset-store --data " + at + "\n      starts with an empty store, without accounts and tokens\n"
		return dataError{err, text}
	case errors.Is(err, persistence.ErrNewer):
		return dataError{err, "Nothing was changed. Install that version again, or restore a backup of this one: troupe store restore PLACE --data " + at + "\n"}
	case errors.Is(err, persistence.ErrNoKey), errors.Is(err, persistence.ErrOtherKey):
		return dataError{err, "Nothing was changed. Put the key of this store back as " + quote(keyIn(data)) + ". If it is gone,\n" +
			"  troupe serve --reset-key --data " + at + "\n      creates a new one. All that was sealed is lost: secrets, profiles, saved sessions, schedules,\n      batches, queued tasks, notices, endpoints and the secrets that sign notices\n"}
	case errors.Is(err, os.ErrPermission):
		return dataError{err, "Run it as the user who owns the files, or change their owner: chown -R USER " + at + "\n"}
	}
	return err
}
