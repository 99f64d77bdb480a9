package actors_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors"
	"troupe/testkit/need"
)

// spoiler makes the handling of one kind of message by one kind of actor panic
// once: when it reads the message, or the n-th time that it uses its context
// after that.
type spoiler struct {
	mu     sync.Mutex
	actor  string
	kind   string
	at     int
	uses   int // of the context, while the first such message is handled
	now    actor.Context
	done   bool
	heard  map[string]bool // "actor message" that were handled
	panics int
}

func (s *spoiler) config(c *actors.Config) {
	actors.Decorate(c, func(next actor.ContextDecoratorFunc) actor.ContextDecoratorFunc {
		return func(ctx actor.Context) actor.Context { return &spoiled{next(ctx), s} }
	})
}

func (s *spoiler) read(ctx actor.Context, m any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, what := strings.TrimPrefix(fmt.Sprintf("%T", ctx.Actor()), "*actors."), strings.Replace(fmt.Sprintf("%T", m), "*actors.", "*", 1)
	s.heard[who+" "+what] = true
	switch {
	case s.done:
		return
	case who != s.actor || what != s.kind:
		if s.now == ctx { // it has come to the next message
			s.now = nil
		}
		return
	case s.uses > 0 && s.now != ctx:
		return
	}
	s.now = ctx
	s.count()
}

func (s *spoiler) use(ctx actor.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == ctx && !s.done {
		s.count()
	}
}

func (s *spoiler) count() {
	s.uses++
	if s.uses > s.at {
		s.done, s.now = true, nil
		s.panics++
		panic("spoiled")
	}
}

// end lets nothing panic any more.
func (s *spoiler) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
}

// spoiled is a context that panics when the spoiler wants it.
type spoiled struct {
	actor.Context
	by *spoiler
}

func (c *spoiled) Message() any {
	m := c.Context.Message()
	c.by.read(c.Context, m)
	return m
}

func (c *spoiled) Send(to *actor.PID, m any) { c.by.use(c.Context); c.Context.Send(to, m) }
func (c *spoiled) Respond(m any)             { c.by.use(c.Context); c.Context.Respond(m) }
func (c *spoiled) Sender() *actor.PID        { c.by.use(c.Context); return c.Context.Sender() }
func (c *spoiled) Self() *actor.PID          { c.by.use(c.Context); return c.Context.Self() }
func (c *spoiled) Stop(who *actor.PID)       { c.by.use(c.Context); c.Context.Stop(who) }
func (c *spoiled) Poison(who *actor.PID)     { c.by.use(c.Context); c.Context.Poison(who) }
func (c *spoiled) SpawnNamed(p *actor.Props, name string) (*actor.PID, error) {
	c.by.use(c.Context)
	return c.Context.SpawnNamed(p, name)
}

func (c *spoiled) RequestWithCustomSender(to *actor.PID, m any, sender *actor.PID) {
	c.by.use(c.Context)
	c.Context.RequestWithCustomSender(to, m, sender)
}

// handled reads from the source which actor has a case for which message, or
// handles it as a verb.
func handled(t *testing.T) map[string]bool {
	t.Helper()
	verbs, messages := map[string]string{}, map[string]string{} // by "type method": the actor; the message
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				verbsIn(g, verbs)
			}
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv != nil && len(f.Type.Params.List) == 2 {
				messages[spelled(f.Recv.List[0].Type)+" "+f.Name.Name] = spelled(f.Type.Params.List[1].Type)
			}
			if !ok || f.Recv == nil || f.Name.Name != "Receive" && f.Name.Name != "handle" {
				continue
			}
			who := spelled(f.Recv.List[0].Type)
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if s, ok := n.(*ast.TypeSwitchStmt); ok {
					for _, c := range s.Body.List {
						for _, of := range c.(*ast.CaseClause).List {
							all[strings.TrimPrefix(who, "*")+" "+spelled(of)] = true
						}
					}
				}
				return true
			})
		}
	}
	if len(verbs) < 8 {
		t.Fatalf("only %d verbs were found in the source", len(verbs))
	}
	for method, who := range verbs {
		all[who+" "+messages[method]] = true
	}
	return all
}

// verbsIn finds the methods that handle is called with, by "*type method", and
// whose verbs they are.
func verbsIn(d *ast.GenDecl, all map[string]string) {
	for _, s := range d.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			continue
		}
		call, ok := v.Values[0].(*ast.CallExpr)
		if !ok || spelled(call.Fun) != "handle" {
			continue
		}
		f := call.Args[1]
		if part, ok := f.(*ast.CallExpr); ok { // a method of one of the actor's parts
			f = part.Args[0]
		}
		method := f.(*ast.SelectorExpr)
		all[spelled(method.X.(*ast.ParenExpr).X)+" "+method.Sel.Name] = strings.TrimSuffix(spelled(call.Args[0]), "Verbs")
	}
}

func spelled(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return "*" + spelled(e.X)
	case *ast.SelectorExpr:
		return spelled(e.X) + "." + e.Sel.Name
	case *ast.Ident:
		return e.Name
	default:
		return fmt.Sprintf("%T", e)
	}
}

// TestPanicsAreAnswered makes each actor panic at each of its messages, at the first place of
// their handling that uses the actor's context, while a node is used in all ways. Every
// request gets a definite answer soon, and all goes on. It is every third message, unless a
// pattern names the test: TestPanicsAtEveryPlace has them all.
func TestPanicsAreAnswered(t *testing.T) {
	need.Time(t)
	each := 3
	if need.Named() {
		each = 1
	}
	panicsAt(t, each, 1)
}

// TestPanicsAtEveryPlace does the same at each place that uses the context.
func TestPanicsAtEveryPlace(t *testing.T) {
	need.Time(t)
	need.All(t)
	need.NoRace(t)
	panicsAt(t, 1, math.MaxInt)
}

// panicsAt tries every each-th message, and of its handling so many places.
func panicsAt(t *testing.T, each, places int) {
	t.Helper()
	left := handled(t)
	if len(left) < 90 {
		t.Fatalf("only %d messages were found in the source", len(left))
	}
	n := 0
	for _, j := range scenarios {
		s := &spoiler{heard: map[string]bool{}}
		j.run(t, "nothing panics", s)
		for _, pair := range slices.Sorted(maps.Keys(s.heard)) {
			if !left[pair] { // no case for it, or another scenario had it
				continue
			}
			delete(left, pair)
			if n++; n%each != 0 {
				continue
			}
			who, what, _ := strings.Cut(pair, " ")
			for at := range places {
				s := &spoiler{actor: who, kind: what, at: at, heard: map[string]bool{}}
				if !j.run(t, fmt.Sprintf("%s/%s/%d", who, what, at), s) || s.panics == 0 {
					break
				}
			}
		}
	}
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return // some cases alone
	}
	for pair := range left {
		t.Errorf("no scenario has it: %s", pair)
	}
}
