package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// downloadsShape says whether the files that pages send are kept.
var downloadsShape = lang.EnumShape("what becomes of downloads", "keep", "refuse")

// maxReadDownload bounds a download that an action reads, and all of them together, in
// bytes.
const maxReadDownload = 10 << 20

// awaited is a download that an action waits for.
type awaited struct {
	name *lang.Text // a pattern; nil: any
}

func (a awaited) Keys(to map[string]bool) {
	if a.name != nil {
		a.name.Keys(to)
	}
}

// awaitedShape is the spelling of a download: {} or {"name": pattern}.
var awaitedShape = lang.Shape[awaited]{
	Words: `{} or {"name": pattern}`, Schema: `{"type":"object","properties":{"name":{"type":"string","minLength":1}},"additionalProperties":false}`,
	Read: func(d *lang.Decoder, n *lang.Node) (a awaited) {
		d.ReadObject(n, "a download", lang.Field("name", func(f *lang.Node) { t := lang.URLPatternShape.Read(d, f); a.name = &t }))
		return a
	},
}

var _ = define(Action[awaited]{
	Name: "waitForDownload", Group: "Downloads",
	Doc: "Waits until a file that the page sends has arrived as a whole. With `name` it is the first with a matching name: a part of the name, or a regular expression as in `waitForResponse`. " +
		"Each file counts for one such action, in the order in which they arrive, also those that came before it.",
	Value:   awaitedShape,
	Result:  "the download: `{name, url, size, type, sha256}`",
	Example: `{"if":{"condition":"h1","then":[{"evaluate":"const a = document.createElement('a'); a.download = 'prices.csv'; a.href = 'data:text/csv,1'; a.click()"},{"waitForDownload":{}}]}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v awaited) (Result, error) {
		i, err := r.effects.await(ctx, v)
		if err != nil {
			return nil, err
		}
		return json.Marshal(r.effects.downloads[i])
	},
})

var _ = define(Action[awaited]{
	Name: "getDownload", Group: "Downloads",
	Doc:     "Waits for a download as `waitForDownload` does, and returns what is in the file. `as` says how: `text` (UTF-8), `json`, or `base64` for anything else. The file may have up to 10 MiB.",
	Value:   awaitedShape,
	Opts:    []Opt{opt("as", lang.EnumShape("how the file is read", "text", "json", "base64"), "Default: `text`.")},
	Result:  "what is in the file",
	Example: `{"if":{"condition":"h1","then":[{"evaluate":"const a = document.createElement('a'); a.download = 'prices.csv'; a.href = 'data:text/csv,1'; a.click()"},{"getDownload":{"name":".csv"}}]}}`,
	Check:   func(d *decoder, _ *lang.Node, _ *Step, _ awaited) { d.reads = true },
	Run: func(ctx context.Context, r *Run, s *Step, v awaited) (Result, error) {
		i, err := r.effects.await(ctx, v)
		if err != nil {
			return nil, err
		}
		d := r.effects.downloads[i]
		contents, there := r.effects.contents[i]
		switch {
		case !there && d.Size > maxReadDownload:
			return nil, Problemf(CodeInvalidValue, "The download %q has %d bytes, and %d are the limit for reading it: its url in downloads has it", d.Name, d.Size, maxReadDownload)
		case !there:
			return nil, Problemf(CodeInvalidValue, "The download %q cannot be read: all that a task reads of downloads may have %d bytes", d.Name, maxReadDownload)
		}
		switch own(s, "as", "text") {
		case "base64":
			return json.Marshal(base64.StdEncoding.EncodeToString(contents))
		case "json":
			if !json.Valid(contents) {
				return nil, Problemf(CodeInvalidValue, "The download %q is no JSON: as text it can be read", d.Name)
			}
			return contents, nil
		}
		if !utf8.Valid(contents) {
			return nil, Problemf(CodeInvalidValue, "The download %q is no text in UTF-8: as base64 it can be read", d.Name)
		}
		return json.Marshal(string(contents))
	},
})

// await waits for a download that no action has waited for yet, and gives its place in
// the list.
func (se *sideEffects) await(ctx context.Context, a awaited) (int, error) {
	matches := func(string) bool { return true }
	what := "download"
	if a.name != nil {
		text, err := a.name.Expand(se.run.cache)
		if err != nil {
			return 0, err
		}
		if matches, err = se.run.captures.matching.pattern(text, false); err != nil {
			return 0, err
		}
		what = "download whose name matches " + strconv.Quote(lang.Short(text, 100))
	}
	sctx, cancel := se.run.page.strict(ctx)
	defer cancel()
	for {
		_, _, changed := se.run.tabs.Transfers.Downloading()
		se.collect(ctx)
		for i, d := range se.downloads {
			if !se.claimed[i] && matches(d.Name) {
				if se.claimed == nil {
					se.claimed = map[int]bool{}
				}
				se.claimed[i] = true
				return i, nil
			}
		}
		select {
		case <-changed:
		case <-se.run.tabs.Gone():
			return 0, browser.ErrGone
		case <-sctx.Done():
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			return 0, Problemf(CodeTimeout, "No %s has arrived within %dms%s", what, Millis(se.run.limit), se.underWay()+se.taken(matches))
		}
	}
}

// taken names the files that would do, and that earlier actions have had.
func (se *sideEffects) taken(matches func(string) bool) string {
	var names []string
	for i, d := range se.downloads {
		if se.claimed[i] && matches(d.Name) {
			names = append(names, strconv.Quote(lang.Short(d.Name, 100)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	return "; each counts for one action, and an earlier one had " + strings.Join(names, ", ")
}

// underWay names the files that are on their way.
func (se *sideEffects) underWay() string {
	names := se.run.tabs.Transfers.Arriving()
	if len(names) == 0 {
		return ""
	}
	return ": " + names[0].String() + " is still arriving"
}

// readContents keeps what is in a download, for an action to read.
func (se *sideEffects) readContents(f *os.File, size int64) {
	for _, c := range se.contents {
		size += int64(len(c))
	}
	if size > maxReadDownload {
		return
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, maxReadDownload))
	if err != nil {
		return // the action says that it cannot be read
	}
	if se.contents == nil {
		se.contents = map[int][]byte{}
	}
	se.contents[len(se.downloads)] = b
}
