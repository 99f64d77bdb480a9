package engine

import (
	"bytes"
	"context"
	"encoding/json"
)

// fileKeeper keeps files that show how a run went.
type fileKeeper struct{ run *Run }

// keepFile keeps a file and gives its address, or a warning.
func (k *fileKeeper) keep(ctx context.Context, f File, b []byte) string {
	r := k.run
	if r.env.SaveFile == nil {
		r.warn("%s could not be kept: this service has no storage for files", f.Name)
		return ""
	}
	f.Account, f.Plan = r.env.Account, r.env.Plan
	url, err := r.env.SaveFile(ctx, f, bytes.NewReader(b))
	if err != nil {
		r.warn("%s could not be kept: %s", f.Name, ErrorText(err))
		return ""
	}
	return url
}

func (k *fileKeeper) keepJSON(ctx context.Context, name string, log any) string {
	b, err := json.Marshal(log)
	if err != nil {
		k.run.warn("%s could not be kept: %v", name, err)
		return ""
	}
	return k.keep(ctx, File{Name: name, ContentType: "application/json", Inline: true}, b)
}
