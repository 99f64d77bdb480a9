package main

import (
	"fmt"
	"strings"
)

// agentJob is a job, how each tool does it, and how it is seen that it is done: by the
// page's server, and by the answer that was read.
type agentJob struct {
	name, what string
	path       string
	by         map[string]func(h *hands, url string) string // the answer, by the tool's name
	done       func(s *agentSite, answer string) bool
}

// Names of the tools.
const (
	byTroupe     = "troupe"
	byPlaywright = "@playwright/mcp"
	byDevTools   = "chrome-devtools-mcp"
	byBrowser    = "agent-browser"
	byGrep       = "agent-browser, with grep"
)

type obj = map[string]any

// acts is a list of actions.
func acts(all ...any) []any { return all }

// mark is a reference as our actions and agent-browser's lines have it.
func mark(e string) string { return "@" + e }

// find is the action that looks for elements.
func find(words string) obj { return obj{"snapshot": obj{"find": words}} }

// troupeRun calls our tool.
func troupeRun(h *hands, session, snapshot string, actions []any) string {
	a := obj{"session": session, "actions": actions}
	if snapshot != "" {
		a["snapshot"] = snapshot
	}
	text := h.call("run", a)
	if session == "new" && h.err == nil {
		h.session = h.part(text, `(sess_\w+)`)
	}
	return text
}

// lines runs commands of agent-browser in one line. Before the first, its guide asks for
// the name of a session.
func lines(h *hands, commands string) string {
	if h.session == "" {
		h.session = h.part(h.run("agent-browser session id --scope worktree --prefix task"), `(\S+)`)
	}
	return h.run("agent-browser --session " + h.session + " " + commands)
}

