package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

const (
	maxPDFs     = 20       // of one task
	maxPDFPages = 1000     // of one PDF
	maxPDFBytes = 64 << 20 // of one PDF
	maxPaper    = 200      // inches of a side
)

// papers are the sizes with a name, in inches.
var papers = map[string][2]float64{
	"A0": {33.11, 46.81}, "A1": {23.39, 33.11}, "A2": {16.54, 23.39}, "A3": {11.69, 16.54}, "A4": {8.27, 11.69}, "A5": {5.83, 8.27}, "A6": {4.13, 5.83},
	"Letter": {8.5, 11}, "Legal": {8.5, 14}, "Tabloid": {11, 17}, "Ledger": {17, 11},
}

// printing is how a page is to be printed.
type printing struct {
	browser.Paper
	header, footer *lang.Text
}

func (v printing) Keys(to map[string]bool) {
	for _, t := range []*lang.Text{v.header, v.footer} {
		if t != nil {
			t.Keys(to)
		}
	}
}

// lengthShape is a length of paper: pixels, or a text with its unit. It gives inches.
func lengthShape(what string, least float64) lang.Shape[float64] {
	return lang.Shape[float64]{
		Words: what, Schema: `{"anyOf":[{"type":"number","minimum":0},{"type":"string","pattern":"^[0-9.]+(px|in|cm|mm)$"}]}`,
		Read: func(d *lang.Decoder, n *lang.Node) float64 {
			inches := n.Number / 96
			if m := aLength.FindStringSubmatch(n.Text); n.IsString() && m != nil {
				inches, _ = strconv.ParseFloat(m[1], 64)
				inches /= map[string]float64{"px": 96, "in": 1, "cm": 2.54, "mm": 25.4}[m[2]]
			} else if n.Kind != '0' {
				d.Fault(n, `want %s, such as "21cm", "8.5in", "210mm" or a number of pixels, not %s`, what, n.Describe())
				return least
			}
			if inches < least || inches > maxPaper {
				d.Fault(n, "want %s from %g to %d inches, not %.4g", what, least, maxPaper, inches)
				return least
			}
			return inches
		},
	}
}

var (
	aLength    = regexp.MustCompile(`^(\d+(?:\.\d+)?|\.\d+)(px|in|cm|mm)$`)
	pageRanges = regexp.MustCompile(`^\s*\d+(\s*-\s*\d*)?\s*(,\s*\d+(\s*-\s*\d*)?\s*)*$`)
)

var pdfShape = lang.Shape[printing]{
	Words: "{} or how to print",
	Schema: `{"type":"object","properties":{"format":{"enum":["` + strings.Join(slices.Sorted(maps.Keys(papers)), `","`) + `"]},"width":` + lengthShape("a width", 1).Schema + `,"height":` + lengthShape("a height", 1).Schema + `,"landscape":{"type":"boolean"},` +
		`"margin":{"anyOf":[` + lengthShape("a margin", 0).Schema + `,{"type":"object","properties":{"top":` + lengthShape("", 0).Schema + `,"right":` + lengthShape("", 0).Schema + `,"bottom":` + lengthShape("", 0).Schema + `,"left":` + lengthShape("", 0).Schema + `},"additionalProperties":false}]},` +
		`"scale":{"type":"number","minimum":0.1,"maximum":2},"background":{"type":"boolean"},"pages":{"type":"string"},"header":{"type":"string"},"footer":{"type":"string"},"cssPageSize":{"type":"boolean"},"tagged":{"type":"boolean"},"outline":{"type":"boolean"}},"additionalProperties":false}`,
	Read: readPrinting,
}

