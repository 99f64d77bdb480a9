package browser

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
)

// keepEach is keepDescriptors by a list of what is open.
func keepEach(list string) {
	open, err := os.ReadDir(list)
	if err != nil {
		return // there is no way to know
	}
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// helped says that browsers were seen to start only with the setuid helper of
// their sandbox, which needs the privileges that they are otherwise denied.
var helped atomic.Bool

// helper is where a browser has such a helper. It is used where the system lets
// nobody have namespaces of their own.
func helper(program string) bool {
	info, err := os.Stat(filepath.Join(filepath.Dir(program), "chrome-sandbox"))
	return err == nil && info.Mode()&os.ModeSetuid != 0
}

// launchHelped starts a browser again that has ended at once without new
// privileges, if it has a helper that wants them.
func launchHelped(ctx context.Context, o Options, failed error) (*Browser, error) {
	if o.Path == "" {
		var err error
		if o.Path, err = Find(); err != nil {
			return nil, failed
		}
	}
	if o.NoSandbox || ctx.Err() != nil || !helper(o.Path) {
		return nil, failed
	}
	b, err := launch(ctx, o, true)
	if err != nil {
		return nil, failed
	}
	if helped.CompareAndSwap(false, true) {
		o.Log.Warn().AnErr("without", failed).Msg("the browsers' sandbox needs its setuid helper here: browsers run without no_new_privs")
	}
	return b, nil
}
