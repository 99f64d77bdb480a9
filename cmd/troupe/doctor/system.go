package doctor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"troupe/engine"
	"troupe/persistence"
)

// judgeShared reports on shared memory. A flag makes browsers work without it: containers
// usually have 64 MiB, and a page that needs more is killed.
func judgeShared(bytes uint64, ok bool) Finding {
	f := Finding{Check: "shared memory", Verdict: Good, Found: "this system has no /dev/shm; browsers do not need it"}
	if ok {
		f.Found = "/dev/shm has " + size(bytes) + "; browsers do not need it, they keep what they share in files of their own folder"
	}
	return f
}

// judgePids compares how many threads may be started with what the browsers
// need: threads is what one was seen with, or 0. Pages of many sites have more
// processes than the one that was tried.
func judgePids(left int64, limited bool, workers, threads int) Finding {
	f := Finding{Check: "pids", Verdict: Good, Found: "no limit"}
	if !limited {
		return f
	}
	if threads == 0 {
		threads = 100
	}
	need := int64(workers) * int64(threads)
	f.Found = fmt.Sprintf("%d more processes and threads can be started; %d %s about %d with one simple page each", left, workers, engine.Plural(workers, "browser needs", "browsers need"), need)
	const advice = "raise it (docker run --pids-limit, TasksMax= of a systemd unit, ulimit -u), or start fewer browsers with --workers"
	switch {
	case left < need:
		f.Verdict, f.Advice = Problem, advice
	case left < 3*need:
		f.Verdict, f.Advice = Warning, "pages with frames of many sites have several times as many: "+advice
	}
	return f
}

// descriptorsEach is what one browser and its task need of this process: pipes,
// connections of the proxy to and from it, files.
const descriptorsEach = 100

func judgeDescriptors(limit uint64, connections, workers int) Finding {
	need := uint64(connections) + uint64(workers)*descriptorsEach + 256
	f := Finding{Check: "descriptors", Verdict: Good, Found: fmt.Sprintf("%d can be open, %d are needed for %d %s and %d %s", limit, need,
		connections, engine.Plural(connections, "connection", "connections"), workers, engine.Plural(workers, "browser", "browsers"))}
	const advice = "raise the limit (LimitNOFILE= of a systemd unit, docker run --ulimit nofile=…, ulimit -n), or lower --max-connections"
	switch {
	case limit < uint64(workers)*descriptorsEach+256:
		f.Verdict, f.Advice = Problem, advice
	case limit < need:
		f.Verdict, f.Advice = Warning, advice
	}
	return f
}

// reading is what is known of the clock.
type reading struct {
	now    time.Time
	built  time.Time // when this program's source was committed; zero: not known
	synced bool
	known  bool // whether synced means anything
}

func clock() reading {
	r := reading{now: time.Now()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" {
				r.built, _ = time.Parse(time.RFC3339, s.Value)
			}
		}
	}
	r.synced, r.known = clockSynced()
	return r
}

func judgeClock(r reading) Finding {
	f := Finding{Check: "clock", Verdict: Good, Found: r.now.UTC().Format(time.RFC3339)}
	const advice = "set the clock and keep it right (timedatectl set-ntp true, chrony): daily counts, expiry of files and certificates go by it"
	switch {
	case !r.built.IsZero() && r.now.Before(r.built):
		f.Verdict, f.Found, f.Advice = Problem, f.Found+", which is before this program was built", advice
	case r.known && !r.synced:
		f.Verdict, f.Found, f.Advice = Warning, f.Found+", and nothing keeps it right", advice
	case r.known:
		f.Found += ", kept right by the system"
	}
	return f
}

// volume is what is left of a file system.
type volume struct {
	free, inodes uint64
	err          error
}

func space(dir string) volume {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return volume{err: err}
	}
	v := volume{free: s.Bavail * uint64(s.Bsize), inodes: s.Ffree}
	if s.Files == 0 { // it has no such limit
		v.inodes = 1 << 62
	}
	return v
}

const someSpace = 1 << 30

