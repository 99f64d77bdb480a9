package http

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/engine/lang"
)

// keyHeader makes a request safe to repeat.
const keyHeader = "Idempotency-Key"

// traceHeader brings the trace that a task belongs to.
const traceHeader = "traceparent"

// maxKey bounds what a client may name a request by, in bytes.
const maxKey = 255

// keyOf returns the request's key, or what is wrong with it. Empty: there is
// none.
func keyOf(ctx *fasthttp.RequestCtx) (string, *lang.Fault) {
	all := ctx.Request.Header.PeekAll(keyHeader)
	switch {
	case len(all) == 0:
		return "", nil
	case len(all) > 1:
		return "", &lang.Fault{Message: "There is more than one " + keyHeader + ": send one"}
	case len(all[0]) == 0 || len(all[0]) > maxKey:
		return "", &lang.Fault{Message: fmt.Sprintf("%s has %d characters: want 1 to %d", keyHeader, len(all[0]), maxKey)}
	}
	for _, c := range all[0] {
		if c <= ' ' || c > '~' {
			return "", &lang.Fault{Message: keyHeader + " has a character that is not visible ASCII"}
		}
	}
	return string(all[0]), nil
}

// digest stands for the content of a request: what its payload means, and the
// bytes of its files.
func digest(payload []byte, files []engine.Upload) ([]byte, error) {
	plain, err := canonical(payload)
	if err != nil {
		return nil, err
	}
	all := sha256.New()
	part := func(b []byte) {
		all.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		all.Write(b)
	}
	part(plain)
	for _, f := range files {
		sum, err := fileSum(f.Path)
		if err != nil {
			return nil, err
		}
		part(sum)
	}
	return all.Sum(nil), nil
}

// canonical writes JSON so that what means the same is the same: the order of
// keys, spaces, escapes and the spelling of numbers do not count.
func canonical(payload []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("read the payload: %w", err)
	}
	return json.Marshal(plainNumbers(v)) // which orders the keys
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case json.Number:
		// Up to fifteen digits a float tells all numbers apart. Longer ones
		// are compared as they are written.
		const exact = 15
		if len(v) <= exact && !strings.ContainsAny(string(v), "eE") {
			if f, err := v.Float64(); err == nil {
				return json.Number(strconv.FormatFloat(f+0, 'f', -1, 64)) // -0 is 0
			}
		}
	}
	return v
}

func fileSum(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, err
	}
	return sum.Sum(nil), nil
}
