package persistence

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// format is that of the store, as this program writes it.
const format = 1

// state is what a store knows of itself beside Badger's files. Badger takes a log or a
// list of tables that ends too early for complete: the state shows that something is
// missing.
type state struct {
	Format  int    `json:"format"`
	Since   uint64 `json:"since"`   // the version from which on this was kept
	Boot    string `json:"boot"`    // of the system, when this was written
	Version uint64 `json:"version"` // of the last transaction that was acknowledged
	Synced  uint64 `json:"synced"`  // of the last one that is on the disk for sure
	Bound   uint64 `json:"bound"`   // up to which revisions may have been given
	// Records counts the records by kind: the beginning of their keys.
	Records map[string]int64 `json:"records"`
}

// stateFile has two places of equal size that are written in turn, each with a
// number and a checksum: one that is cut off half written leaves the other.
type stateFile struct {
	mu     sync.Mutex
	file   *os.File
	number uint64
	state  state
}

const (
	stateName = "STATE"
	stateSize = 4 << 10
)

// Boot identifies the time since the system was started; empty: the system has no name for
// it. What was written in the same one is there, whether it was synced or not.
func Boot() string { return bootID() }

// bootID is the system's boot identifier; empty if it has none.
var bootID = sync.OnceValue(func() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
})

// kindOf is the kind of a record: the word that its key begins with.
func kindOf(key string) string {
	kind, _, parts := strings.Cut(key, "/")
	if !parts || kind == "" || len(kind) > 16 || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz") != "" {
		return "other"
	}
	return kind
}

// readState reads the state of a store; nil if none can be read.
func readState(dir string) (*state, uint64) {
	data, err := os.ReadFile(filepath.Join(dir, stateName))
	if err != nil {
		return nil, 0
	}
	var newest *state
	var number uint64
	for ; len(data) >= stateSize; data = data[stateSize:] {
		n, size := binary.BigEndian.Uint64(data), binary.BigEndian.Uint32(data[8:])
		if size > stateSize-16 || n <= number || crc32.Checksum(data[:12+size], castagnoli) != binary.BigEndian.Uint32(data[12+size:]) {
			continue
		}
		var s state
		if json.Unmarshal(data[12:12+size], &s) == nil {
			newest, number = &s, n
		}
	}
	return newest, number
}

// openState opens the state of a store that has been judged. A store without a state gets
// one, with a first number.
func openState(dir string, now state) (*stateFile, error) {
	old, number := readState(dir)
	if old != nil {
		now.Since = old.Since
	}
	f, err := os.OpenFile(filepath.Join(dir, stateName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the state of the store: %w", err)
	}
	s := &stateFile{file: f, number: number, state: now}
	err = s.write() // in both places, so that later ones need no space
	if err == nil {
		err = s.write()
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("write the state of the store: %w", err)
	}
	return s, nil
}

// write writes the state down. The caller has the lock.
func (s *stateFile) write() error {
	s.number++
	text, err := json.Marshal(s.state)
	if err == nil && len(text) > stateSize-16 { // then it is done without what is only for reports
		less := s.state
		less.Records = nil
		text, err = json.Marshal(less)
	}
	if err != nil {
		return err
	}
	b := make([]byte, stateSize)
	binary.BigEndian.PutUint64(b, s.number)
	binary.BigEndian.PutUint32(b[8:], uint32(len(text)))
	copy(b[12:], text)
	binary.BigEndian.PutUint32(b[12+len(text):], crc32.Checksum(b[:12+len(text)], castagnoli))
	_, err = s.file.WriteAt(b, int64(s.number%2)*stateSize)
	return err
}

// committed notes a transaction, before it is acknowledged.
func (s *stateFile) committed(version, bound uint64, records map[string]int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Version, s.state.Bound = version, bound
	for kind, n := range records {
		if s.state.Records == nil {
			s.state.Records = map[string]int64{}
		}
		if s.state.Records[kind] += n; s.state.Records[kind] == 0 {
			delete(s.state.Records, kind)
		}
	}
	return s.write()
}

// version is that of the last transaction that was noted.
func (s *stateFile) version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Version
}

// synced notes that everything up to a version is on the disk.
func (s *stateFile) synced(version uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Synced = max(s.state.Synced, version)
	return s.write()
}

func (s *stateFile) close() error { return s.file.Close() }
