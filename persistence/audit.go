package persistence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of an audit log.
const (
	auditFile  = 4 << 20 // bytes of one file, after which the next one begins
	auditFiles = 16      // kept; the oldest goes first
	auditText  = 300     // bytes of one text in an act
)

// Results of an [Act].
const (
	ActDone    = "done"
	ActRefused = "refused"
	ActUnknown = "unknown" // the service ended before it knew
)

// Act is something that an operator did.
type Act struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Command string    `json:"order"`           // such as token/create
	About   string    `json:"about,omitempty"` // whom or what the command names
	By      Issuer    `json:"by"`
	From    string    `json:"from,omitempty"` // address of the client, or user of the socket
	Result  string    `json:"result"`
	Detail  string    `json:"detail,omitempty"` // what was made or concerned, or why it was refused
}

// ended is the second line of an act.
type ended struct {
	ID     string `json:"end"`
	Result string `json:"result"`
	Detail string `json:"detail,omitempty"`
}

// Audit is a log of operators' actions, in append-only files of a folder: a line
// when an action begins and another when it has ended. Of more than 16 files of 4
// MiB, the oldest is removed.
type Audit struct {
	dir string
	max int64 // bytes of a file

	mu     sync.Mutex
	file   *os.File
	number int // of the file
	size   int64
}

// NewAudit keeps an audit log in a folder, which is made with the first act.
func NewAudit(dir string) *Audit { return &Audit{dir: dir, max: auditFile} }

// Begin writes that an action begins, synced to disk, and returns a function that
// writes its end.
func (a *Audit) Begin(act Act) (end func(result, detail string) error, err error) {
	act.ID, act.At, act.Result = randomText(10), time.Now().UTC(), ActUnknown
	act.Command, act.About, act.From = plainText(act.Command), plainText(act.About), plainText(act.From)
	if err := a.append(act); err != nil {
		return nil, fmt.Errorf("write the audit log: %w", err)
	}
	return func(result, detail string) error {
		if err := a.append(ended{act.ID, result, plainText(detail)}); err != nil {
			return fmt.Errorf("write the audit log: %w", err)
		}
		return nil
	}, nil
}

// plainText shortens a text and takes out of it what a terminal would obey.
func plainText(s string) string {
	if len(s) > auditText {
		s = s[:auditText] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

func (a *Audit) append(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.open(); err != nil {
		return err
	}
	n, err := a.file.Write(line)
	a.size += int64(n)
	if err == nil {
		err = a.file.Sync()
	}
	if err != nil { // what is half written is ended by the next open
		_ = a.file.Close()
		a.file = nil
	}
	return err
}

// open makes the file that takes the next line ready.
func (a *Audit) open() error {
	if a.file != nil && a.size < a.max {
		return nil
	}
	if a.file != nil {
		_ = a.file.Close()
		a.file = nil
	}
	if err := os.Mkdir(a.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	numbers, err := a.numbers()
	if err != nil {
		return err
	}
	a.number = 1
	if n := len(numbers); n > 0 {
		a.number = numbers[n-1]
		if info, err := os.Stat(a.path(a.number)); err == nil && info.Size() >= a.max {
			a.number++
		}
	}
	file, err := os.OpenFile(a.path(a.number), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	a.file, a.size = file, info.Size()
	last := []byte{'\n'}
	if a.size > 0 {
		_, err = file.ReadAt(last, a.size-1)
	}
	if err == nil && last[0] != '\n' { // the process ended in the middle of a line
		_, err = file.Write([]byte{'\n'})
		a.size++
	}
	if err == nil {
		err = syncFile(a.dir)
	}
	if err != nil {
		a.file = nil
		return errors.Join(err, file.Close())
	}
	for i := 0; i <= len(numbers)-auditFiles; i++ {
		if numbers[i] <= a.number-auditFiles {
			_ = os.Remove(a.path(numbers[i])) // the next file tries again
		}
	}
	return nil
}

func (a *Audit) path(number int) string {
	return filepath.Join(a.dir, fmt.Sprintf("%09d.jsonl", number))
}

// numbers are those of the files there are, the oldest first.
func (a *Audit) numbers() ([]int, error) {
	entries, err := os.ReadDir(a.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []int
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "%d.jsonl", &n); err == nil && filepath.Base(a.path(n)) == e.Name() {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, nil
}

// Last returns the last acts for which is reports true, the newest first, as many
// as most.
func (a *Audit) Last(most int, is func(Act) bool) ([]Act, error) {
	numbers, err := a.numbers()
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	all, ends := []Act{}, map[string]ended{}
	for i := len(numbers) - 1; i >= 0 && len(all) < most; i-- {
		content, err := os.ReadFile(a.path(numbers[i]))
		if errors.Is(err, fs.ErrNotExist) {
			break // it was the oldest one, and gone meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		lines := bytes.Split(content, []byte{'\n'})
		for j := len(lines) - 1; j >= 0 && len(all) < most; j-- {
			var line struct {
				Act
				End string `json:"end"`
			}
			switch err := json.Unmarshal(lines[j], &line); {
			case err != nil: // torn, by the loss of power
			case line.End != "":
				ends[line.End] = ended{line.End, line.Result, line.Detail}
			default:
				if e, ok := ends[line.ID]; ok {
					line.Result, line.Detail = e.Result, e.Detail
					delete(ends, line.ID)
				}
				if is(line.Act) {
					all = append(all, line.Act)
				}
			}
		}
	}
	return all, nil
}

// Close closes the file. An act after that opens it again.
func (a *Audit) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return nil
	}
	err := a.file.Close()
	a.file = nil
	return err
}
