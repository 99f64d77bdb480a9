package outside_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// room is a budget of docs/security.md.
type room struct {
	part                         float64 // of the memory for requests
	times                        float64 // how often each of its bytes is in memory
	parsing, besides, connection int64   // bytes beside it
	processor                    time.Duration
	disk                         int64 // bytes for each request
	files                        int   // descriptors for each connection
}

// live is how much of the service's memory a collection may leave, with so much memory for
// requests and so many connections.
func (r room) live(memory int64, conns int) int64 {
	return int64(float64(memory)*r.part*r.times) + r.parsing + r.besides + int64(conns)*r.connection
}

// highest is how much there may be: a collection begins when memory has doubled, and the
// process gives back all but a tenth of what it has not used for a while.
func (r room) highest(memory int64, conns int) int64 { return r.live(memory, conns) * 22 / 10 }

// rooms reads the budgets out of the document.
func rooms(t *testing.T) map[string]room {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(module(t), "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), "## Memory of requests\n")
	if !ok {
		t.Fatal(`docs/security.md has no section "Memory of requests"`)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	all := map[string]room{}
	number := func(s string) float64 {
		n, per, _ := strings.Cut(strings.Fields(strings.TrimSpace(s) + " ")[0], "/")
		f, err := strconv.ParseFloat(n, 64)
		if err != nil {
			t.Fatalf("docs/security.md: %q is not a number: %v", s, err)
		}
		if per != "" {
			d, err := strconv.ParseFloat(per, 64)
			if err != nil {
				t.Fatal(err)
			}
			f /= d
		}
		return f
	}
	for line := range strings.Lines(text) {
		c := strings.Split(strings.TrimSpace(line), "|")
		if len(c) != 12 || !strings.HasPrefix(strings.TrimSpace(c[1]), "`") {
			continue
		}
		all[strings.Trim(c[1], " `")] = room{part: number(c[3]), times: number(c[4]), parsing: int64(number(c[5]) * (1 << 20)), besides: int64(number(c[6]) * (1 << 20)), connection: int64(number(c[7]) * (1 << 10)),
			processor: time.Duration(number(c[8]) * float64(time.Millisecond)), disk: int64(number(c[9]) * (1 << 10)), files: int(number(c[10]))}
	}
	if len(all) < 3 {
		t.Fatalf("docs/security.md has the budgets %v: want a table", all)
	}
	return all
}

// over says what is beyond a budget, and by how much at most: 1 is all of it.
func (k *besieged) over(r room, n int, x toll) (faults []string, share float64) {
	mib := func(b int64) string { return fmt.Sprintf("%.1f MiB", float64(b)/(1<<20)) }
	look := func(what string, is, most int64, show func(int64) string) {
		share = max(share, float64(is)/float64(max(1, most)))
		if is > most {
			faults = append(faults, fmt.Sprintf("%s: %s, and the budget is %s", what, show(is), show(most)))
		}
	}
	memory := int64(k.memory) << 20
	look("live memory", x.live-k.rest.live, r.live(memory, n), mib)
	look("highest memory", x.peak-k.rest.peak, r.highest(memory, n), mib)
	look("processor for a request", int64(x.processor), int64(r.processor), func(n int64) string { return time.Duration(n).String() })
	look("descriptors", int64(x.files-k.rest.files), int64(n*r.files+24), func(n int64) string { return strconv.FormatInt(n, 10) })
	return faults, share
}

// TestPeaksFollowTheLimit: what requests take is bounded by the memory for them. The same rows
// keep the budgets of a third and of all of it, and each is filled up by bodies that do not end.
func TestPeaksFollowTheLimit(t *testing.T) {
	need.All(t)
	weighed(t)
	t.Parallel()
	k := besiege(t, leastMemory, 256)
	rows := k.named("validate", "execute (a repeated key)", "getResult", "getProfile", "putFlow")
	k.prepare(rows)
	k.stop()
	all := rooms(t)
	for _, memory := range []int{leastMemory, 3 * leastMemory} {
		t.Run(strconv.Itoa(memory), func(t *testing.T) {
			t.Parallel()
			k := k.copied(t, memory)
			k.fillsUp()
			k.start()
			k.holdEach(rows, all)
		})
	}
}

// fillsUp sends bodies of 1 MiB that do not end, more than an account has room for. They have
// what it may have, and little more: no other limit bounds them.
func (k *besieged) fillsUp() {
	k.t.Helper()
	body := []byte(task("", largestTask))
	request := raw("POST", "/v1/validate", k.addr, []string{"Content-Type: application/json", "Authorization: Bearer " + k.eve}, body)
	var sending sync.WaitGroup
	for range k.conns {
		c, err := net.Dial("tcp", k.addr)
		if err != nil {
			k.t.Fatal(err)
		}
		defer c.Close()
		sending.Go(func() { _, _ = c.Write(request[:len(request)-1]) }) // what is refused is closed before all of it was sent
	}
	sending.Wait()
	share := int64(k.memory) << 20 / 4
	least, most := share*6/10, share*13/10+40<<20
	live := int64(0)
	wait.Until(k.t, fmt.Sprintf("bodies have %d to %d MiB where an account may have %d", least>>20, most>>20, share>>20), func() bool {
		k.collect()
		live = k.live() - k.rest.live
		return live >= least && live <= most
	})
	k.t.Logf("%d bodies of 1 MiB that do not end have %d MiB of %d", k.conns, live>>20, share>>20)
}
