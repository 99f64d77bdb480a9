package engine

import (
	"context"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"

	"troupe/engine/mask"
)

// TestEveryWayOutIsMasked: what a task gives has only kinds of fields that leave
// knows, each text in it is masked or has the tag of what is not a page's, and a
// stage has no callback that would hear anything else.
func TestEveryWayOutIsMasked(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2"
	m := mask.New([]string{secret})
	own := map[string]bool{}
	var fill func(v reflect.Value, path string)
	fill = func(v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.String:
			v.SetString("a " + secret)
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), path)
		case reflect.Slice:
			if v.Type().Elem().Kind() == reflect.Uint8 {
				v.SetBytes([]byte(`["a ` + secret + `"]`))
				return
			}
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0), path)
			fill(v.Index(1), path)
		case reflect.Struct:
			for i := range v.NumField() {
				f := v.Type().Field(i)
				if f.Tag.Get("mask") == "own" {
					own[path+"."+f.Name] = true
					continue
				}
				fill(v.Field(i), path+"."+f.Name)
			}
		case reflect.Map: // its keys are the service's own
			value := reflect.New(v.Type().Elem()).Elem()
			fill(value, path)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("@e1"), value)
		case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		default:
			t.Errorf("%s is a %s: leave does not know how to mask that", path, v.Type())
		}
	}
	o, s, f := new(Outcome), new(StepReport), new(File)
	fill(reflect.ValueOf(o).Elem(), "Outcome")
	fill(reflect.ValueOf(s).Elem(), "StepReport")
	fill(reflect.ValueOf(f).Elem(), "File")
	leave(m, o)
	leave(m, s)
	leave(m, f)
	b, err := json.Marshal([]any{o, s, f})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "hunter2") || strings.Count(string(b), mask.Mark) < 10 {
		t.Errorf("what leaves is %s", b)
	}
	// Whoever adds to this list says that no page has a word in that field.
	want := "File.Account File.ContentType File.Plan Outcome.End Outcome.Failed Outcome.Evidence.Console Outcome.Evidence.HTML Outcome.Evidence.Network Outcome.Evidence.Path Outcome.Evidence.Screenshot " +
		"Outcome.Failures.Action Outcome.Failures.Code Outcome.Failures.Flow Outcome.Failures.Path Outcome.Dialogs.Kind Outcome.Downloads.Hash Outcome.Downloads.Type Outcome.Downloads.URL Outcome.HARFile Outcome.Pictures Outcome.Steps.Action Outcome.Steps.Code Outcome.Steps.Flow Outcome.Steps.Path Outcome.Trace Outcome.Warnings.Path StepReport.Action StepReport.Code StepReport.Flow StepReport.Path"
	for field := range own {
		if !strings.Contains(" "+want+" ", " "+field+" ") {
			t.Errorf("%s is not masked", field)
		}
	}

	st := reflect.TypeFor[TaskEnv]()
	for i := range st.NumField() {
		if f := st.Field(i); f.Type.Kind() == reflect.Func && f.Name != "SaveFile" && f.Name != "OnStep" && f.Name != "Measure" {
			t.Errorf("what TaskEnv.%s gets is not masked: see masked", f.Name)
		}
	}
	heard := ""
	hears := func(s StepReport) { heard += s.Error }
	stage := masked(m, TaskEnv{OnStep: hears, Measure: hears, SaveFile: func(_ context.Context, f File, _ io.Reader) (string, error) {
		heard += f.Name
		return "", nil
	}})
	stage.OnStep(StepReport{Error: secret})
	stage.Measure(StepReport{Error: secret})
	_, _ = stage.SaveFile(t.Context(), File{Name: secret}, nil)
	if heard != "*********" {
		t.Errorf("callbacks heard %s", heard)
	}
}