func judgeDisk(dir string, v volume) Finding {
	f := Finding{Check: "disk", Verdict: Good}
	if v.err != nil {
		f.Verdict, f.Found, f.Advice = Problem, fmt.Sprintf("%s cannot be checked: %v", dir, v.err), "name another data folder with --data"
		return f
	}
	f.Found = size(v.free) + " are free for " + dir
	const advice = "make room, or name a data folder elsewhere with --data; pictures and downloads go after --file-ttl"
	switch {
	case v.free < uint64(persistence.LeastFree(dir)) || v.inodes < 100:
		f.Verdict, f.Advice = Problem, "nothing can be written: "+advice
	case v.free < someSpace || v.inodes < 10_000:
		f.Verdict, f.Advice = Warning, advice
	}
	if v.inodes < 10_000 {
		f.Found += fmt.Sprintf(", and %d %s", v.inodes, engine.Plural(v.inodes, "file", "files"))
	}
	return f
}

func examinePort(listen string, running bool) Finding {
	f := Finding{Check: "port", Verdict: Good, Found: listen + " is free"}
	ln, err := net.Listen("tcp", listen)
	switch {
	case err == nil:
		_ = ln.Close()
	case errors.Is(err, syscall.EADDRINUSE) && running:
		f.Found = listen + " is used by the running service"
	case errors.Is(err, syscall.EADDRINUSE):
		f.Verdict, f.Found, f.Advice = Problem, listen+" is used by another program", "stop that program, or choose another address with --listen"
	case errors.Is(err, syscall.EACCES):
		f.Verdict, f.Found, f.Advice = Problem, listen+" is for privileged users", "choose a port above 1023 with --listen, or give the right (AmbientCapabilities=CAP_NET_BIND_SERVICE)"
	default:
		f.Verdict, f.Found, f.Advice = Problem, err.Error(), "choose an address of this machine with --listen"
	}
	return f
}

// examineStore looks at what is there and changes nothing.
func examineStore(data, store string, running bool) Finding {
	f := Finding{Check: "store", Verdict: Good, Found: store + " is whole"}
	_, err := os.Stat(store)
	if _, was := os.Stat(store + ".lock"); errors.Is(err, os.ErrNotExist) && was == nil && !running {
		if gone := persistence.CheckBadger(store); gone != nil { // there was one
			err = gone
		}
	}
	switch {
	case running:
		f.Found = "the service runs and has it open"
		return f
	case errors.Is(err, os.ErrNotExist):
		f.Found = "there is none yet; the first start makes it in " + data
		if err := writable(existing(data)); err != nil {
			f.Verdict, f.Found, f.Advice = Problem, err.Error(), "make the folder for the service's user, or name another one with --data"
		}
		return f
	case err == nil:
		err = persistence.CheckBadger(store)
	}
	switch {
	case errors.Is(err, persistence.ErrInUse):
		f.Verdict, f.Found, f.Advice = Problem, "another process has it open, and no service answers", "end that process, or wait until it has ended"
	case errors.Is(err, os.ErrPermission):
		f.Verdict, f.Found, f.Advice = Problem, err.Error(), "run as the service's user, or name its data folder with --data"
	case err != nil:
		f.Verdict, f.Found = Problem, err.Error()
		f.Advice = "the service does not start with it: use troupe store repair (keeps what can be read), troupe store restore (a backup) or serve --reset-store (an empty store)"
	}
	return f
}

// examineKey looks whether a store that was used has its key.
func examineKey(store, key string) Finding {
	f := Finding{Check: "key", Verdict: Good, Found: key + " is there"}
	_, err := os.Stat(key)
	_, used := os.Stat(store)
	switch {
	case err == nil:
	case used != nil:
		f.Found = "there is none yet; the first start makes it"
	default:
		f.Verdict, f.Found = Problem, err.Error()
		f.Advice = "put it back beside the store; otherwise serve --reset-key creates a new one, and secrets and saved sessions are lost"
	}
	return f
}

// writable tries to make a file.
func writable(dir string) error {
	t, err := os.CreateTemp(dir, ".troupe-doctor-")
	if err != nil {
		return fmt.Errorf("write to %s: %w", filepath.Clean(dir), err)
	}
	return errors.Join(t.Close(), os.Remove(t.Name()))
}

// descriptors is how many files this process may open. Go has raised it to what
// is allowed.
func descriptors() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return l.Cur
}

// size says a number of bytes as people do.
func size(n uint64) string {
	for _, u := range []struct {
		name string
		of   uint64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.of {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.of), u.name)
		}
	}
	return fmt.Sprintf("%d %s", n, engine.Plural(n, "byte", "bytes"))
}
