package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/scarce"
)

// The size of a page's visible area until a task sets another.
const (
	DefaultWidth  = 1280
	DefaultHeight = 720
)

// Options say how browsers are started.
type Options struct {
	Path string // the program; empty: Find
	Dir  string // where each browser gets a folder of its own
	// MakeDir says instead where that is, at each start of a browser: it may have been removed,
	// as what clears temporary folders does. It may be nil.
	MakeDir   func() (string, error)
	Proxy     string // host:port that all traffic goes through; empty: none (tests only)
	NoSandbox bool
	// What trades isolation for speed or memory, see docs/security.md: the zero
	// value has few processes.
	Renderers    int  // processes for pages that may share one; zero: 1; negative: the browser's own choice
	ApartGPU     bool // paint in a process of its own
	ApartNetwork bool // speak to the network in a process of its own
	ExtraFlags   []string
	Log          zerolog.Logger
}

// process is a started Chromium with everything that belongs to it.
type process struct {
	cmd    *exec.Cmd
	dir    string
	uid    int // the user that it runs as, and its group
	gid    int
	stderr *tail
	log    zerolog.Logger
	exited chan struct{}
	once   sync.Once

	folder  sync.Mutex // held while the folder is made again
	removed bool       // the folder, for good
}

// Pipe starts a browser as Launch does and hands out the ends of its protocol
// pipe, for a program that speaks the protocol itself. stop ends the browser and
// returns when nothing of it is left.
func Pipe(o Options) (from, to *os.File, stop func(), err error) {
	p, from, to, err := start(o, helped.Load())
	if err != nil {
		return nil, nil, nil, err
	}
	return from, to, func() {
		closeAll(from, to)
		p.kill()
	}, nil
}

// start runs the program in a process group and a folder of its own, and
// returns the ends of the pipe to it. It has no file of ours but its output and
// the pipe.
func start(o Options, privileged bool) (p *process, from, to *os.File, err error) {
	if o.Path == "" {
		if o.Path, err = Find(); err != nil {
			return nil, nil, nil, err
		}
	}
	if o.MakeDir != nil {
		o.Dir, err = o.MakeDir()
	} else if runsUnprivileged(o.NoSandbox) {
		err = MakePassable(o.Dir)
	} else {
		err = os.MkdirAll(o.Dir, passable)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("making the browsers' folder: %w", folderError(o.Dir, err))
	}
	dir, err := os.MkdirTemp(o.Dir, "b")
	if err != nil {
		return nil, nil, nil, fmt.Errorf("making a browser's folder: %w", folderError(o.Dir, err))
	}
	p = &process{dir: dir, stderr: &tail{}, log: o.Log, exited: make(chan struct{})}
	fail := func(doing string, err error) (*process, *os.File, *os.File, error) {
		os.RemoveAll(dir)
		return nil, nil, nil, fmt.Errorf("%s: %w", doing, err)
	}
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return fail("making a browser's folder", folderError(tmp, err))
	}
	childIn, to, err := os.Pipe()
	if err != nil {
		return fail("making a pipe", err)
	}
	from, childOut, err := os.Pipe()
	if err != nil {
		closeAll(childIn, to)
		return fail("making a pipe", err)
	}

	cmd := exec.Command(o.Path, Flags(o, filepath.Join(dir, "profile"))...)
	cmd.ExtraFiles = []*os.File{childIn, childOut} // descriptors 3 and 4
	cmd.Env = environment(dir, tmp)
	cmd.Dir = dir
	cmd.Stderr, cmd.Stdout = p.stderr, p.stderr
	cmd.WaitDelay = time.Second // grandchildren may hold the output open
	if err := setCredentials(cmd, dir, o.NoSandbox); err != nil {
		closeAll(childIn, childOut, to, from)
		return fail("handing the folder to the browser's user", err)
	}
	p.uid, p.gid = ownerOf(dir)
	keepDescriptors()
	if privileged {
		err = startChild(cmd)
	} else {
		err = startPlain(cmd, o.Log)
	}
	closeAll(childIn, childOut)
	if err != nil {
		closeAll(to, from)
		if no := barredFrom(o, dir); no != nil {
			err = fmt.Errorf("%w: %w", no, err)
		} else if scarce.Of(err) == "" { // which may pass, and says nothing about the program
			err = fmt.Errorf("%w: %w", ErrNotExecuted, err)
		}
		return fail("starting "+o.Path, err)
	}
	p.cmd = cmd
	if err := remember(o.Dir, dir, cmd.Process.Pid); err != nil {
		o.Log.Warn().Err(err).Msg("the browser's process could not be noted; a kill of the service may leave it behind")
	}
	go func() {
		waitChild(cmd) // how it ended is in the tail and in ProcessState
		close(p.exited)
	}()
	return p, from, to, nil
}

// kill ends the process with its whole group and removes its folder. It
// returns when both are gone.
func (p *process) kill() {
	p.once.Do(func() {
		endGroup(p.cmd.Process.Pid)
		<-p.exited
		if !awaitGroup(p.cmd.Process.Pid, groupEndsWithin) {
			p.log.Warn().Int("group", p.cmd.Process.Pid).Msg("processes of a browser were killed and do not end")
		}
		p.folder.Lock()
		p.removed = true
		p.folder.Unlock()
		if err := removeFolder(p.dir); err != nil {
			p.log.Warn().Err(err).Msg("a browser's folder could not be removed; the next start of the service tries again")
		}
		forget(filepath.Dir(p.dir), p.dir)
	})
}

// removeFolder tries again for a while: children that are just ending may
// still write.
func removeFolder(dir string) (err error) {
	for wait := time.Millisecond; wait < 2*time.Second; wait *= 2 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(wait)
	}
	return err
}

// environment is what a browser sees of ours: nothing but where things are.
// Tokens and keys of the service's environment stay out of it.
func environment(home, tmp string) []string {
	env := []string{"HOME=" + home, "TMPDIR=" + tmp, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + tmp, "XDG_RUNTIME_DIR=" + tmp}
	for _, name := range []string{"PATH", "TZ", "FONTCONFIG_PATH", "FONTCONFIG_FILE", "LD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, locale(os.Getenv("LANG"), os.Getenv("LC_ALL"))...)
}

// locale is that of the service, but always with UTF-8: in any other character set, the
// one that services have by default included, files whose names are not in it cannot be
// uploaded.
func locale(lang, all string) []string {
	if all != "" {
		lang = all
	}
	if lang == "" {
		return []string{"LC_CTYPE=C.UTF-8"}
	}
	return []string{"LANG=" + lang, "LC_CTYPE=C.UTF-8"}
}

// tail keeps the last lines of a browser's output: they say why it died.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if n := len(t.buf) - tailSize; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

func closeAll(c ...io.Closer) {
	for _, x := range c {
		x.Close()
	}
}

// Errors of a start that the same program would give again.
var (
	ErrNotExecuted = errors.New("the program cannot be executed")
	ErrEndedAtOnce = errors.New("it ended at once")
)

// startError explains a browser that did not come up.
func startError(ctx context.Context, p *process, err error) error {
	if errors.Is(err, ErrGone) { // its pipe is closed: it ends, or has
		select {
		case <-p.exited:
		case <-time.After(time.Second):
		}
	}
	select {
	case <-p.exited:
		return fmt.Errorf("starting Chromium: %w (%s): %s", ErrEndedAtOnce, p.cmd.ProcessState, p.stderr)
	default:
	}
	if ctx.Err() != nil {
		return fmt.Errorf("starting Chromium: no answer in time: %w", err)
	}
	return fmt.Errorf("starting Chromium: %w", err)
}
