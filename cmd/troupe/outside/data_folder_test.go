package outside_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// The parts of a data folder.
func storeIn(data string) string   { return filepath.Join(data, "store") }
func filesIn(data string) string   { return filepath.Join(data, "files") }
func uploadsIn(data string) string { return filepath.Join(data, "uploads") }
func keyIn(data string) string     { return filepath.Join(data, "key") }
func clusterIn(data string) string { return filepath.Join(data, "cluster") }
func socketIn(data string) string  { return filepath.Join(data, "admin.sock") }

// browsersIn is where the browsers of a service live: as root outside the data
// folder, because their user cannot get through it.
func browsersIn(data string) string {
	if os.Geteuid() != 0 {
		return filepath.Join(data, "browsers")
	}
	sum := sha256.Sum256([]byte(data))
	return filepath.Join(os.TempDir(), "troupe-"+hex.EncodeToString(sum[:6]))
}
