package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// Fetcher gets a file by its URL through the outbound rules, up to a number of
// bytes. It gives the file's name and its bytes. Each address that it is redirected to is
// asked about before anything is sent there.
type Fetcher func(ctx context.Context, url string, limit int64, may func(address string) error) (name string, body io.ReadCloser, err error)

// MaxUpload bounds one file, in bytes.
const MaxUpload = 25 << 20

// source is where a file to upload comes from: a file of the request, or a URL.
type source struct {
	file int // index, or -1
	url  lang.Text
}

type uploading struct {
	into  lang.Selector
	files []source
}

func (u uploading) Keys(to map[string]bool) {
	u.into.Keys(to)
	for _, f := range u.files {
		f.url.Keys(to)
	}
}

var fileRef = regexp.MustCompile(`^\$file:(\d+)$`)

const sourceSchema = `{"type":"string","minLength":1}`

// readSource reads where a file comes from.
func (d *decoder) readSource(n *lang.Node) source {
	s, ok := d.ReadString(n, "$file:N or a URL")
	if !ok {
		return source{file: -1}
	}
	if strings.HasPrefix(s, "$file:") {
		m := fileRef.FindStringSubmatch(s)
		if m == nil {
			d.Fault(n, "want $file:N with the 0-based index of a file of the request, not %q", lang.Short(s, 60))
			return source{file: -1}
		}
		i, err := strconv.Atoi(m[1])
		if err != nil || i >= len(d.files) {
			d.Fault(n, "%s does not exist: %s", s, d.hasFiles())
			return source{file: -1}
		}
		return source{file: i}
	}
	return source{file: -1, url: webURLShape.Read(&d.Decoder, n)}
}

var _ = define(Action[uploading]{
	Name: "uploadFile", Group: "File upload",
	Doc: "Puts files into a file input. A source is `$file:N`, the Nth file of a multipart request, counted from 0, or a public URL that Troupe fetches under the same outbound rules as the browser. For several files, give an array of sources. A file has at most 25 MiB. " +
		"The selector names the input, which can be hidden, its label, or an element that contains it. It can also name what a person would use: a button that opens a file chooser, which the action clicks, " +
		"or a place to drop files on. The action drops the files if its click opens no chooser within a second, or at once if the element is not a button or link. Into an input for a folder the files go as the content of one. The action fails if the input has fewer files then than it was given. It cannot give files to a picker of the File System Access API (`showOpenFilePicker`).",
	Value: lang.Shape[uploading]{
		Words: "[selector, source or array of sources]", Schema: `{"type":"array","prefixItems":[` + lang.SelectorShape.Schema + `,{"anyOf":[` + sourceSchema + `,{"type":"array","items":` + sourceSchema + `,"minItems":1,"maxItems":50}]}],"minItems":2,"maxItems":2}`,
	},
	Decode: func(d *decoder, n *lang.Node) (u uploading) {
		if !n.IsArray() || len(n.Elements) != 2 {
			d.Fault(n, "want [selector, source], not %s", n.Describe())
			return u
		}
		u.into = lang.SelectorShape.Read(&d.Decoder, n.Elements[0])
		list := n.Elements[1]
		if !list.IsArray() {
			u.files = []source{d.readSource(list)}
			return u
		}
		if len(list.Elements) == 0 || len(list.Elements) > 50 {
			d.Fault(list, "want 1 to 50 sources, not %d", len(list.Elements))
		}
		for _, e := range list.Elements {
			u.files = append(u.files, d.readSource(e))
		}
		return u
	},
	Example: `{"uploadFile":["input[type=file]","$file:0"]}`, Page: "/contact",
	Run: func(ctx context.Context, r *Run, s *Step, v uploading) (Result, error) {
		if r.task.Config.RefuseUploads {
			return nil, Problemf(CodeInvalidValue, "The task refuses uploads: config.uploads is refuse")
		}
		var paths []string
		for _, f := range v.files {
			path, err := f.fetch(ctx, r)
			if err != nil {
				return nil, err
			}
			paths = append(paths, path)
		}
		// Waited for first, so that a missing element is reported as everywhere.
		var found struct {
			Is     string `json:"is"`     // what is no file input
			Button bool   `json:"button"` // it is made to be pressed
			Folder bool   `json:"folder"` // it takes a folder
		}
		if err := r.page.ask(ctx, s, "fileInput", v.into, map[string]any{"count": len(paths)}, &found); err != nil {
			return nil, err
		}
		if found.Is != "" {
			of := offer{run: r, step: s, into: v.into, paths: paths}
			return nil, of.answer(ctx, found.Is, found.Button)
		}
		r.page.input = sentAct
		give := paths
		if found.Folder {
			folder, err := r.tabs.Transfers.FolderOf(paths)
			if err != nil {
				return nil, err
			}
			give = []string{folder}
		}
		if err := r.page.at.SetFiles(ctx, give); err != nil {
			return nil, err
		}
		return nil, r.arrived(ctx, s, v.into, len(paths))
	},
})

