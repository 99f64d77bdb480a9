package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
	"troupe/persistence/backup"
	"troupe/persistence/clock"
)

// remembered is a store in memory that can show what it has at one moment.
type remembered struct{ persistence.Store }

func (r remembered) Snapshot(ctx context.Context) (persistence.Snapshot, error) {
	all, err := r.List(ctx, "")
	slices.SortFunc(all, func(a, b persistence.Record) int { return strings.Compare(a.Key, b.Key) })
	return moment(all), err
}

type moment []persistence.Record

func (m moment) Revision() (n uint64) {
	for _, r := range m {
		n = max(n, r.Revision)
	}
	return n
}

func (m moment) Each(_ context.Context, each func(persistence.Record) error) error {
	for _, r := range m {
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

func (moment) Close() {}

// keepers are nodes that share a store and a place for its backups.
type keepers struct {
	t      *testing.T
	store  remembered
	at     backup.Folder
	mu     sync.Mutex
	wall   clock.Clock
	broken error // why the place cannot be reached
	tries  []time.Time
	log    bytes.Buffer
}

func (k *keepers) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.Write(b)
}

func (k *keepers) breaks(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.broken = err
}

// node begins one, with the schedule of all.
func (k *keepers) node(ctx context.Context, name string) *backup.Keeper {
	k.t.Helper()
	to := backup.Where{Name: "there", Open: func(context.Context) (backup.Place, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.tries = append(k.tries, time.Now())
		return k.at, k.broken
	}}
	files := persistence.NewMemoryFiles()
	source := &backup.Source{Store: k.store, Files: files.(interface {
		persistence.Files
		persistence.Lister
	}), Seal: newSeal(k.t, 1), Node: name, Version: "test", Clock: &k.wall, Log: zerolog.New(k)}
	keeper := backup.NewKeeper(source, &backup.Schedule{To: to, Every: time.Hour, Keep: 3})
	go keeper.Run(ctx)
	return keeper
}

func (k *keepers) made() (names []string) {
	k.t.Helper()
	l, err := backup.List(ctx, k.at, "")
	if err != nil {
		k.t.Fatal(err)
	}
	for _, of := range l.Stores {
		for _, m := range of {
			names = append(names, m.Name)
		}
	}
	return names
}

func (k *keepers) tried() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.tries)
}

func (k *keepers) change(i int) {
	k.t.Helper()
	if _, err := k.store.Put(ctx, persistence.Write{Key: "task/new", Value: fmt.Append(nil, i)}); err != nil {
		k.t.Fatal(err)
	}
}

func withKeepers(t *testing.T, f func(k *keepers, ctx context.Context)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		k := &keepers{t: t, store: remembered{persistence.NewMemory()}, at: backup.Folder(dir)}
		f(k, ctx)
		cancel()
		synctest.Wait()
	})
}

