package engine

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkZZ(b *testing.B) {
	var rows strings.Builder
	for i := range 100 {
		fmt.Fprintf(&rows, "<li class=row><b>Title %d</b><i>%d.99</i><u>Sold by shop %d</u></li>", i, i, i)
	}
	in := ownBrowser(b)
	url := serve(b, "<!doctype html><title>T</title><ul>"+rows.String()+"</ul>")
	play(b, in, fmt.Sprintf(`{"actions":[{"open":%q}]}`, url), Stage{})
	for _, a := range []string{`{"getText":"li"}`, `{"extractAll":[".row",{"b":"b","i":"i","u":"u"}]}`, `{"loop":{"each":".row","do":[]}}`, `{"loop":{"repeat":100,"do":[{"getText":".row b","options":{"push":"b"}},{"getText":".row i","options":{"push":"i"}},{"getText":".row u","options":{"push":"u"}}]}}`, `{"loop":{"each":".row","do":[{"getText":"$this b","options":{"push":"b"}},{"getText":"$this i","options":{"push":"i"}},{"getText":"$this u","options":{"push":"u"}}]}}`} {
		b.Run(a[:9], func(b *testing.B) {
			for b.Loop() {
				play(b, in, `{"actions":[`+a+`]}`, Stage{})
			}
		})
	}
}
