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
		kind := mime.TypeByExtension(path.Ext(p))
		switch path.Ext(p) { // what the machine's own table says must not matter
		case ".js":
			kind = "text/javascript; charset=utf-8"
		case ".css":
			kind = "text/css; charset=utf-8"
		case ".svg":
			kind = "image/svg+xml"
		case ".html":
			kind = "text/html; charset=utf-8"
		case ".txt":
			kind = "text/plain; charset=utf-8"
		}
		if kind == "" {
			return fmt.Errorf("%s has no media type", p)
		}
		var z bytes.Buffer
		w, _ := gzip.NewWriterLevel(&z, gzip.BestCompression) // the level is one of its own
		if _, err := w.Write(b); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		all[strings.TrimPrefix(p, "pages/app/")] = asset{kind, b, z.Bytes(), hex.EncodeToString(sum[:12])}
		return nil
	})
	if err != nil {
		panic(fmt.Errorf("read the web page: %w", err))
	}
	return all
})

// pagePolicy lets the page run its own scripts and nothing else, reach this
// service and nothing else, and be framed by nobody. The editor makes its style
// itself, which the nonce is for; texts never become HTML.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// page answers with one of the web page's documents. Whatever they show, they
// ask for with a token.
func (s *Server) page(name string) handler {
	return func(ctx *fasthttp.RequestCtx) *refusal {
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

// asset answers with one of the page's files. They change with the version only,
// and their names stay: a browser asks each time whether it has the right one.
func (s *Server) asset(ctx *fasthttp.RequestCtx, name string) *refusal {
	a, ok := assets()[name]
	if !ok || strings.HasSuffix(name, ".html") {
		return refuse(engine.CodeNotFound)
	}
	h := &ctx.Response.Header
	tag := `"` + a.tag + `"`
	h.Set(fasthttp.HeaderETag, tag)
	h.Set(fasthttp.HeaderCacheControl, "no-cache")
	h.Add(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding)
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if string(ctx.Request.Header.Peek(fasthttp.HeaderIfNoneMatch)) == tag {
		ctx.SetStatusCode(fasthttp.StatusNotModified)
		return nil
	}
	ctx.SetContentType(a.kind)
	if ctx.Request.Header.HasAcceptEncoding("gzip") {
		h.Set(fasthttp.HeaderContentEncoding, "gzip")
		ctx.SetBody(a.zipped)
		return nil
	}
	ctx.SetBody(a.plain)
	return nil
}
