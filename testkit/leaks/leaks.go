// Package leaks counts what tests leave behind: goroutines, descriptors,
// processes and folders. What has grown fails the test that it belongs to, or
// the test binary.
//
// Go has no count of timers and contexts. One that is left keeps memory, and is
// seen where a test or a soak looks at the heap.
package leaks

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/goleak"
)

// patience is how long what has ended may take to be gone.
const patience = 10 * time.Second

// ignored are goroutines that libraries start once and keep.
var ignored = []goleak.Option{
	goleak.IgnoreAnyFunction("testing.tRunner"), // tests themselves: they run, or wait for others
	goleak.IgnoreAnyFunction("testing.runFuzzing"),
	goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"),
	goleak.IgnoreTopFunction("os/signal.signal_recv"),
	goleak.IgnoreTopFunction("os/signal.loop"),
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
}

// count is what there is at one moment.
type count struct {
	goroutines  goleak.Option // ignores those that there are
	descriptors map[string]string
	processes   map[string]string
	folders     map[string]string
}

// take counts. Folders and the processes that live in them are looked for below
// root.
func take(root string) count {
	return count{
		goroutines:  current(),
		descriptors: descriptors(),
		processes:   processes(root),
		folders:     folders(root),
	}
}

// grown says what there is now that was not there then. It waits for what is
// just ending.
func (c count) grown(root string, settle time.Duration) (left []string) {
	http.DefaultClient.CloseIdleConnections()
	for end, wait := time.Now().Add(settle), time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		left = nil
		if more := len(descriptors()) - len(c.descriptors); more > 0 {
			left = append(left, fmt.Sprintf("%d descriptors more: %v", more, added(c.descriptors, descriptors())))
		}
		for what, list := range map[string][]string{
			"processes": added(c.processes, processes(root)),
			"folders":   added(c.folders, folders(root)),
		} {
			if len(list) > 0 {
				left = append(left, fmt.Sprintf("%d %s: %v", len(list), what, list))
			}
		}
		late := time.Now().After(end)
		if len(left) == 0 || late {
			if err := leaked(append(ignored, c.goroutines)); err != nil {
				left = append(left, err.Error())
			}
		}
		if len(left) == 0 || late {
			return left
		}
		time.Sleep(wait)
	}
}

// current are the goroutines that there are. One with a stack that the library cannot
// read is on its way out of it: it is asked again soon, for as long as patience.
func current() goleak.Option {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		o, err := tryCurrent()
		if err == nil {
			return o
		}
		if time.Now().After(end) {
			panic(err)
		}
	}
}

func tryCurrent() (o goleak.Option, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read the stacks of the goroutines: %v", p)
		}
	}()
	return goleak.IgnoreCurrent(), nil
}

// leaked finds goroutines that are left. The library cannot read a stack of more
// than a hundred calls, and panics; its goroutine works, and is looked at again.
func leaked(but []goleak.Option) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read the stacks of the goroutines: %v", p)
		}
	}()
	return goleak.Find(but...)
}

func added(before, now map[string]string) []string {
	var list []string
	for k, v := range now {
		if was, there := before[k]; !there || was != v {
			list = append(list, strings.TrimSpace(k+" "+v))
		}
	}
	slices.Sort(list)
	return list
}

// descriptors lists what this process has open, but for what Go keeps for
// itself. It is empty where the system does not tell.
func descriptors() map[string]string {
	open := map[string]string{}
	list, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range list {
		to, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err != nil || strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "/proc/") {
			continue // the poller's, or that of this very listing
		}
		open[fd.Name()] = to
	}
	return open
}

// processes lists the children of this process and what they have started,
// which is known by its home below root. What has ended counts as gone.
func processes(root string) map[string]string {
	found := map[string]string{}
	if runtime.GOOS != "linux" {
		return found
	}
	self := strconv.Itoa(os.Getpid())
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		line := string(b)
		f := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
		if len(f) < 3 || f[0] == "Z" || f[0] == "X" {
			continue
		}
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if f[1] == self || strings.Contains("\x00"+string(env), "\x00HOME="+root) {
			found[filepath.Base(dir)] = "of group " + f[2] + " " + line[strings.IndexByte(line, '('):strings.LastIndexByte(line, ')')+1]
		}
	}
	return found
}

// folders lists what is in the root.
func folders(root string) map[string]string {
	found := map[string]string{}
	list, _ := os.ReadDir(root)
	for _, e := range list {
		found[e.Name()] = ""
	}
	return found
}
