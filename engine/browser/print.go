package browser

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	pio "github.com/chromedp/cdproto/io"
	"github.com/chromedp/cdproto/page"
)

// Paper is how a page is printed. Lengths are in inches.
type Paper struct {
	Width, Height            float64
	Top, Right, Bottom, Left float64
	Landscape, Background    bool
	CSSPageSize              bool // the page's own size comes first
	Tagged, Outline          bool
	Scale                    float64
	Pages                    string // such as 1-5, 8
	Header, Footer           string // HTML; both empty: none
}

// ErrPaper is the error of a page that cannot be printed so.
var ErrPaper = errors.New("the page cannot be printed so")

// pieceOfPDF is how much of a PDF is asked for at a time.
const pieceOfPDF = 512 << 10

// Print prints the page, and returns the PDF as it is read. Its end must be read, or the
// PDF closed: the browser keeps it until then.
func (t *Tab) Print(ctx context.Context, p Paper) (*PDF, error) {
	params := page.PrintToPDFParams{
		Landscape: &p.Landscape, PrintBackground: &p.Background, PreferCSSPageSize: &p.CSSPageSize, GenerateTaggedPDF: &p.Tagged, GenerateDocumentOutline: &p.Outline,
		PaperWidth: p.Width, PaperHeight: p.Height, MarginTop: &p.Top, MarginRight: &p.Right, MarginBottom: &p.Bottom, MarginLeft: &p.Left,
		Scale: p.Scale, PageRanges: p.Pages, TransferMode: page.PrintToPDFTransferModeReturnAsStream,
	}
	if p.Header != "" || p.Footer != "" {
		yes := true
		// The browser puts texts of its own where one of them is empty.
		params.DisplayHeaderFooter, params.HeaderTemplate, params.FooterTemplate = &yes, orBlank(p.Header), orBlank(p.Footer)
	}
	var res page.PrintToPDFResult
	if err := t.s.call(ctx, page.CommandPrintToPDF, params, &res); err != nil {
		var said *cdproto.Error
		if errors.As(err, &said) && (strings.Contains(said.Message, "invalid print parameters") || strings.Contains(said.Message, "Page range") || strings.Contains(said.Message, "page range")) {
			return nil, fmt.Errorf("%w: %s", ErrPaper, said.Message)
		}
		return nil, fmt.Errorf("printing the page: %w", err)
	}
	return &PDF{ctx: ctx, t: t, handle: res.Stream}, nil
}

func orBlank(html string) string {
	if html == "" {
		return "<span></span>"
	}
	return html
}

// PDF is a printed page.
type PDF struct {
	ctx    context.Context // that it is read in
	t      *Tab
	handle pio.StreamHandle
	rest   []byte
	tail   []byte // of what was read, where a sign of a page may begin
	pages  int
	ended  bool
	close  sync.Once
}

// Pages is how many pages there were in what was read.
func (p *PDF) Pages() int { return p.pages }

// Read reads on.
func (p *PDF) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.ended {
			return 0, io.EOF
		}
		if err := p.more(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *PDF) more() error {
	var res struct {
		Encoded bool         `json:"base64Encoded"`
		Data    jsonv2.Value `json:"data"`
		EOF     bool         `json:"eof"`
	}
	call := p.t.s.send(pio.CommandRead, pio.ReadParams{Handle: p.handle, Size: pieceOfPDF})
	err := call.wait(p.ctx, &res)
	var text []byte
	if err == nil {
		text, err = call.text(res.Data)
	}
	if err == nil && res.Encoded {
		n := base64.StdEncoding.DecodedLen(len(text))
		decoded := make([]byte, n)
		n, err = base64.StdEncoding.Decode(decoded, text)
		text = decoded[:n]
	}
	if err != nil {
		return fmt.Errorf("reading the PDF: %w", err)
	}
	p.rest = text
	p.count(text)
	if p.ended = res.EOF; p.ended {
		p.Close()
	}
	return nil
}

// signOfPage is what each page of a PDF of the browser begins with. What pages show is
// compressed, so it is nowhere else.
var signOfPage = []byte("/Type /Page\n")

// count counts the pages in the next piece, also those whose sign began in the one before.
func (p *PDF) count(b []byte) {
	begin := append(p.tail, b[:min(len(b), len(signOfPage)-1)]...)
	p.pages += bytes.Count(begin, signOfPage) + bytes.Count(b, signOfPage)
	if len(b) < len(signOfPage) {
		p.tail = begin
	} else {
		p.tail = bytes.Clone(b)
	}
	p.tail = bytes.Clone(p.tail[max(0, len(p.tail)-len(signOfPage)+1):])
}

// Close lets the browser forget what was not read.
func (p *PDF) Close() {
	p.close.Do(func() { p.t.s.send(pio.CommandClose, pio.CloseParams{Handle: p.handle}) })
}