var agentJobs = []agentJob{
	{
		name: "todo", what: "TodoMVC: add three entries, tick the second, clear what is done, tell how many are left", path: "/todo",
		done: func(s *agentSite, answer string) bool { return s.left("Milk", "Eggs") && answer == "2" },
		by: map[string]func(*hands, string) string{
			byTroupe: func(h *hands, url string) string {
				t := troupeRun(h, "new", "interactive", acts(obj{"open": url}))
				box := mark(h.ref(t, "textbox", "What needs to be done?"))
				var list []any
				for _, x := range []string{"Milk", "Bread", "Eggs"} {
					list = append(list, obj{"fill": []any{box, x}}, obj{"press": []any{nil, "Enter"}})
				}
				t = troupeRun(h, h.session, "diff", list)
				t = troupeRun(h, h.session, "diff", acts(obj{"check": mark(h.ref(t, "checkbox [", "", 1))}))
				troupeRun(h, h.session, "diff", acts(obj{"click": mark(h.ref(t, "button", "Clear completed"))}))
				return h.part(t, `text: "(\d+)"`) // it does not change any more
			},
			byPlaywright: func(h *hands, url string) string {
				h.call("browser_navigate", obj{"url": url})
				t := h.call("browser_snapshot", obj{})
				box := h.ref(t, "textbox", "What needs to be done?")
				for _, x := range []string{"Milk", "Bread", "Eggs"} {
					h.call("browser_type", obj{"target": box, "text": x, "submit": true})
				}
				t = h.call("browser_find", obj{"text": "checkbox"})
				h.call("browser_click", obj{"target": h.ref(t, "checkbox [", "", 1)})
				t = h.call("browser_find", obj{"text": "Clear completed"})
				h.call("browser_click", obj{"target": h.ref(t, "button", "Clear completed")})
				return h.part(h.call("browser_find", obj{"text": "left"}), `(\d+)"?\n?.*items? left`)
			},
			byDevTools: func(h *hands, url string) string {
				h.call("new_page", obj{"url": url})
				t := h.call("take_snapshot", obj{"pageId": 2})
				h.call("click", obj{"pageId": 2, "uid": h.ref(t, "textbox", "What needs to be done?")})
				for _, x := range []string{"Milk", "Bread", "Eggs"} {
					h.call("type_text", obj{"pageId": 2, "text": x, "submitKey": "Enter"})
				}
				t = h.call("take_snapshot", obj{"pageId": 2})
				t = h.call("click", obj{"pageId": 2, "uid": h.ref(t, "checkbox", "", 2), "includeSnapshot": true})
				t = h.call("click", obj{"pageId": 2, "uid": h.ref(t, "button", "Clear completed"), "includeSnapshot": true})
				return h.part(t, `"(\d+)"\n.*left`)
			},
			byBrowser: func(h *hands, url string) string {
				t := lines(h, fmt.Sprintf(`batch "open %s" "snapshot -i"`, url))
				box := mark(h.ref(t, "textbox", "What needs to be done?"))
				t = lines(h, fmt.Sprintf(`batch "fill %[1]s Milk" "press Enter" "fill %[1]s Bread" "press Enter" "fill %[1]s Eggs" "press Enter" "snapshot -i"`, box))
				t = lines(h, fmt.Sprintf(`batch "check %s" "snapshot -i"`, mark(h.ref(t, "checkbox [", "", 1))))
				t = lines(h, fmt.Sprintf(`batch "click %s" "snapshot -c"`, mark(h.ref(t, "button", "Clear completed"))))
				return h.part(t, `"(\d+)"(?:\n.*)?\n?.*left`)
			},
		},
	},
	{
		name: "table", what: "Table of 500 rows: tell the amount of one order, and ship it", path: "/orders",
		done: func(s *agentSite, answer string) bool {
			return answer == orderAmount(wantedOrder) && len(s.shipped) == 1 && s.shipped[0] == fmt.Sprint(wantedOrder)
		},
		by: map[string]func(*hands, string) string{
			byTroupe: func(h *hands, url string) string {
				t := troupeRun(h, "new", "", acts(obj{"open": url}, find("1317 Ship")))
				answer := h.part(t, `1317.*?(€[\d.]+)`)
				troupeRun(h, h.session, "", acts(obj{"click": mark(h.ref(t, "button", "Ship"))}))
				return answer
			},
			byPlaywright: func(h *hands, url string) string {
				h.call("browser_navigate", obj{"url": url})
				t := h.call("browser_find", obj{"text": "1317"})
				row := h.part(t, `row \[ref=(\w+)\]:\n\s+- cell "1317"`)
				t = h.call("browser_snapshot", obj{"target": row})
				h.call("browser_click", obj{"target": h.ref(t, "button", "Ship")})
				return h.part(t, `1317[^€]*(€[\d.]+)`)
			},
			byDevTools: func(h *hands, url string) string {
				h.call("new_page", obj{"url": url})
				t := h.call("take_snapshot", obj{"pageId": 2})
				h.call("click", obj{"pageId": 2, "uid": h.ref(after(t, `"1317"`), "button", "Ship")})
				return h.part(t, `"1317"[^€]*(€[\d.]+)`)
			},
			byBrowser: func(h *hands, url string) string {
				t := lines(h, fmt.Sprintf(`batch "open %s" "snapshot -c"`, url))
				lines(h, "click "+mark(h.ref(after(t, `"1317"`), "button", "Ship")))
				return h.part(t, `"1317"[^€]*(€[\d.]+)`)
			},
			byGrep: func(h *hands, url string) string {
				lines(h, "open "+url)
				t := lines(h, `snapshot -c | grep -A 6 '"1317"'`)
				lines(h, "click "+mark(h.ref(t, "button", "Ship")))
				return h.part(t, `1317[^€]*(€[\d.]+)`)
			},
		},
	},
	{
		name: "reference", what: "Documentation of 1 MB: tell the default of one of 500 options", path: "/reference",
		done: func(_ *agentSite, answer string) bool { return answer == fmt.Sprint(optionDefault(wantedOption)) },
		by: map[string]func(*hands, string) string{
			byTroupe: func(h *hands, url string) string {
				t := h.call("look", obj{"url": url, "as": "markdown", "find": optionName(wantedOption) + " default"})
				return h.part(t, "Default: `(\\d+)`")
			},
			byPlaywright: func(h *hands, url string) string {
				h.call("browser_navigate", obj{"url": url})
				t := h.call("browser_find", obj{"regex": `heading "` + optionName(wantedOption)})
				section := h.part(t, `(?s)heading "`+optionName(wantedOption)+`".*?paragraph \[ref=(\w+)\]`)
				return h.part(h.call("browser_snapshot", obj{"target": section}), `Default:"?\n.*: "(\d+)"`)
			},
			byDevTools: func(h *hands, url string) string {
				h.call("new_page", obj{"url": url})
				return h.part(h.call("take_snapshot", obj{"pageId": 2}), `(?s)heading "`+optionName(wantedOption)+`".*?Default: ".*?"(\d+)"`)
			},
			byBrowser: func(h *hands, url string) string {
				t := h.run("agent-browser read " + url + " --filter " + optionName(wantedOption))
				return h.part(t, `Default: \D?(\d+)`)
			},
		},
	},
	{
		name: "form", what: "Form of three steps with a frame: fill it in, send it, tell the number", path: "/visa",
		done: func(s *agentSite, answer string) bool {
			f := s.forms
			return answer == "A-7731" && f.Get("name") == "Ada Lind" && f.Get("email") == "ada@example.org" && f.Get("country") == "fr" && f.Get("number") == "X123" && f.Get("type") == "service" && f.Get("agree") == "yes"
		},
		by: map[string]func(*hands, string) string{
			byTroupe: func(h *hands, url string) string {
				t := troupeRun(h, "new", "interactive", acts(obj{"open": url}))
				t = troupeRun(h, h.session, "diff", acts(
					obj{"fill": []any{mark(h.ref(t, "textbox", "Full name")), "Ada Lind"}}, obj{"fill": []any{mark(h.ref(t, "textbox", "E-mail")), "ada@example.org"}},
					obj{"selectOption": []any{mark(h.ref(t, "combobox", "Country")), "France"}, "options": obj{"by": "text"}}, obj{"click": mark(h.ref(t, "button", "Next"))}))
				t = troupeRun(h, h.session, "diff", acts(obj{"fill": []any{mark(h.ref(t, "textbox", "Passport number")), "X123"}},
					obj{"check": mark(h.ref(t, "radio", "Service"))}, obj{"click": mark(h.ref(t, "button", "Next"))}))
				t = troupeRun(h, h.session, "diff", acts(obj{"check": mark(h.ref(t, "checkbox", "I agree to the terms"))}, obj{"click": mark(h.ref(t, "button", "Submit"))}))
				return h.part(t, `number is (\S+)\.`)
			},
			byPlaywright: func(h *hands, url string) string {
				field := func(ref, name, kind, value string) obj {
					return obj{"target": ref, "name": name, "type": kind, "value": value}
				}
				h.call("browser_navigate", obj{"url": url})
				t := h.call("browser_snapshot", obj{})
				h.call("browser_fill_form", obj{"fields": []any{field(h.ref(t, "textbox", "Full name"), "Full name", "textbox", "Ada Lind"),
					field(h.ref(t, "textbox", "E-mail"), "E-mail", "textbox", "ada@example.org"), field(h.ref(t, "combobox", "Country"), "Country", "combobox", "France")}})
				h.call("browser_click", obj{"target": h.ref(t, "button", "Next")})
				t = h.call("browser_snapshot", obj{})
				h.call("browser_fill_form", obj{"fields": []any{field(h.ref(t, "textbox", "Passport number"), "Passport number", "textbox", "X123"),
					field(h.ref(t, "radio", "Service"), "Service", "radio", "true")}})
				h.call("browser_click", obj{"target": h.ref(t, "button", "Next")})
				t = h.call("browser_snapshot", obj{})
				h.call("browser_click", obj{"target": h.ref(t, "checkbox", "I agree to the terms")})
				h.call("browser_click", obj{"target": h.ref(t, "button", "Submit")})
				return h.part(h.call("browser_snapshot", obj{}), `number is (\S+)\.`)
			},
			byDevTools: func(h *hands, url string) string {
				field := func(uid, value string) obj { return obj{"uid": uid, "value": value} }
				h.call("new_page", obj{"url": url})
				t := h.call("take_snapshot", obj{"pageId": 2})
				h.call("fill_form", obj{"pageId": 2, "elements": []any{field(h.ref(t, "textbox", "Full name"), "Ada Lind"), field(h.ref(t, "textbox", "E-mail"), "ada@example.org"),
					field(h.ref(t, "combobox", "Country"), "France")}})
				t = h.call("click", obj{"pageId": 2, "uid": h.ref(t, "button", "Next"), "includeSnapshot": true})
				h.call("fill_form", obj{"pageId": 2, "elements": []any{field(h.ref(t, "textbox", "Passport number"), "X123"), field(h.ref(t, "radio", "Service"), "true")}})
				t = h.call("click", obj{"pageId": 2, "uid": h.ref(t, "button", "Next"), "includeSnapshot": true})
				h.call("click", obj{"pageId": 2, "uid": h.ref(t, "checkbox", "I agree to the terms")})
				t = h.call("click", obj{"pageId": 2, "uid": h.ref(t, "button", "Submit"), "includeSnapshot": true})
				return h.part(t, `number is (\S+)\.`)
			},
			byBrowser: func(h *hands, url string) string {
				t := lines(h, fmt.Sprintf(`batch "open %s" "snapshot -i"`, url))
				t = lines(h, fmt.Sprintf(`batch "fill %s 'Ada Lind'" "fill %s ada@example.org" "select %s France" "click %s" "snapshot -i"`,
					mark(h.ref(t, "textbox", "Full name")), mark(h.ref(t, "textbox", "E-mail")), mark(h.ref(t, "combobox", "Country")), mark(h.ref(t, "button", "Next"))))
				t = lines(h, fmt.Sprintf(`batch "fill %s X123" "check %s" "click %s" "snapshot -i"`,
					mark(h.ref(t, "textbox", "Passport number")), mark(h.ref(t, "radio", "Service")), mark(h.ref(t, "button", "Next"))))
				t = lines(h, fmt.Sprintf(`batch "check %s" "click %s" "wait --load load" "snapshot -c"`, mark(h.ref(t, "checkbox", "I agree to the terms")), mark(h.ref(t, "button", "Submit"))))
				if !strings.Contains(t, "number is") { // the answer comes later
					t = lines(h, `snapshot -c`)
				}
				return h.part(t, `number is (\S+)\.`)
			},
		},
	},
	{
		name: "shop", what: "Demo shop: sign in, find a product and its stock, send both with the contact form", path: "/",
		done: func(s *agentSite, answer string) bool {
			return s.user == "ada" && s.contact.Get("name") == "Ada" && s.contact.Get("topic") == "order" && s.contact.Get("message") == "Clay Clock: "+answer && answer == "4"
		},
		by: map[string]func(*hands, string) string{
			byTroupe: func(h *hands, url string) string {
				t := troupeRun(h, "new", "interactive", acts(obj{"open": url + "login"}))
				t = troupeRun(h, h.session, "", acts(obj{"fill": []any{mark(h.ref(t, "textbox", "User")), "ada"}}, obj{"fill": []any{mark(h.ref(t, "textbox", "Password")), "demo"}}, obj{"click": mark(h.ref(t, "button", "Sign in"))}, find("search products")))
				t = troupeRun(h, h.session, "", acts(obj{"fill": []any{mark(h.ref(t, "searchbox", "Search products")), "clay clock"}}, obj{"press": []any{nil, "Enter"}}, find("clay clock details")))
				t = troupeRun(h, h.session, "", acts(obj{"click": mark(h.ref(t, "link", "Details of Clay Clock"))}, find("in stock")))
				stock := h.part(t, `(\d+) in stock`)
				t = troupeRun(h, h.session, "interactive", acts(obj{"click": obj{"role": "link", "name": "Contact"}}))
				troupeRun(h, h.session, "", acts(obj{"fill": []any{mark(h.ref(t, "textbox", "Name")), "Ada"}}, obj{"selectOption": []any{mark(h.ref(t, "combobox", "Topic")), "An order"}, "options": obj{"by": "text"}},
					obj{"fill": []any{mark(h.ref(t, "textbox", "Message")), "Clay Clock: " + stock}}, obj{"click": mark(h.ref(t, "button", "Send"))}))
				return stock
			},
			byPlaywright: func(h *hands, url string) string {
				field := func(ref, name, kind, value string) obj {
					return obj{"target": ref, "name": name, "type": kind, "value": value}
				}
				h.call("browser_navigate", obj{"url": url + "login"})
				t := h.call("browser_snapshot", obj{})
				h.call("browser_fill_form", obj{"fields": []any{field(h.ref(t, "textbox", "User"), "User", "textbox", "ada"), field(h.ref(t, "textbox", "Password"), "Password", "textbox", "demo")}})
				h.call("browser_click", obj{"target": h.ref(t, "button", "Sign in")})
				t = h.call("browser_find", obj{"text": "Search products"})
				h.call("browser_type", obj{"target": h.ref(t, "searchbox", "Search products"), "text": "clay clock", "submit": true})
				t = h.call("browser_find", obj{"text": "Clay Clock"})
				h.call("browser_click", obj{"target": h.ref(t, "link", "Details of Clay Clock")})
				t = h.call("browser_snapshot", obj{})
				stock := h.part(t, `(\d+) in stock`)
				h.call("browser_click", obj{"target": h.ref(t, "link", "Contact")})
				t = h.call("browser_snapshot", obj{})
				h.call("browser_fill_form", obj{"fields": []any{field(h.ref(t, "textbox", "Name"), "Name", "textbox", "Ada"), field(h.ref(t, "combobox", "Topic"), "Topic", "combobox", "An order"),
					field(h.ref(t, "textbox", "Message"), "Message", "textbox", "Clay Clock: "+stock)}})
				h.call("browser_click", obj{"target": h.ref(t, "button", "Send")})
				return stock
			},
			byDevTools: func(h *hands, url string) string {
				field := func(uid, value string) obj { return obj{"uid": uid, "value": value} }
				h.call("new_page", obj{"url": url + "login"})
				t := h.call("take_snapshot", obj{"pageId": 2})
				h.call("fill_form", obj{"pageId": 2, "elements": []any{field(h.ref(t, "textbox", "User"), "ada"), field(h.ref(t, "textbox", "Password"), "demo")}})
				t = h.call("click", obj{"pageId": 2, "uid": h.ref(t, "button", "Sign in"), "includeSnapshot": true})
				h.call("fill", obj{"pageId": 2, "uid": h.ref(t, "searchbox", "Search products"), "value": "clay clock"})
				t = h.call("press_key", obj{"pageId": 2, "key": "Enter", "includeSnapshot": true})
				t = h.call("click", obj{"pageId": 2, "uid": h.ref(t, "link", "Details of Clay Clock"), "includeSnapshot": true})
				stock := h.part(t, `(\d+) in stock`)
				t = h.call("click", obj{"pageId": 2, "uid": h.ref(t, "link", "Contact"), "includeSnapshot": true})
				h.call("fill_form", obj{"pageId": 2, "elements": []any{field(h.ref(t, "textbox", "Name"), "Ada"), field(h.ref(t, "combobox", "Topic"), "An order"), field(h.ref(t, "textbox", "Message"), "Clay Clock: "+stock)}})
				h.call("click", obj{"pageId": 2, "uid": h.ref(t, "button", "Send")})
				return stock
			},
			byBrowser: func(h *hands, url string) string {
				t := lines(h, fmt.Sprintf(`batch "open %slogin" "snapshot -i"`, url))
				lines(h, fmt.Sprintf(`batch "fill %s ada" "fill %s demo" "click %s"`, mark(h.ref(t, "textbox", "User")), mark(h.ref(t, "textbox", "Password")), mark(h.ref(t, "button", "Sign in"))))
				t = lines(h, `batch "wait --load load" "snapshot -i"`)
				t = lines(h, fmt.Sprintf(`batch "fill %s 'clay clock'" "press Enter" "snapshot -i"`, mark(h.ref(t, "searchbox", "Search products"))))
				t = lines(h, fmt.Sprintf(`batch "click %s" "snapshot -c"`, mark(h.ref(t, "link", "Details of Clay Clock"))))
				stock := h.part(t, `(\d+) in stock`)
				t = lines(h, fmt.Sprintf(`batch "click %s" "snapshot -i"`, mark(h.ref(t, "link", "Contact"))))
				lines(h, fmt.Sprintf(`batch "fill %s Ada" "select %s 'An order'" "fill %s 'Clay Clock: %s'" "click %s"`, mark(h.ref(t, "textbox", "Name")), mark(h.ref(t, "combobox", "Topic")),
					mark(h.ref(t, "textbox", "Message")), stock, mark(h.ref(t, "button", "Send"))))
				return stock
			},
		},
	},
}