// TestBackupsByThemselves: of several nodes one makes a backup at once, and one in each
// interval; as many stay as are to be kept, and those that these need.
func TestBackupsByThemselves(t *testing.T) {
	t.Parallel()
	withKeepers(t, func(k *keepers, ctx context.Context) {
		first, second := k.node(ctx, "n1"), k.node(ctx, "n2")
		time.Sleep(time.Minute)
		for hour := 1; hour <= 24; hour++ {
			if n := k.tried(); n != hour {
				t.Fatalf("in the hour %d backups were made: %d", hour, n)
			}
			k.change(hour)
			time.Sleep(time.Hour)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if names := k.made(); len(names) < 3 || len(names) > 3+7 {
			t.Errorf("there are %v, and 3 are to be kept with those that they need", names)
		}
		for _, n := range []backup.Numbers{first.Numbers(), second.Numbers()} {
			if age := time.Since(n.Last); age > time.Hour+time.Minute || n.Failed || n.Every != time.Hour {
				t.Errorf("the last one is %v old: %+v", age, n)
			}
		}
	})
}

// TestAFailedBackupIsTriedAgain: a place that cannot be reached is a line in the log and a
// number each time. It is tried again soon, then less often, and as usual when it is there.
func TestAFailedBackupIsTriedAgain(t *testing.T) {
	t.Parallel()
	withKeepers(t, func(k *keepers, ctx context.Context) {
		k.breaks(errors.New("the bucket is gone"))
		n := k.node(ctx, "n1")
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		tries := k.tried() // at once, and after 1, 2, 4 and 8 minutes more
		if got := n.Numbers(); tries != 5 || !got.Failed || got.Failures != int64(tries) || !got.Last.IsZero() {
			t.Errorf("after %d tries: %+v", tries, got)
		}
		k.mu.Lock()
		said := k.log.String()
		k.mu.Unlock()
		if strings.Count(said, "a backup failed") != tries || !strings.Contains(said, "the bucket is gone") {
			t.Errorf("the log: %s", said)
		}
		k.breaks(nil)
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if got := n.Numbers(); got.Failed || got.Last.IsZero() || len(k.made()) != 1 {
			t.Errorf("when the place is there: %+v, %v", got, k.made())
		}
	})
}

// TestABackupIsTakenOver: a node that ended while it made one says nothing any more. After
// two minutes another node makes it, and the place has only whole ones.
func TestABackupIsTakenOver(t *testing.T) {
	t.Parallel()
	withKeepers(t, func(k *keepers, ctx context.Context) {
		began, thawed := make(chan struct{}), make(chan struct{})
		dead := backup.NewKeeper(&backup.Source{Store: k.store, Seal: newSeal(t, 1), Node: "n1", Version: "test", Log: zerolog.Nop()}, nil)
		killed, kill := context.WithCancelCause(ctx)
		go func() {
			_, err := dead.Make(killed, backup.Where{Name: "there", Open: func(ctx context.Context) (backup.Place, error) {
				close(began)
				<-thawed
				return nil, context.Cause(ctx)
			}}, false)
			if err == nil {
				t.Error("the one that was taken over has made a backup")
			}
		}()
		<-began
		kill(nil)
		n := k.node(ctx, "n2")
		time.Sleep(time.Minute)
		synctest.Wait()
		if made := k.made(); len(made) > 0 {
			t.Errorf("beside one that is being made there are %v", made)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if made := k.made(); len(made) != 1 || n.Numbers().Last.IsZero() {
			t.Errorf("after three minutes there are %v: %+v", made, n.Numbers())
		}
		close(thawed)
		synctest.Wait()
		if made := k.made(); len(made) != 1 {
			t.Errorf("when it goes on there are %v", made)
		}
	})
}

// TestBackupsClockSteps: a backup is made within 15 s of the time at which the clock shows that
// it is due, whatever is done to the clock, and one put back delays none by more than the
// interval.
func TestBackupsClockSteps(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		ahead, want time.Duration // of the clock, ten minutes after the first; of the second backup after that
	}{
		"none":    {0, 50 * time.Minute},
		"forward": {24 * time.Hour, 0},
		"nearer":  {30 * time.Minute, 20 * time.Minute},
		"back":    {-72 * time.Hour, 50 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			withKeepers(t, func(k *keepers, ctx context.Context) {
				k.node(ctx, "n1")
				time.Sleep(10 * time.Minute)
				if n := k.tried(); n != 1 {
					k.t.Fatalf("%d backups at first", n)
				}
				k.change(1)
				k.wall.Set(one.ahead)
				stepped := time.Now()
				time.Sleep(2*time.Hour - time.Minute)
				k.mu.Lock()
				defer k.mu.Unlock()
				if len(k.tries) < 2 {
					k.t.Fatalf("no second backup")
				}
				if took := k.tries[1].Sub(stepped); took < one.want-15*time.Second || took > one.want+30*time.Second {
					k.t.Errorf("the second backup came %s after the clock was set, want %s", took, one.want)
				}
			})
		})
	}
}
