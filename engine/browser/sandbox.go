package browser

import (
	"errors"
	"strings"
)

// ForWantOfSandbox reports whether a browser has ended at its start because it could not make
// its sandbox. It says so itself, in words that differ by what the system refuses.
func ForWantOfSandbox(err error) bool {
	if !errors.Is(err, ErrEndedAtOnce) {
		return false
	}
	text := err.Error()
	for _, words := range []string{"No usable sandbox", "Failed to move to new namespace", "zygote_host_impl", "sandbox/linux/", "namespace_sandbox", "setuid_sandbox"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
