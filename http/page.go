package http

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"path"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/answer"
)

// assetsPath is where the parts of the web page are served.
const assetsPath = "/app/"

//go:embed pages/app
var pageFiles embed.FS

// asset is one file of the page.
type asset struct {
	kind          string
	plain, zipped []byte
	tag           string // changes with the content
}

// assets are the page's files by their names. They are small and few: each is
// kept as it is and zipped.
var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	err := fs.WalkDir(pageFiles, "pages/app", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := pageFiles.ReadFile(p)
		if err != nil {
			return err
		}
		kind := kindOf(p)
		if kind == "" {
			return fmt.Errorf("%s has no media type", p)
		}
		all[strings.TrimPrefix(p, "pages/app/")] = newAsset(kind, b)
		return nil
	})
	if err != nil {
		panic(fmt.Errorf("read the web page: %w", err))
	}
	return all
})

// kindOf is the type of a file by its name. The machine's own table must
// not matter.
func kindOf(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".html":
		return "text/html; charset=utf-8"
	case ".txt":
		return "text/plain; charset=utf-8"
	default:
		return mime.TypeByExtension(ext)
	}
}

// newAsset is what is served of a file.
func newAsset(kind string, b []byte) asset {
	var z bytes.Buffer
	w, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(fmt.Errorf("zip a file of the page: %w", err)) // neither the level nor the memory can fail
	}
	sum := sha256.Sum256(b)
	return asset{kind, b, z.Bytes(), hex.EncodeToString(sum[:12])}
}

// pagePolicy lets the page run its own scripts and nothing else, reach this
// service and nothing else, and be framed by nobody. The editor makes its style
// itself, which the nonce is for; texts never become HTML.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// page answers with one of the web page's documents. Whatever they show, they
// ask for with a token.
func page(name string) handler {
	return func(ctx *fasthttp.RequestCtx) *answer.Refusal {
		nonce := rand.Text()
		h := &ctx.Response.Header
		h.Set(fasthttp.HeaderContentSecurityPolicy, fmt.Sprintf(pagePolicy, nonce))
		h.Set(fasthttp.HeaderCacheControl, "no-store")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set(fasthttp.HeaderReferrerPolicy, "no-referrer")
		h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
		h.Set(fasthttp.HeaderXFrameOptions, "DENY")
		a := assets()[name]
		ctx.SetContentType(a.kind)
		ctx.SetBody(bytes.Replace(a.plain, []byte("{nonce}"), []byte(nonce), 1))
		return nil
	}
}

// asset answers with one of the page's files.
func sendAssetNamed(ctx *fasthttp.RequestCtx, name string) *answer.Refusal {
	a, ok := assets()[name]
	if !ok || strings.HasSuffix(name, ".html") {
		return answer.Refuse(engine.CodeNotFound)
	}
	sendAsset(ctx, a)
	return nil
}

// sendAsset answers with a file. Files change with the version only, and their
// names stay: a browser asks each time whether it has the right one.
func sendAsset(ctx *fasthttp.RequestCtx, a asset) {
	h := &ctx.Response.Header
	tag := `"` + a.tag + `"`
	h.Set(fasthttp.HeaderETag, tag)
	h.Set(fasthttp.HeaderCacheControl, "no-cache")
	h.Add(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding)
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if string(ctx.Request.Header.Peek(fasthttp.HeaderIfNoneMatch)) == tag {
		ctx.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	ctx.SetContentType(a.kind)
	if ctx.Request.Header.HasAcceptEncoding("gzip") {
		h.Set(fasthttp.HeaderContentEncoding, "gzip")
		sendShared(ctx, a.zipped)
		return
	}
	sendShared(ctx, a.plain)
}