func readPrinting(d *lang.Decoder, n *lang.Node) printing {
	const margin = 1 / 2.54
	v := printing{Paper: browser.Paper{Width: papers["A4"][0], Height: papers["A4"][1], Top: margin, Right: margin, Bottom: margin, Left: margin, Scale: 1, Background: true, Tagged: true, Pages: "1-" + strconv.Itoa(maxPDFPages)}}
	wrong := d.Wrong()
	flag := func(name string, to *bool) lang.Member {
		return lang.Field(name, func(f *lang.Node) { *to = lang.BoolShape.Read(d, f) })
	}
	length := func(name string, least float64, to *float64) lang.Member {
		return lang.Field(name, func(f *lang.Node) { *to = lengthShape("a "+name, least).Read(d, f) })
	}
	text := func(name string, to **lang.Text) lang.Member {
		return lang.Field(name, func(f *lang.Node) { t := lang.TextShape(name).Read(d, f); *to = &t })
	}
	var format, side *lang.Node
	if !d.ReadObject(n, "how to print",
		lang.Field("format", func(f *lang.Node) {
			size := papers[lang.EnumShape("a paper format", slices.Sorted(maps.Keys(papers))...).Read(d, f)]
			format, v.Width, v.Height = f, size[0], size[1]
		}),
		lang.Field("width", func(f *lang.Node) { side, v.Width = f, lengthShape("a width", 1).Read(d, f) }),
		lang.Field("height", func(f *lang.Node) { side, v.Height = f, lengthShape("a height", 1).Read(d, f) }),
		lang.Field("margin", func(f *lang.Node) {
			if !f.IsObject() {
				v.Top = lengthShape("a margin", 0).Read(d, f)
				v.Right, v.Bottom, v.Left = v.Top, v.Top, v.Top
				return
			}
			d.ReadObject(f, "a margin", length("top", 0, &v.Top), length("right", 0, &v.Right), length("bottom", 0, &v.Bottom), length("left", 0, &v.Left))
		}),
		lang.Field("scale", func(f *lang.Node) { v.Scale = lang.NumberShape("a scale", 0.1, 2).Read(d, f) }),
		lang.Field("pages", func(f *lang.Node) { v.Pages = readPages(d, f) }),
		flag("landscape", &v.Landscape), flag("background", &v.Background), flag("cssPageSize", &v.CSSPageSize), flag("tagged", &v.Tagged), flag("outline", &v.Outline),
		text("header", &v.header), text("footer", &v.footer),
	) || d.Wrong() > wrong {
		return v
	}
	if format != nil && side != nil {
		d.Fault(side, "want format, or width and height, not both")
		return v
	}
	if v.Outline && !v.Tagged {
		d.Fault(n.Field("outline"), "want outline only with tagged: bookmarks are made of the page's structure")
	}
	wide, high := v.Width, v.Height
	if v.Landscape {
		wide, high = high, wide
	}
	if v.Left+v.Right >= wide || v.Top+v.Bottom >= high {
		d.Fault(n, "want margins that leave some of the paper: it is %.4g × %.4g inches, and the margins take %.4g and %.4g", wide, high, v.Left+v.Right, v.Top+v.Bottom)
	}
	return v
}

// readPages reads which pages are wanted, with an end where a range has none.
func readPages(d *lang.Decoder, n *lang.Node) string {
	s, ok := d.ReadString(n, "pages")
	if !ok {
		return ""
	}
	if len(s) > 1000 || !pageRanges.MatchString(s) {
		d.Fault(n, `want pages such as "1-5, 8", not %q`, lang.Short(s, 100))
		return ""
	}
	var all []string
	count := 0
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(strings.ReplaceAll(part, " ", ""), "-")
		first, err := strconv.Atoi(from)
		last := first
		if isRange {
			if last = first + maxPDFPages - count - 1; to != "" {
				last, err = strconv.Atoi(to)
			}
		}
		if err != nil || first < 1 || last < first {
			d.Fault(n, "want pages from 1 on, in ranges from the lower to the higher, not %q", lang.Short(part, 30))
			return ""
		}
		if count += last - first + 1; count > maxPDFPages {
			d.Fault(n, "want at most %d pages", maxPDFPages)
			return ""
		}
		all = append(all, fmt.Sprintf("%d-%d", first, last))
	}
	return strings.Join(all, ",")
}

