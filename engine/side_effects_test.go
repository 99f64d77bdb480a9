package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestDialogsHaveABound: of a storm of dialogs the first are told, each with a
// part of its text, and the rest are counted.
func TestDialogsHaveABound(t *testing.T) {
	t.Parallel()
	url := serve(t, "<p>x")
	o := play(t, newInstance(t), fmt.Sprintf(`{"timeout":60000,"actions":[{"open":%q},{"evaluate":"for (let i = 0; i < 130; i++) alert(i + 'é'.repeat(5000)); return 1","options":{"timeout":50000}}]}`, url), TaskEnv{})
	noFailure(`1`)(t, o)
	if len(o.Dialogs) != maxSideEffects || o.Truncated == nil || o.Truncated.Dialogs != 30 {
		t.Fatalf("%d dialogs are told, %+v left out", len(o.Dialogs), o.Truncated)
	}
	for i, d := range o.Dialogs {
		if want := fmt.Sprint(i, "é"); !strings.HasPrefix(d.Text, want) || len(d.Text) > 1010 || d.Kind != "alert" || d.Answer != "accepted" {
			t.Fatalf("dialog %d: %s %.20q (%d bytes) %s", i, d.Kind, d.Text, len(d.Text), d.Answer)
		}
	}
	if len(o.Warnings) != 0 { // nothing was asked
		t.Errorf("warnings: %v", o.Warnings)
	}
}

// TestDialogsAndPicturesAreTold whatever becomes of the task, and secrets in them
// are masked.
func TestDialogsAndPicturesAreTold(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	st := v.stage()
	var k kept
	st.SaveFile = k.save
	o := play(t, newInstance(t), `{"config":{"continueOnError":false},"actions":[{"open":"`+v.own+`/"},{"screenshot":"viewport"},{"fill":["#f","${secret:pass}"]},
		{"evaluate":"confirm('is it '+f.value);prompt('or', f.value)"},{"screenshot":"#f"},{"click":"#nope","options":{"timeout":50}},{"screenshot":"viewport"}]}`, st)
	given, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"kind":"confirm","text":"is it ***","answer":"accepted"},{"kind":"prompt","text":"or","answer":"***"}]`
	if got, _ := json.Marshal(o.Dialogs); string(got) != want || strings.Contains(string(given), "p&s") {
		t.Errorf("dialogs: %s", got)
	}
	if len(o.Failures) != 1 || len(o.Pictures) != 2 || o.Pictures[0] == o.Pictures[1] {
		t.Errorf("%v, pictures %v", failuresOf(o), o.Pictures)
	}
	if len(o.Warnings) != 2 || o.Warnings[0] != (Warning{"3", `confirm dialog "is it ***" was accepted by default`}) {
		t.Errorf("warnings: %v", o.Warnings)
	}
}
