package persistence_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/persistence"
	"troupe/testkit/need"
)

// ledgerModel is what a ledger should say, by adding up.
type ledgerModel struct {
	kept map[string]persistence.Blob // by id
	held []*modelHold
}

type modelHold struct {
	*persistence.Hold
	account string
	bytes   int64
	files   int
}

func (m *ledgerModel) of(account string) (k persistence.Kept) {
	for _, b := range m.kept {
		if b.Account == account || account == "" {
			k.Bytes, k.Files = k.Bytes+b.Size, k.Files+1
		}
	}
	for _, h := range m.held {
		if h.account == account || account == "" {
			k.HeldBytes, k.HeldFiles = k.HeldBytes+h.bytes, k.HeldFiles+h.files
		}
	}
	return k
}

// TestLedger lets accounts reserve, keep, release, delete and expire at random,
// with the process ending now and then, and compares the counts with a model, and
// with what is on the disk.
func TestLedger(t *testing.T) {
	t.Parallel()
	const max = 60_000
	within := map[string]persistence.Allowance{"ada": {Bytes: 20_000, Files: 6}, "bob": {Bytes: 50_000, Files: 4}, "eve": {}}
	names := []string{"ada", "bob", "eve"}
	seeds := uint64(4)
	if need.AllAsked() {
		seeds = 12
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 1))
			dir, ctx := t.TempDir(), context.Background()
			now := time.Now()
			var folder *persistence.Folder
			var l *persistence.Ledger
			var files *persistence.Accounted
			m := &ledgerModel{kept: map[string]persistence.Blob{}}
			start := func() {
				var err error
				if folder, err = persistence.OpenFolder(dir); err != nil {
					t.Fatal(err)
				}
				l = persistence.NewLedger(max, nil)
				files, m.held = persistence.NewAccounted(folder, l), nil
				if err := files.Recount(ctx); err != nil {
					t.Fatal(err)
				}
			}
			start()
			defer func() { folder.Close() }()
			// allowed says what the ledger has to answer.
			allowed := func(account string, bytes int64, n int) error {
				k, all, a := m.of(account), m.of(""), within[account]
				switch {
				case a.Bytes > 0 && k.Bytes+k.HeldBytes+bytes > a.Bytes, a.Files > 0 && k.Files+k.HeldFiles+n > a.Files:
					return persistence.ErrQuota
				case all.Bytes+all.HeldBytes+bytes > max:
					return persistence.ErrFull
				case a.Bytes > 0 && k.Bytes+k.HeldBytes+bytes > max/2:
					return persistence.ErrQuota
				}
				return nil
			}
			for step := range 300 {
				account, size := names[rnd.IntN(3)], int64(rnd.IntN(12_000)+1)
				switch op := rnd.IntN(10); {
				case op < 3: // a file
					want := allowed(account, size, 1)
					b, err := files.Put(ctx, persistence.Blob{Account: account, Within: within[account], Expires: now.Add(time.Duration(rnd.IntN(100)+1) * time.Minute)}, bytes.NewReader(make([]byte, size)))
					if !errors.Is(err, want) {
						t.Fatalf("step %d: a file of %d bytes of %s: %v, want %v", step, size, account, err, want)
					}
					if err == nil {
						m.kept[b.ID] = b
					}
				case op < 5: // an upload begins
					want := allowed(account, size, 1)
					h, err := l.Hold(account, within[account], size, 1)
					if !errors.Is(err, want) {
						t.Fatalf("step %d: an upload of %d bytes of %s: %v, want %v", step, size, account, err, want)
					}
					if err == nil {
						m.held = append(m.held, &modelHold{h, account, size, 1})
					}
				case op < 7 && len(m.held) > 0: // one goes on, shrinks or ends
					i := rnd.IntN(len(m.held))
					h := m.held[i]
					switch rnd.IntN(3) {
					case 0:
						if want, err := allowed(h.account, size, 0), h.Grow(size, 0); !errors.Is(err, want) {
							t.Fatalf("step %d: %v, want %v", step, err, want)
						} else if err == nil {
							h.bytes += size
						}
					case 1:
						h.Shrink(h.bytes / 2)
						h.bytes /= 2
					case 2:
						h.Release()
						h.Release()
						m.held = append(m.held[:i], m.held[i+1:]...)
					}
				case op == 7: // a client's upload breaks off, and a reader fails
					broken := errors.New("broken")
					if _, err := files.Put(ctx, persistence.Blob{Account: account}, io.MultiReader(strings.NewReader("x"), failing{broken})); !errors.Is(err, broken) && allowed(account, 1, 1) == nil {
						t.Fatalf("step %d: %v", step, err)
					}
				case op == 8: // some expire, or one is deleted
					if rnd.IntN(2) == 0 {
						now = now.Add(time.Duration(rnd.IntN(30)) * time.Minute)
						var err error
						if rnd.IntN(2) == 0 {
							_, err = files.Sweep(ctx, now)
						} else {
							_, err = files.Expire(ctx, now)
						}
						if err != nil {
							t.Fatal(err)
						}
						for id, b := range m.kept {
							if !b.Expires.After(now) {
								delete(m.kept, id)
							}
						}
					} else {
						for id := range m.kept {
							if err := files.Delete(ctx, id); err != nil {
								t.Fatal(err)
							}
							delete(m.kept, id)
							break
						}
					}
				case rnd.IntN(8) == 0: // the process ends, with whatever was on its way
					folder.Close()
					start()
				default: // another count changes nothing
					if err := files.Recount(ctx); err != nil {
						t.Fatal(err)
					}
				}
				for _, a := range append(names, "") {
					got, want := l.Of(a), m.of(a)
					if a == "" {
						got = l.All()
					}
					if got != want {
						t.Fatalf("step %d: of %q is kept %+v, want %+v", step, a, got, want)
					}
				}
			}
			var onDisk persistence.Kept
			_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
				if strings.HasSuffix(p, ".blob") {
					info, _ := d.Info()
					onDisk.Bytes, onDisk.Files = onDisk.Bytes+info.Size(), onDisk.Files+1
				}
				return nil
			})
			if all := l.All(); onDisk.Bytes != all.Bytes || onDisk.Files != all.Files {
				t.Errorf("on the disk is %+v, counted %+v", onDisk, all)
			}
		})
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestRecountMeanwhile: what is kept and deleted while files are counted counts as
// it is in the end.
func TestRecountMeanwhile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	below := &pausing{Files: persistence.NewMemoryFiles(), listed: make(chan struct{}), on: make(chan struct{})}
	l := persistence.NewLedger(0, nil)
	files := persistence.NewAccounted(below, l)
	put := func(text string) string {
		b, err := files.Put(ctx, persistence.Blob{Account: "ada"}, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return b.ID
	}
	put("stays")
	goes := put("goes")
	// Another node has kept one of its own.
	if _, err := below.Put(ctx, persistence.Blob{Account: "ada"}, strings.NewReader("elsewhere")); err != nil {
		t.Fatal(err)
	}
	counted := make(chan error, 1)
	go func() { counted <- files.Recount(ctx) }()
	<-below.listed
	put("comes")
	if err := files.Delete(ctx, goes); err != nil {
		t.Fatal(err)
	}
	close(below.on)
	if err := <-counted; err != nil {
		t.Fatal(err)
	}
	if got := l.Of("ada"); got != (persistence.Kept{Bytes: int64(len("stays" + "elsewhere" + "comes")), Files: 3}) {
		t.Errorf("it keeps %+v", got)
	}
}