var _ = define(Action[printing]{
	Name: "pdf", Group: "Screenshot",
	Doc: "Prints the page to a PDF and returns its URL. The result also has the number of its pages and bytes.\n\n" +
		"| field | value | default |\n|---|---|---|\n" +
		"| `format` | A0 to A6, Letter, Legal, Tabloid, Ledger | A4 |\n" +
		"| `width`, `height` | 1 to 200 inches: `\"21cm\"`, `\"8.5in\"`, `\"210mm\"`, or pixels (96 to the inch) | those of the format |\n" +
		"| `landscape` | turns the paper, unless the page sets a size by `@page` | false |\n" +
		"| `margin` | a length, or `{top, right, bottom, left}` | 1 cm |\n" +
		"| `scale` | 0.1 to 2 | 1 |\n" +
		"| `background` | prints the colors and pictures of backgrounds | true |\n" +
		"| `pages` | such as `\"1-5, 8\"` | all |\n" +
		"| `header`, `footer` | HTML. Elements of the classes `date`, `title`, `url`, `pageNumber` and `totalPages` are filled in | none |\n" +
		"| `cssPageSize` | a size that the page sets by `@page` comes first | false |\n" +
		"| `tagged` | the structure of the page, for screen readers | true |\n" +
		"| `outline` | bookmarks of the headings, only with `tagged` | false |\n\n" +
		"A PDF has at most 1000 pages and 64 MiB, and a task at most 20 PDFs.",
	Value:   pdfShape,
	Result:  `{"success":true,"url":string,"pages":number,"bytes":number}`,
	Example: `{"pdf":{"format":"A4","margin":"15mm"}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v printing) (Result, error) {
		if r.effects.pdfs >= maxPDFs {
			return nil, Problemf(CodeStorageQuota, "The page was not printed: one task has at most %d PDFs", maxPDFs)
		}
		if r.env.SaveFile == nil {
			return nil, Problemf(CodeInternal, "this service has no storage for files")
		}
		for text, to := range map[*lang.Text]*string{v.header: &v.Header, v.footer: &v.Footer} {
			if text != nil {
				var err error
				if *to, err = text.Expand(r.cache); err != nil {
					return nil, err
				}
			}
		}
		ctx, cancel := r.page.strict(ctx)
		defer cancel()
		t, err := r.page.tab(ctx)
		if err != nil {
			return nil, err
		}
		if r.page.input != sentNothing || r.page.script || t.Navigation.Loading() {
			if err := r.page.awaitLoaded(ctx, t); err != nil {
				return nil, err
			}
		}
		p, err := t.Print(ctx, v.Paper)
		if errors.Is(err, browser.ErrPaper) {
			return nil, Problemf(CodeInvalidValue, "The page was not printed: %s", err)
		}
		if err != nil {
			return nil, err
		}
		defer p.Close()
		sized := &sizedReader{r: p}
		url, err := r.env.SaveFile(ctx, File{Account: r.env.Account, Plan: r.env.Plan, Name: "page.pdf", ContentType: "application/pdf", Inline: true}, sized)
		switch {
		case sized.n > maxPDFBytes:
			return nil, Problemf(CodeInvalidValue, "The PDF has more than %d MiB, which are the limit: print fewer pages", maxPDFBytes>>20)
		case err != nil:
			return nil, fmt.Errorf("keeping the file: %w", err)
		}
		r.effects.pdfs++
		if p.Pages() >= maxPDFPages {
			r.warn("the PDF has the first %d pages: that is the limit", maxPDFPages)
		}
		return json.Marshal(struct {
			Success bool   `json:"success"`
			URL     string `json:"url"`
			Pages   int    `json:"pages"`
			Bytes   int64  `json:"bytes"`
		}{true, url, p.Pages(), sized.n})
	},
})

var errPDFTooLarge = errors.New("the PDF is too large")

// sizedReader counts what is read, and ends with an error beyond the limit.
type sizedReader struct {
	r io.Reader
	n int64
}

func (s *sizedReader) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if s.n += int64(n); s.n > maxPDFBytes {
		return 0, errPDFTooLarge
	}
	return n, err
}
