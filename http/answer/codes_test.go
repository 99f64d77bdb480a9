package answer_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http/answer"
)

// TestEveryCodeHasARow reads the codes out of the engine's source: one that is
// added there without a row here would be answered as a 500.
func TestEveryCodeHasARow(t *testing.T) {
	rows := map[string]answer.CodeInfo{}
	for _, row := range answer.Codes() {
		if _, twice := rows[string(row.Code)]; twice {
			t.Errorf("%s has two rows", row.Code)
		}
		rows[string(row.Code)] = row
		switch {
		case row.Text == "":
			t.Errorf("%s has no text", row.Code)
		case row.After > 0 && !row.Retryable:
			t.Errorf("%s has a Retry-After but trying again is no use", row.Code)
		case row.Status == 200 && row.Retryable:
			t.Errorf("%s is retryable although something of the request has run", row.Code)
		case row.Status < 200 || row.Status > 599:
			t.Errorf("%s has the status %d", row.Code, row.Status)
		}
	}
	source, err := parser.ParseFile(token.NewFileSet(), "../../engine/code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(source, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Code" {
			return true
		}
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		found++
		if _, ok := rows[code]; !ok {
			t.Errorf("%s (%s) has no row in codes.go", spec.Names[0].Name, code)
		}
		return true
	})
	if found < 30 {
		t.Errorf("only %d codes were found in the engine's source", found)
	}
}

// TestHints: who finds no free worker learns how to wait for one.
func TestHints(t *testing.T) {
	b, err := json.Marshal(answer.RefuseBy(&api.Refusal{Code: engine.CodeNoWorkerAvailable, Text: "No workers available: of 2 workers 2 are busy"}))
	if err != nil || !strings.Contains(string(b), `"hint":"Send the request again after Retry-After, or with queueTimeout (milliseconds, at most 120000)`) || !strings.Contains(string(b), `"error":"No workers available: of 2 workers 2 are busy"`) {
		t.Errorf("the refusal is %s, %v", b, err)
	}
	if b, _ := json.Marshal(answer.Refuse(engine.CodeUnauthorized)); strings.Contains(string(b), "hint") {
		t.Errorf("a refusal without a hint is %s", b)
	}
}
