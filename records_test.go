package troupe_test

import (
	"go/ast"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// written lists the functions that write JSON in packages whose values outlive the
// process or cross it. Each names the golden files of what it writes, as
// "package:file" where they are another package's, or says in brackets why it has
// none.
var written = map[string]string{
	"actors.importing.keys":        "actors/records:key",
	"actors.importing.sessions":    "actors/records:session actors/records:lease",
	"actors.importing.tasks":       "actors/records:task actors/records:outcome",
	"actors.importing.workers":     "actors/records:worker",
	"actors.session.state":         "actors/records:session-state",
	"actors.sessionBook.putRecord": "actors/records:session",

	"actors.nodeParts.addQueued": "actors/records:queued",

	"actors/lease.Leases.write": "actors/records:lease",

	"actors/runs.History.item":   "actors/records:run",
	"actors/runs.History.putDay": "actors/records:run-day",
	"actors/runs.freshItem":      "actors/records:run-fresh",
	"actors/runs.inJSON":         "(a text that is looked for)",

	"actors/records.Notices.PutState":    "notice-endpoint-state",
	"actors/records.Notices.PutEndpoint": "notice-endpoint",
	"actors/records.Notices.PutSecret":   "notice-secret",
	"actors/records.Notices.apart":       "notice-result",
	"actors/records.Notices.put":         "notice",
	"actors/records.Store.SealNotify":    "task notice-endpoint",
	"actors/records.Store.noticesOf":     "notice",
	"actors/records.Notices.putNew":      "notice",
	"actors/records.putJSON":             "(its callers say)",
	"actors/records.Store.BeginKey":      "key",
	"actors/records.Store.endTask":       "outcome",
	"actors/records.Store.GiveUpKey":     "key",
	"actors/records.Store.EndKey":        "key",
	"actors/records.Store.EndCall":       "key",
	"actors/records.Store.putTaskOver":   "task",
	"actors/records.Batches.End":         "batch-end",
	"actors/records.Batches.Put":         "batch",
	"actors/records.Batches.PutAt":       "batch-at",
	"actors/records.Batches.PutPart":     "batch-part",
	"actors/records.Schedules.ChangeRun": "schedule-run",
	"actors/records.Schedules.Put":       "schedule",
	"actors/records.Schedules.PutRun":    "schedule-run",
	"actors/records.Schedules.PutState":  "schedule-state",
	"actors/records.Queue.Encode":        "queued",
	"actors/records.changes.encode":      "task ended dead",
	"actors/records.Ending.encode":       "outcome",
	"actors/records.Queue.End":           "outcome",
	"actors/records.Queue.Finish":        "ended dead",
	"actors/records.Queue.Hold":          "holder",
	"actors/records.Store.failTask":      "outcome",
	"actors/records.Store.PutWorker":     "worker",
	"actors/records.Store.TakeSession":   "session",

	"cluster/damage.Marks.Write":        "marks",
	"cluster/link.Encode":               "(its test has all kinds of messages)",
	"cluster/link.Transport.fetchPiece": "want-piece",
	"cluster/link.Transport.fetchTo":    "want-piece",
	"cluster/member.Member.Remove":      "(NATS's own message)",
	"cluster/store.Files.describe":      "persistence:file",
	"cluster/store.Store.serveWorkers":  "list-answer add-answer",
	"cluster/store.Store.tellWorkers":   "hub-health",
	"cluster/store.askKeeper":           "list-question add-question",

	"http.init":           "(a schema for clients)",
	"http.canonical":      "request-digest",
	"http.Server.once":    "call-answer",
	"http.Server.playFor": "(for clients)",

	"http/admin.RunFlow.Do": "(a task, as clients write it)",
	"http/admin.Send":       "(its test has all commands)",
	"http/admin.register":   "(its test has all commands)",

	"http/answer.ResultOf":      "(for clients)",
	"http/answer.SendJSON":      "(for clients)",
	"http/answer.WriteIndented": "(for clients)",

	"http.againOf":            "(a task, as clients write it)",
	"http.onceOnly":           "(a task, as clients write it)",
	"http.Server.sendRuns":    "(for clients)",
	"http.itemStream.take":    "(for clients)",
	"http/live.stream.event":  "(for clients)",
	"http/live.tickets.write": "ticket",

	"persistence.Accounts.CreateToken":      "token",
	"persistence.Accounts.put":              "account",
	"persistence.Accounts.recordEvent":      "token-event",
	"persistence.Audit.append":              "audit-begin audit-end",
	"persistence.Flows.put":                 "flow",
	"persistence.Flows.remember":            "removed-flow",
	"persistence.Folder.describe":           "file",
	"persistence.MarkRunning":               "running",
	"persistence.ProfileWriter.sealedAgain": "profile",
	"persistence.Profiles.lock":             "profile-writer",
	"persistence.S3.keep":                   "file",
	"persistence.SessionFiles.note":         "session-file",
	"persistence.rebuild":                   "repair",
	"persistence.sealJSON":                  "secret profile",
	"persistence.stateFile.write":           "state",
	"persistence.withField":                 "actors/records:task",
	"persistence/backup.Mark":               "restored",
	"persistence/backup.change":             "state",
	"persistence/backup.making.list":        "file",
	"persistence/backup.writeManifest":      "manifest",
}

// jsonCalls write JSON: functions of encoding/json, and the one of actors that calls
// them for any value.
var jsonCalls = []string{"json.Marshal", "json.MarshalIndent", "json.NewEncoder", "putJSON"}

// TestEveryRecordIsKnown: whoever begins to write something as JSON says where its
// golden file is, so that later builds are tried with it.
func TestEveryRecordIsKnown(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || !slices.Contains([]string{"actors", "actors/api", "actors/fsm", "actors/lease", "actors/records", "actors/runs", "cluster", "cluster/damage", "cluster/link", "cluster/member", "cluster/store", "http", "http/admin", "http/answer", "http/live", "persistence", "persistence/backup"}, s.pkg) {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !callsJSON(f) {
				continue
			}
			name := s.pkg + "." + f.Name.Name
			if f.Recv != nil {
				name = s.pkg + "." + receiver(f.Recv.List[0].Type) + "." + f.Name.Name
			}
			found[name] = true
			if written[name] == "" {
				t.Errorf("%s: %s writes JSON. If that outlives the process or crosses it, keep a golden file of it in the package's TestGolden; "+
					"then add the function to the list in records_test.go, with the file or a reason", s.path, name)
			}
		}
	}
	for name, where := range written {
		if !found[name] {
			t.Errorf("%s is in the list, and writes no JSON", name)
		}
		if strings.HasPrefix(where, "(") {
			continue
		}
		for _, file := range strings.Fields(where) {
			pkg, base, ok := strings.Cut(file, ":")
			if !ok {
				pkg, base = name[:strings.IndexByte(name, '.')], file
			}
			if _, err := os.Stat(path.Join(pkg, "testdata/golden", base+".json")); err != nil {
				t.Errorf("%s names a golden file that is not there: %v", name, err)
			}
		}
	}
}

func callsJSON(f *ast.FuncDecl) (does bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch fun := call.Fun.(type) {
		case *ast.Ident:
			does = does || slices.Contains(jsonCalls, fun.Name)
		case *ast.SelectorExpr:
			if x, ok := fun.X.(*ast.Ident); ok {
				does = does || slices.Contains(jsonCalls, x.Name+"."+fun.Sel.Name)
			}
		}
		return true
	})
	return does
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}
