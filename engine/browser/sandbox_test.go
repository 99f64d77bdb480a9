package browser

import (
	"errors"
	"fmt"
	"testing"
)

func TestForWantOfSandbox(t *testing.T) {
	for text, want := range map[string]bool{
		"[1129/015326.381978:ERROR:content/browser/zygote_host/zygote_host_impl_linux.cc:130] No usable sandbox! If this is a Debian system":  true,
		"Failed to move to new namespace: PID namespaces supported, Network namespace supported, but failed: errno = Operation not permitted": true,
		"[7:7:FATAL:sandbox/linux/services/credentials.cc:131] Check failed: . : Permission denied (13)":                                      true,
		"error while loading shared libraries: libnss3.so: cannot open shared object file":                                                    false,
		"[1129/015326:ERROR:content/browser/main.cc:1] Too many open files":                                                                   false,
	} {
		if got := ForWantOfSandbox(fmt.Errorf("starting Chromium: %w (exit status 1): %s", ErrEndedAtOnce, text)); got != want {
			t.Errorf("%v for %q", got, text)
		}
		if ForWantOfSandbox(errors.New(text)) {
			t.Errorf("a browser that has not ended: %q", text)
		}
	}
}