// arrived looks whether an input has as many files as it was given.
func (r *Run) arrived(ctx context.Context, s *Step, into lang.Selector, count int) error {
	raw, err := r.page.call(ctx, s, Call{Fn: "put", Arg: map[string]any{"count": count}})
	r.page.input = sentAct
	if err != nil {
		if errors.Is(err, browser.ErrDetached) || errors.Is(err, browser.ErrFrameLost) {
			return nil // a page that has left has had them
		}
		return err
	}
	var put struct {
		N    int  `json:"n"`
		Left int  `json:"left"`
		Gone bool `json:"gone"`
	}
	if err := json.Unmarshal(raw, &put); err != nil {
		return fmt.Errorf("reading what a file input has: %w", err)
	}
	if !put.Gone && put.N >= count && put.Left > 0 && put.Left < count {
		r.warn("%q has kept %d of the %d files: the page has taken the others out", into.String(), put.Left, count)
	}
	if put.Gone || put.N >= count {
		return nil
	}
	return Problemf(CodeInvalidValue, "Element %q took %d of %d %s", into.String(), put.N, count, Plural(count, "file", "files"))
}

// fetch brings one source into the browser's own folder, under a name that the
// page will see, and returns its path.
func (f source) fetch(ctx context.Context, r *Run) (string, error) {
	var name string
	var body io.ReadCloser
	if path, ok := r.copied[f.file]; ok { // it is there already, and never changes
		return path, nil
	}
	if f.file >= 0 {
		u := r.task.Files[f.file]
		file, err := os.Open(u.Path)
		if err != nil {
			return "", fmt.Errorf("opening $file:%d: %w", f.file, err)
		}
		name, body = u.Name, file
	} else {
		url, err := r.navigation.address(f.url)
		if err != nil {
			return "", err
		}
		if !r.tabs.Sites.Allow(url) {
			r.sites.refuse(url)
			return "", ctx.Err()
		}
		if r.egress == nil {
			return "", Problemf(CodeNavigationFailed, "%s cannot be fetched: uploads by URL are switched off", r.mask.Text(url).Short(200))
		}
		if name, body, err = r.egress(ctx, url, MaxUpload, r.mayFetch); err != nil {
			var elsewhere *siteRefused
			if errors.As(err, &elsewhere) {
				r.sites.refuse(elsewhere.address)
				return "", ctx.Err()
			}
			return "", Problemf(CodeNavigationFailed, "%s could not be fetched: %s", r.mask.Text(url).Short(200), ErrorText(err))
		}
	}
	defer body.Close()
	path, n, err := r.tabs.Transfers.KeepUpload(name, io.LimitReader(body, MaxUpload+1))
	if errors.Is(err, browser.ErrUploads) {
		return "", Problemf(CodeStorageQuota, "the file %q is too much: %v", r.mask.Text(name).Short(100), browser.ErrUploads)
	}
	if err != nil {
		return "", Problemf(CodeNavigationFailed, "the file %q could not be read: %s", r.mask.Text(name).Short(100), ErrorText(err))
	}
	if n > MaxUpload {
		return "", Problemf(CodeInvalidValue, "the file %q has more than %d MiB", r.mask.Text(name).Short(100), MaxUpload>>20)
	}
	if f.file >= 0 {
		if r.copied == nil {
			r.copied = map[int]string{}
		}
		r.copied[f.file] = path
	}
	return path, nil
}

// mayFetch refuses addresses of sites that the task may not go to.
func (r *Run) mayFetch(address string) error {
	if r.tabs.Sites.Allow(address) {
		return nil
	}
	return &siteRefused{address, r.tabs.Sites.Lists()}
}

// following is a client that asks about each address that it is redirected to.
func following(client *http.Client, may func(address string) error) *http.Client {
	own, check := *client, client.CheckRedirect
	own.CheckRedirect = func(to *http.Request, via []*http.Request) error {
		if err := may(to.URL.String()); err != nil {
			return err
		}
		if check != nil {
			return check(to, via)
		}
		if len(via) >= maxFetchRedirects {
			return fmt.Errorf("stopped after %d redirects", maxFetchRedirects)
		}
		return nil
	}
	return &own
}

// maxFetchRedirects is for clients that have no bound of their own.
const maxFetchRedirects = 10

// hasFiles says which files of the request can be named.
func (d *decoder) hasFiles() string {
	switch n := len(d.files); {
	case len(d.flows.within) > 0:
		return "a flow gets no files of the request; give it an address as a parameter"
	case n == 0:
		return "the request has no files"
	case n == 1:
		return "the request has 1 file, $file:0"
	default:
		return fmt.Sprintf("the request has %d files, $file:0 to $file:%d", n, n-1)
	}
}
