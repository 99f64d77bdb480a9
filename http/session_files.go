package http

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/answer"
	"troupe/persistence"
)

// sessionFilesPath is where the files of a session are.
const sessionFilesPath = sessionsPath + "/{sessionId}/files"

type (
	sessionFile struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		Type    string `json:"type"`
		Size    int64  `json:"size"`
		Kind    string `json:"kind"` // upload or download
		URL     string `json:"url"`  // of its bytes
		Created string `json:"createdAt"`
		Expires string `json:"expiresAt"`
	}
	sessionFileList struct {
		Success bool          `json:"success"`
		Files   []sessionFile `json:"files"`
	}
	sessionFileRemoved struct {
		Success bool   `json:"success"`
		Name    string `json:"name"`
	}
)

func (s *Server) sessionFileOf(f persistence.SessionFile) sessionFile {
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	kind := "upload"
	if f.Download {
		kind = "download"
	}
	return sessionFile{f.ID, f.Name, f.Type, f.Size, kind, strings.TrimRight(s.cfg.FilesURL, "/") + "/" + f.ID, at(f.Created), at(f.Expires)}
}

// ofSession is a handler for a session that there is.
func (s *Server) ofSession(h func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
		switch _, found, no := s.sessionOf(ctx, account, id); {
		case no != nil:
			return no
		case !found:
			return noSession(id)
		case s.cfg.SessionFiles == nil:
			return answer.RefuseText(engine.CodeNotFound, "This service keeps no files")
		}
		return h(ctx, account, id)
	}
}

// giveFiles keeps files for a session, for its clients to name.
func (s *Server) giveFiles(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	boundary, no := filesOf(ctx)
	if no != nil {
		return no
	}
	return s.ofSession(func(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
		b, no := s.readSessionFiles(ctx, account, boundary)
		defer b.remove()
		if no != nil {
			return no
		}
		return s.keepSessionFiles(ctx, account, id, b)
	})(ctx, account, id)
}

func (s *Server) keepSessionFiles(ctx *fasthttp.RequestCtx, account persistence.Account, id string, b *body) *answer.Refusal {
	b.held.Release() // they count where they are kept
	made := sessionFileList{true, []sessionFile{}}
	for _, up := range b.files {
		one, err := s.giveFile(account, id, up)
		switch {
		case errors.Is(err, persistence.ErrTooMany):
			return answer.RefuseText(engine.CodeStorageQuota, fmt.Sprintf("The session has too many files: want at most %d, with %d MiB together. Remove some", persistence.MaxSessionFiles, persistence.MaxSessionFileBytes>>20))
		case err != nil:
			return s.faults.Refuse(ctx, "keep a file of a session", err)
		}
		made.Files = append(made.Files, s.sessionFileOf(one))
	}
	switch _, found, no := s.sessionOf(ctx, account, id); { // its end may not have seen them
	case no != nil:
		return no
	case !found:
		if err := s.cfg.SessionFiles.End(s.base, account.ID, id); err != nil {
			return s.faults.Refuse(ctx, "remove the files of a session", err)
		}
		return noSession(id)
	}
	answer.SendJSON(ctx, fasthttp.StatusCreated, made)
	return nil
}

func (s *Server) giveFile(account persistence.Account, session string, up engine.Upload) (persistence.SessionFile, error) {
	f, err := os.Open(up.Path)
	if err != nil {
		return persistence.SessionFile{}, fmt.Errorf("read an upload: %w", err)
	}
	defer f.Close()
	return s.cfg.SessionFiles.Give(s.base, session, persistence.Blob{
		Account: account.ID, Label: up.Name, ContentType: up.Type, Expires: time.Now().Add(s.cfg.FileTTL), Durable: true, Within: s.within(account),
	}, f)
}

// filesOf says what a body with files is by its headers: a form if it has a boundary, else one file.
func filesOf(ctx *fasthttp.RequestCtx) (boundary string, no *answer.Refusal) {
	kind, _, err := mime.ParseMediaType(string(ctx.Request.Header.ContentType()))
	if e := string(ctx.Request.Header.ContentEncoding()); e == "" || strings.EqualFold(e, "identity") {
		if err == nil && kind == "application/octet-stream" {
			return "", nil
		}
	}
	if boundary, no = contentOf(ctx, true); no == nil { // JSON is a file, too
		return boundary, nil
	}
	return "", answer.RefuseText(engine.CodeUnsupportedMediaType,
		`The Content-Type must be "application/octet-stream", "application/json" (in UTF-8) or "multipart/form-data" with a boundary, without a Content-Encoding`)
}

// readSessionFiles reads a form with files, or one file as it is.
func (s *Server) readSessionFiles(ctx *fasthttp.RequestCtx, account persistence.Account, boundary string) (*body, *answer.Refusal) {
	folder := actors.NewTaskID(time.Now())
	if boundary != "" {
		b, no := s.bodies.readFiles(ctx, account, folder, func(f *form, r io.Reader) *answer.Refusal {
			f.bare = true
			return f.read(r, boundary)
		})
		if no == nil && len(b.files) == 0 {
			no = answer.RefuseInvalid(lang.Fault{Message: `The form has no part "files": send one for each file`})
		}
		return b, no
	}
	name := label(string(ctx.QueryArgs().Peek("name")), "")
	if name == "" {
		return &body{}, answer.RefuseInvalid(lang.Fault{Path: "/name", Message: `The file has no name: add ?name=report.pdf to the address, or send multipart/form-data with a part "files"`})
	}
	return s.bodies.readFiles(ctx, account, folder, func(f *form, r io.Reader) *answer.Refusal {
		f.whole = &io.LimitedReader{R: r, N: maxFile + 1}
		return f.keep(f.whole, name, string(ctx.Request.Header.ContentType()))
	})
}

func (s *Server) listSessionFiles(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	all, err := s.cfg.SessionFiles.List(s.base, account.ID, id)
	if err != nil {
		return s.faults.Refuse(ctx, "list the files of a session", err)
	}
	list := sessionFileList{true, []sessionFile{}}
	for _, one := range all {
		list.Files = append(list.Files, s.sessionFileOf(one))
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, list)
	return nil
}

func (s *Server) removeSessionFile(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	name := string(ctx.QueryArgs().Peek("name"))
	if name == "" {
		return answer.RefuseInvalid(lang.Fault{Path: "/name", Message: "name is missing: it is the name of the file, or its id"})
	}
	err := s.cfg.SessionFiles.Remove(s.base, account.ID, id, name)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return answer.RefuseText(engine.CodeNotFound, fmt.Sprintf("The session has no file %q", lang.Short(name, 100)))
	case err != nil:
		return s.faults.Refuse(ctx, "remove a file of a session", err)
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, sessionFileRemoved{true, name})
	return nil
}
