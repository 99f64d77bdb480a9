package actors_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// selfSent are messages that an actor sends to itself when something outside
// of its mailbox has ended. They hold what that was: its address tells what is late.
var selfSent = []string{
	"launched", "browserGone", "renew", "suspended", "ended", "late", "resetDone", // the worker
	"counted", "keyRead", "keyWritten", "answerWritten", "callBegun", "callEnded", "taskWritten", "endWritten", "waited",
	"entryAdded", "turnRead", "aheadRead", "announced", "queueLoaded", "queuedMoved", "givenBack", "waitingEnded", "cancelFound", "cancelKept", "cancelHere", "placeRead", "queueWaited", "turnHere", "movedHere", "profileFree", "queueReported", // the queue
	"workerWritten", "removalGraceOver", "workerErased", "waitOver", // pool
}

// handed is what is passed on whole with a message: nobody else has it then, or
// nobody changes it.
var handed = []string{
	"*actor.PID",                                       // an address
	"*engine.Task", "*engine.Outcome", "*engine.Queue", // parsed once, made once
	"endReservation.session", "workerAdopt.session", // a session on its way to its worker
	"queueTake.queue", // the queue, on its way to the one that orders it
}

// TestMessagesArePlainData: no message between actors holds a function, a channel,
// or anything that somebody goes on to change.
func TestMessagesArePlainData(t *testing.T) {
	structs := map[string]ast.Expr{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := filepath.Glob("*/*.go")
	if err != nil || len(rooms) < 20 {
		t.Fatal(rooms, err)
	}
	fset := token.NewFileSet()
	for _, name := range append(files, rooms...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		in := ""
		if f.Name.Name != "actors" {
			in = f.Name.Name + "."
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				structs[in+s.Name.Name] = s.Type
			}
			return true
		})
	}
	seen := map[string]bool{}
	var look func(where string, e ast.Expr)
	fields := func(where string, s *ast.StructType) {
		for _, f := range s.Fields.List {
			name := "embedded"
			if len(f.Names) > 0 {
				name = f.Names[0].Name
			}
			if !slices.Contains(handed, where+"."+name) && !slices.Contains(handed, spelled(f.Type)) {
				look(where+"."+name, f.Type)
			}
		}
	}
	look = func(where string, e ast.Expr) {
		switch e := e.(type) {
		case *ast.FuncType, *ast.ChanType, *ast.InterfaceType:
			t.Errorf("%s is no plain data", where)
		case *ast.StructType:
			fields(where, e)
		case *ast.StarExpr:
			look(where, e.X)
		case *ast.ArrayType:
			look(where, e.Elt)
		case *ast.MapType:
			look(where, e.Key)
			look(where, e.Value)
		case *ast.Ident:
			name := e.Name
			if room, _, _ := strings.Cut(where, "."); structs[room+"."+name] != nil {
				name = room + "." + name
			}
			of := structs[name]
			switch {
			case e.Name == "error" || e.Name == "any":
				t.Errorf("%s is no plain data", where)
			case of != nil && !seen[name]:
				seen[name] = true
				look(name, of)
			}
		case *ast.SelectorExpr: // of another package: only what has no life of its own
			s := spelled(e)
			if of := structs[s]; of != nil {
				if !seen[s] {
					seen[s] = true
					look(s, of)
				}
				return
			}
			switch s {
			case "time.Time", "time.Duration", "json.RawMessage", "engine.Plan", "engine.Code", "engine.Limits", "engine.StepReport", "persistence.Known":
			default:
				t.Errorf("%s is a %s, which is not known to be plain data", where, s)
			}
		}
	}
	messages := 0
	for pair := range handled(t) {
		_, name, _ := strings.Cut(pair, " ")
		name = strings.TrimPrefix(name, "*")
		if strings.HasPrefix(name, "actor.") || slices.Contains(selfSent, name) {
			continue
		}
		messages++
		if structs[name] == nil {
			t.Errorf("there is no message %s", name)
		}
		look(name, structs[name])
	}
	for _, reply := range []string{
		"api.Executed", "api.Started", "api.Polled", "api.Followed", "api.Cancelled", "api.Workers", "api.Drained", "api.WorkerChanged",
		"api.AccountRemoved", "api.Restored",
		"startAck", "flushed", "failure", "reservedForSession", "sessionBegun", "sessionKept", "sessionErased", "sessionRecalled", "sessionConfirmed",
	} {
		if structs[reply] == nil {
			t.Errorf("there is no reply %s", reply)
		}
		look(reply, structs[reply])
	}
	if messages < 50 {
		t.Errorf("only %d messages were found", messages)
	}
}
