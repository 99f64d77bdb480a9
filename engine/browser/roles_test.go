package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"troupe/engine/browser"
	"troupe/testkit/need"
)

// perceive is what the elements of a page are to the page script and to the browser.
func perceive(t *testing.T, ctx context.Context, tab *browser.Tab, body string) []browser.Perceived {
	t.Helper()
	quoted, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Script.Evaluate(ctx, `document.body.innerHTML = `+string(quoted)+`
		for (const t of document.querySelectorAll('template[data-shadow]')) { t.parentNode.attachShadow({mode: 'open'}).append(t.content); t.remove() }`, nil, false); err != nil {
		t.Fatal(err)
	}
	all, err := tab.Perceive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRolesAndNames: the role and the name of one element each, as the specifications
// have them.
func TestRolesAndNames(t *testing.T) {
	t.Parallel()
	ctx, tab := newTab(t)
	for _, tc := range []struct{ html, role, name string }{
		// Roles of HTML.
		{`<button data-n=1>Save</button>`, "button", "Save"},
		{`<a data-n=1 href=#>More</a>`, "link", "More"},
		{`<a data-n=1>More</a>`, "generic", ""},
		{`<input data-n=1>`, "textbox", ""},
		{`<input data-n=1 type=nonsense>`, "textbox", ""},
		{`<input data-n=1 type=search>`, "searchbox", ""},
		{`<input data-n=1 list=l><datalist id=l><option>a</datalist>`, "combobox", ""},
		{`<input data-n=1 list=none>`, "textbox", ""},
		{`<input data-n=1 type=checkbox>`, "checkbox", ""},
		{`<input data-n=1 type=image alt=Go>`, "button", "Go"},
		{`<input data-n=1 type=submit>`, "button", "Submit"},
		{`<input data-n=1 type=reset value=Undo>`, "button", "Undo"},
		{`<input data-n=1 type=file>`, "button", "Choose File"},
		{`<select data-n=1><option>a</select>`, "combobox", ""},
		{`<select data-n=1 size=3><option>a</select>`, "listbox", ""},
		{`<select data-n=1 multiple><option>a</select>`, "listbox", ""},
		{`<select><option data-n=1>One</select>`, "option", "One"},
		{`<img data-n=1 alt=Logo src=x>`, "img", "Logo"},
		{`<img data-n=1 alt="" src=x>`, "none", ""},
		{`<img data-n=1 src=x>`, "img", ""},
		{`<img data-n=1 alt="" aria-label=Logo src=x>`, "img", "Logo"},
		{`<svg data-n=1 width=9 height=9><title>Disk</title><rect width=9 height=9 /></svg>`, "img", "Disk"},
		{`<h3 data-n=1>Title <b>two</b></h3>`, "heading", "Title two"},
		{`<ul><li data-n=1>One</ul>`, "listitem", ""},
		{`<ul role=none><li data-n=1>One</ul>`, "generic", ""},
		{`<nav data-n=1 aria-label=Main><a href=#>x</a></nav>`, "navigation", "Main"},
		{`<section data-n=1>x</section>`, "generic", ""},
		{`<section data-n=1 aria-labelledby=h><h2 id=h>Prices</h2></section>`, "region", "Prices"},
		{`<header data-n=1>x</header>`, "banner", ""},
		{`<article><header data-n=1>x</header></article>`, "sectionheader", ""},
		{`<main><footer data-n=1>x</footer></main>`, "sectionfooter", ""},
		{`<main><aside data-n=1>x</aside></main>`, "complementary", ""},
		{`<article><aside data-n=1>x</aside></article>`, "generic", ""},
		{`<table data-n=1><caption>Prices</caption><tr><td>1</table>`, "table", "Prices"},
		{`<table><tr><th data-n=1>Price<th>Name<tr><td>1<td>2</table>`, "columnheader", "Price"},
		{`<table><tr><th data-n=1>Price<td>1</table>`, "rowheader", "Price"},
		{`<table><tr><th data-n=1 scope=col>Price<td>1</table>`, "columnheader", "Price"},
		{`<table><tr><td data-n=1>1</table>`, "cell", "1"},
		{`<table role=grid><tr><td data-n=1>1</table>`, "gridcell", "1"},
		{`<table role=presentation><tr><td data-n=1>1</table>`, "generic", ""},
		{`<details><summary data-n=1>More</summary>x</details>`, "button", "More"},
		{`<dialog data-n=1 open aria-label=Cookies>x</dialog>`, "dialog", "Cookies"},
		{`<fieldset data-n=1><legend>Address</legend>x</fieldset>`, "group", "Address"},
		{`<output data-n=1>7</output>`, "status", ""},
		{`<progress data-n=1></progress>`, "progressbar", ""},
		{`<form data-n=1 aria-label=Login>x</form>`, "form", "Login"},
		// Roles that are said.
		{`<div data-n=1 role="nonsense button">x</div>`, "button", "x"},
		{`<div data-n=1 role=BUTTON>x</div>`, "button", "x"},
		{`<div data-n=1 role=image aria-label=y>x</div>`, "img", "y"},
		{`<button data-n=1 role=none>x</button>`, "button", "x"},
		{`<h2 data-n=1 role=presentation>x</h2>`, "none", ""},
		{`<h2 data-n=1 role=presentation aria-label=y>x</h2>`, "heading", "y"},
		{`<div data-n=1 role=region>x</div>`, "generic", ""},
		// Names.
		{`<button data-n=1 aria-label="Close it">x</button>`, "button", "Close it"},
		{`<button data-n=1 aria-label="  ">x</button>`, "button", "x"},
		{`<p id=a>Delete</p><p id=b>the file</p><button data-n=1 aria-labelledby="a none b" aria-label=no>x</button>`, "button", "Delete the file"},
		{`<button data-n=1 id=me aria-label=Delete aria-labelledby="me f">x</button><a href=# id=f>notes.txt</a>`, "button", "Delete notes.txt"},
		{`<p id=a hidden>Hidden <i>words</i></p><button data-n=1 aria-labelledby=a>x</button>`, "button", "Hidden words"},
		{`<p id=a>One <i hidden>two</i></p><button data-n=1 aria-labelledby=a>x</button>`, "button", "One"},
		{`<label for=i>E-mail</label><input data-n=1 id=i>`, "textbox", "E-mail"},
		{`<label>Name <input data-n=1> (full)</label>`, "textbox", "Name (full)"},
		{`<label for=i>One</label><label for=i>two</label><input data-n=1 id=i>`, "textbox", "One two"},
		{`<label>Wake me <input type=checkbox data-n=1> in <input value=5> minutes</label>`, "checkbox", "Wake me in 5 minutes"},
		{`<label>Wake me <input type=checkbox data-n=1> in <input type=password value=5> minutes</label>`, "checkbox", "Wake me in minutes"},
		{`<label>Wake me <input type=checkbox data-n=1> on <select><option>Monday<option selected>Friday</select></label>`, "checkbox", "Wake me on Friday"},
		{`<label>Wake me <input type=checkbox data-n=1> by <span role=slider aria-valuenow=4 aria-valuetext=four></span></label>`, "checkbox", "Wake me by four"},
		{`<input data-n=1 placeholder=Search>`, "textbox", "Search"},
		{`<input data-n=1 placeholder=Search title=Find>`, "textbox", "Find"},
		{`<input data-n=1 placeholder=Search aria-label=Find>`, "textbox", "Find"},
		{`<button data-n=1 title=Save></button>`, "button", "Save"},
		{`<button data-n=1><img alt=Disk src=x> Save</button>`, "button", "Disk Save"},
		{`<button data-n=1><i aria-hidden=true>save</i>Save</button>`, "button", "Save"},
		{`<button data-n=1><i style=display:none>no</i><i style=visibility:hidden>no<b style=visibility:visible>yes</b></i>Save</button>`, "button", "yesSave"},
		{`<button data-n=1>Add<br>to <div>basket</div></button>`, "button", "Add to basket"},
		{`<button data-n=1><span aria-label=One>x</span> <span title=two></span></button>`, "button", "One two"},
		{`<style>#x::before{content:"» "}#x::after{content:url(x) / "new"}</style><a data-n=1 id=x href=#>More</a>`, "link", "» Morenew"},
		{`<div data-n=1 role=checkbox><span>Accept</span> all</div>`, "checkbox", "Accept all"},
		{`<div data-n=1 aria-label=x>y</div>`, "generic", ""},
		{`<p data-n=1 aria-label=x>y</p>`, "paragraph", ""},
		{`<button data-n=1>Sa&shy;ve&#8203; it</button>`, "button", "Save it"},
		{`<div><template data-shadow><b>In</b> <slot></slot></template>out</div>`, "", ""},
		{`<button data-n=1><div><template data-shadow><b>In</b> <slot></slot></template>out</div></button>`, "button", "In out"},
		{`<p id=a>A <span aria-labelledby=b>x</span></p><p id=b>b</p><button data-n=1 aria-labelledby=a>x</button>`, "button", "A x"},
		{`<p id=a aria-labelledby=a>A</p><button data-n=1 aria-labelledby=a>x</button>`, "button", "A"},
	} {
		for _, p := range perceive(t, ctx, tab, tc.html) {
			if p.Role != tc.role || p.Name != tc.name {
				t.Errorf("%s is %s %q, want %s %q (the browser: %s %q)", tc.html, p.Role, p.Name, tc.role, tc.name, p.TheirRole, p.TheirName)
			}
		}
	}
}

// TestRolesAndNamesAsTheBrowserHasThem compares generated pages with the browser's own
// tree, where the specifications leave nothing open.
func TestRolesAndNamesAsTheBrowserHasThem(t *testing.T) {
	need.All(t)
	t.Parallel()
	ctx, tab := newTab(t)
	// The browser has roles of its own for some elements, names what may have no name,
	// and asks for the parent that a role should have.
	same := map[string]string{"img": "image", "button": "DisclosureTriangle", "textbox": "Date"}
	unnamed := []string{"generic", "term", "emphasis", "paragraph", "definition", "caption", "figure", "none", "cell", "row", "rowheader"}
	seen, compared := map[string]int{}, 0
	for seed := range uint64(200) {
		g := &generator{r: rand.New(rand.NewPCG(seed, 7))}
		for _, p := range perceive(t, ctx, tab, g.page()) {
			kept := !p.Hidden && p.Role != "none"
			if p.TheyKnow && p.TheyIgnore == kept && p.Role != "generic" {
				t.Errorf("page %d: %s: hidden %v, and the browser ignores it: %v", seed, p.HTML, p.Hidden, p.TheyIgnore)
			}
			if !p.TheyKnow || p.TheyIgnore || p.Role == "generic" {
				continue
			}
			compared++
			seen[p.Role]++
			if p.Role != p.TheirRole && same[p.Role] != p.TheirRole {
				t.Errorf("page %d: %s is %s, and to the browser %s", seed, p.HTML, p.Role, p.TheirRole)
			}
			spaceless := func(s string) string { return strings.Join(strings.Fields(s), "") }
			if !slices.Contains(unnamed, p.Role) && spaceless(p.Name) != spaceless(p.TheirName) {
				t.Errorf("page %d: the name of %s is %q, and to the browser %q", seed, p.HTML, p.Name, p.TheirName)
			}
		}
	}
	if compared < 2000 || len(seen) < 25 {
		t.Errorf("only %d elements of %d roles were compared: %v", compared, len(seen), seen)
	}
}

// generator makes pages.
type generator struct {
	r *rand.Rand
	n int
}

func (g *generator) pick(all ...string) string { return all[g.r.IntN(len(all))] }
func (g *generator) chance(n int) bool         { return g.r.IntN(n) == 0 }

// tag is an element with a number, and attributes that say something of it.
func (g *generator) tag(name, more, content string) string {
	g.n++
	s := fmt.Sprintf("<%s data-n=%d id=e%d", name, g.n, g.n) + more
	if g.chance(8) {
		s += ` aria-label="` + g.word() + `"`
	}
	if g.chance(12) && name != "img" && name != "fieldset" { // where browsers differ
		s += ` title="` + g.word() + `"`
	}
	if g.chance(12) {
		s += ` aria-labelledby="` + g.pick("t1", "t2", "t1 t2", "t3", "t2 none") + `"`
	}
	if g.chance(20) {
		s += ` style="` + g.pick("display:none", "visibility:hidden", "display:block", "display:inline-block", "opacity:0") + `"`
	}
	if g.chance(30) {
		s += g.pick(" hidden", " aria-hidden=true")
	}
	if content == "" {
		return s + ">"
	}
	end, _, _ := strings.Cut(name, " ")
	return s + ">" + content + "</" + end + ">"
}

func (g *generator) word() string {
	return g.pick("Save", "Open", "  two  words ", "Cancel order", "x", "Äpfel") + fmt.Sprint(g.r.IntN(9))
}

func (g *generator) inline(depth int) string {
	var b strings.Builder
	for range 1 + g.r.IntN(3) {
		switch g.r.IntN(10) {
		case 0:
			b.WriteString(g.tag("b", "", g.word()))
		case 1:
			b.WriteString(g.tag("img", ` alt="`+g.pick("A picture", "Logo")+`"`, ""))
		case 2:
			b.WriteString(g.tag("span", "", g.word()))
		case 3:
			if depth > 0 {
				b.WriteString(g.tag("em", "", g.inline(depth-1)))
			}
		case 4:
			b.WriteString("<br>")
		default:
			b.WriteString(g.word() + g.pick(" ", "", "\n"))
		}
	}
	return b.String() + g.word()
}

func (g *generator) control() string {
	var c string
	switch g.r.IntN(14) {
	case 0, 1:
		c = g.tag("button", "", g.inline(2))
	case 2:
		c = g.tag("a", " href=#x", g.inline(2))
	case 3, 4:
		c = g.tag("input", " type="+g.pick("text", "email", "search", "number", "range", "checkbox", "radio", "password", "tel", "url", "date")+g.pick("", ` placeholder="Type here"`), "")
	case 5:
		c = g.tag("input", " type="+g.pick("submit", "button")+` value="Go"`, "")
	case 6:
		c = g.tag("select", g.pick("", " multiple", " size=3"), "<option>A<option selected>Bee")
	case 7:
		c = g.tag("textarea", g.pick("", ` placeholder="Long"`), "some text")
	case 8, 9:
		c = g.tag("div", " role="+g.pick("button", "link", "checkbox", "tab", "heading", "switch", "radio"), g.inline(2))
	case 10:
		c = g.tag("input", " type=image alt=Pic", "")
	case 11:
		c = g.tag("meter", " value=.5", "7")
	case 12:
		c = g.tag("output", "", "7")
	default:
		c = g.tag("svg", "", "<title>Drawing</title><circle r=5 />")
	}
	n := g.n
	if i := strings.Index(c, " id=e"); i > 0 {
		fmt.Sscanf(c[i:], " id=e%d", &n)
	}
	if g.chance(4) {
		return fmt.Sprintf("<label for=e%d>%s</label>", n, g.inline(1)) + c
	}
	return c
}

func (g *generator) block(depth int) string {
	if depth == 0 {
		return g.control()
	}
	var b strings.Builder
	for range 1 + g.r.IntN(3) {
		switch g.r.IntN(14) {
		case 0:
			b.WriteString(g.tag("div", "", g.block(depth-1)))
		case 1:
			b.WriteString(g.tag("p", "", g.inline(2)))
		case 2:
			b.WriteString(g.tag("ul", "", g.tag("li", "", g.inline(1))+g.tag("li", "", g.block(depth-1))))
		case 3:
			b.WriteString(g.tag("table", "", g.tag("caption", "", g.inline(1))+g.tag("tr", "", g.tag("th", "", g.inline(1))+g.tag("td", "", g.block(depth-1)))+"<tr><td>1<td>2"))
		case 4:
			b.WriteString(g.tag("fieldset", "", g.tag("legend", "", g.inline(1))+g.block(depth-1)))
		case 5:
			name := g.pick("section", "nav", "main", "aside", "header", "footer", "article", "form", "search", "address", "hgroup", "blockquote")
			b.WriteString(g.tag(name, "", g.block(depth-1)))
		case 6:
			b.WriteString(g.tag(g.pick("h1", "h2", "h3"), "", g.inline(2)))
		case 7:
			b.WriteString("<details" + g.pick("", " open") + ">" + g.tag("summary", "", g.inline(1)) + g.block(depth-1) + "</details>")
		case 8:
			b.WriteString(g.tag("hr", "", ""))
		default:
			b.WriteString(g.control())
		}
	}
	return b.String()
}

func (g *generator) page() string {
	return "<p id=t1>First <i>label</i></p><span id=t2 hidden>Hidden label</span><img id=t3 alt=Picture>" + g.block(3) + g.block(3) + g.block(2)
}