// pausing are files that wait after they were listed.
type pausing struct {
	persistence.Files
	listed, on chan struct{}
}

func (p *pausing) All(ctx context.Context) iter.Seq2[persistence.Blob, error] {
	return func(yield func(persistence.Blob, error) bool) {
		var all []persistence.Blob
		for b, err := range p.Files.(persistence.Lister).All(ctx) {
			if err == nil {
				all = append(all, b)
			}
		}
		close(p.listed)
		<-p.on
		for _, b := range all {
			if !yield(b, nil) {
				return
			}
		}
	}
}

// TestLedgerLeavesTheDiskItsShare: what the disk may not take is refused for all,
// and no account gets more than half of the room.
func TestLedgerLeavesTheDiskItsShare(t *testing.T) {
	t.Parallel()
	free, known := int64(1000), true
	l := persistence.NewLedger(0, func() (int64, bool) { return free, known })
	wide := persistence.Allowance{Bytes: 1 << 40}
	if got := l.Bound(wide).Bytes; got != 500 {
		t.Errorf("an account may keep %d bytes", got)
	}
	if _, err := l.Hold("ada", wide, 501, 0); !errors.Is(err, persistence.ErrQuota) {
		t.Errorf("more than half: %v", err)
	}
	h, err := l.Hold("ada", wide, 500, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Hold("ada", wide, 1, 0); !errors.Is(err, persistence.ErrQuota) {
		t.Errorf("one more: %v", err)
	}
	if _, err := l.Hold("bob", wide, 400, 0); err != nil {
		t.Errorf("another account beside one at its limit: %v", err)
	}
	if _, err := l.Hold("eve", wide, 101, 0); !errors.Is(err, persistence.ErrFull) {
		t.Errorf("more than there is: %v", err)
	}
	h.Release()
	free = -5
	if _, err := l.Hold("eve", wide, 1, 0); !errors.Is(err, persistence.ErrFull) {
		t.Errorf("into the share: %v", err)
	}
	known = false
	if _, err := l.Hold("eve", wide, 1<<30, 0); err != nil {
		t.Errorf("where nothing is known of the disk: %v", err)
	}
	var none *persistence.Ledger
	held, err := none.Hold("ada", wide, 1, 1)
	held.Release()
	if err != nil || held.Grow(1, 1) != nil || none.Full("ada", wide) != nil {
		t.Error("without a ledger something is refused")
	}
}
