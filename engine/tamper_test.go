package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// tamperPage has something for every action. What is named {{…}} differs between
// the plain page and the ones that tamper with the world.
const tamperPage = `<!doctype html><html><head><meta charset=utf-8><title>T</title>{{script}}</head><body>
<h1 id=h class="big title">  Hello   <b>you</b> </h1>
<form id=form action=/sent>
<label id=lbl for=box>Box</label><input type=checkbox id=box name=box>
<label id=inside>Inside <input type=checkbox id=inner></label>
<label id=named for=field>Field</label><input id=field name=field value=old><textarea id=area></textarea>
<input type=date id=date><input type=number id=num><input type=range id=range>
<select id=sel name=sel><option value=a>Apple<option value=b>Pear</select>
<input type=file id=file multiple>
<button id=go type=button>Go</button><i class=in>in the form</i>
<div id=edit contenteditable>abc</div>
<div id=scroller style="height:60px;overflow:auto"><div style="height:400px">tall</div><button id=deep type=button>Deep</button></div>
{{inside}}</form>
<form id=scroll style="height:50px;overflow:auto"><div style="height:500px">tall</div><button id=below type=button>Below</button>{{inside}}</form>
<p id=human><input type=checkbox id=nobot> I am not a robot</p>
<ul><li class=row data-n=1><b>one</b></li><li class=row data-n=2><b>two</b></li><li class=row><b>three</b></li></ul>
<div id=host1></div><div id=late></div><p id=out></p><div id=log></div>
<iframe id=fr srcdoc="<p id=p>framed</p><form id=ff><button id=fb type=button onclick='this.textContent=&quot;pressed&quot;'>f</button>{{framed}}</form>"></iframe>
<div style="height:3000px"></div><p id=last>end</p>{{body}}
<script>
plain.run()
</script></body></html>`

// plainScript is what the page itself does, with functions that it takes before
// any tampering.
const plainScript = `const plain=(()=>{const {apply}=Reflect,{addEventListener}=EventTarget.prototype,{getElementById,querySelector}=Document.prototype,{attachShadow}=Element.prototype;
const text=Object.getOwnPropertyDescriptor(Node.prototype,'textContent').set,html=Object.getOwnPropertyDescriptor(ShadowRoot.prototype,'innerHTML').set;
const inRoot=DocumentFragment.prototype.querySelector,wait=setTimeout,el=(id)=>apply(getElementById,document,[id]),on=(n,type,f)=>apply(addEventListener,n,[type,f,true]);
const show=(id,t)=>()=>apply(text,el(id),[t]),later=(f,ms)=>apply(wait,window,[f,ms]);
return {on,later,run(){const root=apply(attachShadow,el('host1'),[{mode:'open'}]);apply(html,root,['<p class=in>inside <button id=sb>b</button></p>']);
on(el('go'),'click',show('out','clicked'));on(el('deep'),'click',show('out','deep'));on(el('below'),'click',show('out','below'));on(el('h'),'mouseenter',show('log','entered'));
on(apply(inRoot,root,['button']),'click',show('out','in shadow'));later(show('late','came late'),150)}}})();`

// The ways of tampering: scripts that run before all others of the page, and
// elements whose names hide what the browser defines.
var tampering = map[string]map[string]string{
	"functions that throw": {"script": `for(const [o,names] of [[Array.prototype,['map','filter','find','slice','includes','push','join','sort','some','every','forEach','flatMap','indexOf','concat','entries','values',Symbol.iterator]],
[String.prototype,['trim','split','replace','slice','includes','startsWith','toLowerCase','toWellFormed']],[JSON,['stringify','parse']],[Promise.prototype,['then','catch','finally']],[Promise,['resolve','all','race']],
[Document.prototype,['querySelector','querySelectorAll','evaluate','elementFromPoint','createElement','getAnimations','hasFocus','createTreeWalker']],[DocumentFragment.prototype,['querySelector','querySelectorAll']],
[Element.prototype,['querySelector','querySelectorAll','matches','closest','getAttribute','hasAttribute','getBoundingClientRect','getClientRects','scrollIntoView','scrollBy','scrollTo','setAttribute']],
[HTMLElement.prototype,['click','focus','blur']],[Node.prototype,['contains','getRootNode','compareDocumentPosition','cloneNode','appendChild']],
[EventTarget.prototype,['addEventListener','removeEventListener','dispatchEvent']],[MutationObserver.prototype,['observe','disconnect','takeRecords']],[Map.prototype,['get','set','has']],[Set.prototype,['add','has']],[Range.prototype,['getClientRects','selectNodeContents']],
[Selection.prototype,['selectAllChildren','collapseToEnd','removeAllRanges']],[HTMLInputElement.prototype,['select','setSelectionRange']],[CSS,['escape']],[Performance.prototype,['now','getEntriesByType']],
[window,['setTimeout','clearTimeout','setInterval','clearInterval','requestAnimationFrame','getComputedStyle','queueMicrotask','getSelection','MutationObserver','Promise','WeakSet','Map','Set','Event','MouseEvent','Date']]])
for(const n of names)o[n]=function(){throw new Error('tampered '+String(n))}`},
	"properties that lie": {"script": `const lie=(o,names,v)=>{for(const n of names)Object.defineProperty(o,n,{configurable:true,get(){return v},set(){}})};
lie(Node.prototype,['textContent','parentNode','ownerDocument','nodeType','isConnected','childNodes','nodeValue'],null);
lie(Element.prototype,['innerHTML','localName','tagName','id','shadowRoot','children','assignedSlot','scrollTop','scrollLeft','scrollHeight','clientHeight','scrollWidth','clientWidth','namespaceURI'],undefined);
lie(HTMLElement.prototype,['isContentEditable','offsetWidth','offsetHeight','hidden','innerText'],true);
lie(Document.prototype,['readyState','defaultView','documentElement','body','activeElement','scrollingElement','fonts','title'],null);
lie(HTMLInputElement.prototype,['value','checked','type','labels','readOnly','disabled','multiple','files'],'lie');
lie(HTMLSelectElement.prototype,['value','options','selectedIndex','selectedOptions','multiple'],'lie');lie(HTMLOptionElement.prototype,['value','text','label','disabled','selected','index'],'lie');
lie(HTMLTextAreaElement.prototype,['value'],'lie');lie(HTMLLabelElement.prototype,['control'],null);lie(HTMLIFrameElement.prototype,['contentDocument','contentWindow'],null);
lie(window,['innerWidth','innerHeight','scrollX','scrollY','devicePixelRatio','performance','frameElement'],0);lie(Event.prototype,['defaultPrevented','target','type'],'lie')`},
	"object prototype": {"script": `for(const n of ['v','c','e','w','n','z','t','k','s','r','a','in','as','ms','of','each','settle','force','hover','stop','limit','name','id','get','set','value','writable','enumerable','configurable','then','toJSON','width','height','x','y','left','top','length','timeout','clear','clicked','want','by','click','covered','saved','subtree','block','behavior','mode','detail','composed','bubbles'])
try{Object.defineProperty(Object.prototype,n,{configurable:true,get(){return undefined},set(v){}})}catch{}
Object.prototype.polluted='yes';Array.prototype.polluted='yes';Object.prototype[0]='zero';Function.prototype.call=function(){return 'called'};Function.prototype.bind=function(){return ()=>'bound'};Function.prototype.apply=function(){return 'applied'}`},
	"own names on the document": {"body": clobber("img", documentNames) + clobber("embed", documentNames[:3]) + `<form name=querySelectorAll></form>` +
		ids("T troupe dom saved loop leaving waits until find search query all body frame navigation performance location top parent self window document event name status length origin children stop")},
	"own names on forms": {"inside": clobber("input type=hidden", elementNames), "framed": clobber("input type=hidden", elementNames)},
	"own ids on forms":   {"inside": "<input type=hidden id=" + strings.Join(elementNames, "><input type=hidden id=") + ">"},
	"events that stop":   {"script": `for(const t of ['load','DOMContentLoaded','readystatechange','scroll','scrollend','focus','blur','focusin','focusout','input','change','navigate','navigatesuccess','navigateerror','animationstart','transitionend','toggle','resize'])for(const o of [window,window.navigation])o&&plain.on(o,t,e=>e.stopImmediatePropagation())`},
	"events that are fake": {"script": `plain.later(function f(){try{navigation.dispatchEvent(new NavigateEvent('navigate',{destination:navigation.currentEntry&&{url:'https://else.test/'},signal:new AbortController().signal}))}catch{}
const e=new Event('navigate');Object.assign(e,{hashChange:false,downloadRequest:null});Object.defineProperty(e,'destination',{value:{url:'https://else.test/',sameDocument:false}});navigation.dispatchEvent(e);navigation.dispatchEvent(new Event('navigatesuccess'));window.dispatchEvent(new Event('load'));window.dispatchEvent(new Event('scroll'));plain.later(f,5)},0)`},
}

var documentNames = strings.Fields("body head title defaultView documentElement activeElement readyState scrollingElement querySelector querySelectorAll evaluate elementFromPoint getElementById createElement addEventListener removeEventListener dispatchEvent getAnimations nodeType ownerDocument parentNode children host fonts forms images location cookie getRootNode contains isConnected textContent getSelection hasFocus then toJSON implementation frameElement")

var elementNames = strings.Fields("children parentNode ownerDocument nodeType control labels options click focus scrollIntoView scrollBy scrollTo scrollTop scrollHeight clientHeight scrollWidth clientWidth contentDocument contentWindow querySelector querySelectorAll matches closest getAttribute hasAttribute getBoundingClientRect getClientRects shadowRoot localName tagName id className innerHTML textContent isConnected contains getRootNode assignedSlot addEventListener dispatchEvent removeEventListener isContentEditable hidden style submit action elements length host nodeName namespaceURI compareDocumentPosition offsetParent readOnly disabled checked value type form select then toJSON attributes")

func clobber(tag string, names []string) string {
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "<%s name=%s>", tag, n)
	}
	return `<span style="display:none">` + b.String() + `</span>`
}

func ids(names string) string {
	var b strings.Builder
	for _, n := range strings.Fields(names) {
		fmt.Fprintf(&b, "<i hidden id=%s></i>", n)
	}
	return b.String()
}

// everyAction is a list with all that looks at a page or acts on it, in
// every way of naming elements.
const everyAction = `{"config":{"actionTimeout":9000,"trace":true},"timeout":60000,"actions":[
{"open":"{{url}}/"},{"waitForEvent":"load"},
{"getText":"#h"},{"getHTML":"#h"},{"getAttribute":["#h","class"]},{"getText":"//h1"},{"getText":"form .in"},{"getText":"#nope","options":{"timeout":120}},
{"getText":"#host1 .in"},{"getText":"#p","options":{"iframe":"#fr"}},{"getHTML":"#sel"},
{"extractAll":[".row",{"t":"b","n":["$this","data-n"],"x":".//b"}]},{"extractAll":["form .in",{"t":"$this"}]},
{"find":"#form","options":{"save":"form"}},{"getText":"$form .in"},{"findByText":"TWO","options":{"save":"two"}},{"getHTML":"$two"},
{"findByAttribute":["data-n","2"],"options":{"save":"row"}},{"getText":"$row b"},{"findByText":"in the form"},{"findByText":"Inside"},
{"findByText":"came late","options":{"save":"late"}},{"getAttribute":["$late","id"]},{"waitForElement":"#late"},
{"click":"#go"},{"getText":"#out"},{"click":"#deep"},{"getText":"#out"},{"click":"#below"},{"getText":"#out"},{"click":"#host1 button"},{"getText":"#out"},{"click":"#fb","options":{"iframe":"#fr"}},{"getText":"#fb","options":{"iframe":"#fr"}},
{"hover":"#h"},{"getText":"#log"},
{"fill":["#field","Ada ü"]},{"getValue":"#field"},{"fill":["#named","by label"]},{"getValue":"#field"},{"fill":["#area","a\nb"]},{"getValue":"#area"},{"fill":["#edit","new"]},{"getText":"#edit"},{"fill":["#edit","er"],"options":{"clear":false}},{"getText":"#edit"},
{"fill":["#date","2024-02-29"]},{"getValue":"#date"},{"fill":["#num","7"]},{"getValue":"#num"},{"fill":["#range","70"]},{"getValue":"#range"},
{"press":["#field","End"]},{"press":[null,"Backspace"]},{"getValue":"#field"},{"press":["#field","Control+A"]},{"press":[null,"x"]},{"getValue":"#field"},
{"check":"#box"},{"getHTML":"#lbl"},{"if":{"condition":{"selector":"#box","property":"checked","operator":"==","value":true},"then":[{"getSavedData":"yes"}],"else":[{"getText":"#nope","options":{"timeout":50}}]}},
{"uncheck":"#box"},{"check":"#lbl"},{"uncheck":"#inside"},{"check":"#inside"},{"if":{"condition":{"selector":"#inner","property":"checked","operator":"==","value":true},"then":[{"getSavedData":"yes"}],"else":[{"getText":"#nope","options":{"timeout":50}}]}},
{"selectOption":["#sel","b"]},{"getValue":"#sel"},{"selectOption":["#sel","Apple"],"options":{"by":"text"}},{"getValue":"#sel"},{"selectOption":["#sel","zz"],"options":{"timeout":100}},
{"uploadFile":["#file","{{url}}/a.txt"]},{"if":{"condition":{"selector":"#file","property":"files.length","operator":"==","value":1},"then":[{"getSavedData":"yes"}],"else":[{"getText":"#nope","options":{"timeout":50}}]}},
{"loop":{"each":".row","do":[{"getText":"$this b","options":{"push":"b"}},{"getAttribute":["$this","data-n"],"options":{"push":"n"}}]}},{"getSavedData":["b","n"]},
{"loop":{"each":"label","do":[{"hover":"$this"},{"getAttribute":["$this","id"],"options":{"push":"labels"}}]}},{"loop":{"repeat":2,"do":[{"click":"#go"}]}},
{"if":{"condition":"#form .in","then":[{"getText":"#h"}],"else":[{"wait":1}]}},{"if":{"condition":{"selector":"#form","property":"id","operator":"==","value":"form"},"then":[{"getText":"#h"}],"else":[{"wait":1}]}},
{"scrollY":500},{"if":{"condition":{"selector":"html","property":"scrollTop","operator":">","value":400},"then":[{"getText":"#h"}],"else":[{"wait":1}]}},{"scrollY":-100000},{"scrollX":10},
{"clickHuman":"#go","options":{"mode":"fast"}},{"hoverHuman":"#h","options":{"mode":"fast"}},{"click":"#last"},
{"setCookies":[{"url":"{{url}}/","name":"k","value":"v"}]},{"getCookies":"{{url}}/"},{"deleteCookie":{"url":"{{url}}/","name":"k"}},{"getCookies":true},
{"screenshot":"#h"},{"screenshot":"viewport"},{"screenshot":"fullpage","options":{"format":"jpeg"}},{"byPassChallenge":true},
{"evaluate":"location.href='{{url}}/sent';return 1"},{"getText":"#sent"}
]}`

// TestTamperingChangesNothing plays a list of every action on a plain page and
// on pages that tamper with the world, and compares what each action gave.
func TestTamperingChangesNothing(t *testing.T) {
	serveWith := func(t *testing.T, fill map[string]string) string {
		page := tamperPage
		for _, k := range []string{"inside", "framed", "body"} {
			page = strings.ReplaceAll(page, "{{"+k+"}}", fill[k])
		}
		page = strings.Replace(page, "{{script}}", "<script>"+plainScript+fill["script"]+"</script>", 1)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			switch r.URL.Path {
			case "/a.txt":
				w.Write([]byte("a file"))
			case "/sent":
				w.Write([]byte("<p id=sent>sent</p>"))
			default:
				w.Write([]byte(page))
			}
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	run := func(t *testing.T, fill map[string]string) []string {
		url := serveWith(t, fill)
		k := &kept{}
		task, err := Parse([]byte(strings.ReplaceAll(everyAction, "{{url}}", url)), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), task.Timeout)
		defer cancel()
		o := newInstance(t).Play(ctx, task, TaskEnv{SaveFile: k.save})
		if o.End != EndCompleted {
			t.Errorf("ended as %s", o.End)
		}
		var out []string
		for _, s := range o.Steps {
			s.Millis = 0
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, timing.ReplaceAllString(hosts.ReplaceAllString(string(b), "HOST"), ""))
		}
		for _, w := range o.Warnings {
			out = append(out, w.Path+" "+w.Message)
		}
		return out
	}
	want := run(t, nil)
	for _, s := range want {
		t.Log(s)
	}
	for i, name := range slices.Sorted(maps.Keys(tampering)) {
		if !need.Nth(i, 3) {
			continue
		}
		fill := tampering[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, fill)
			for i := range max(len(want), len(got)) {
				switch {
				case i >= len(want):
					t.Errorf("more than on the plain page: %s", got[i])
				case i >= len(got):
					t.Errorf("less than on the plain page: %s", want[i])
				case got[i] != want[i]:
					t.Errorf("on the plain page\n%s\nhere\n%s", want[i], got[i])
				}
			}
		})
	}
}

var hosts = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// TestScriptsOfTamperedPages: the value of a script, and a property, is what JSON says of it,
// also in a page that has put its own functions in the place of those that make it, before the
// script or in it.
func TestScriptsOfTamperedPages(t *testing.T) {
	const value = `{list:[1,'a"é',[],{},undefined,NaN,-0],date:new Date(0),own:{toJSON(){return [this.x]},x:1},url:new URL('http://a.example/'),typed:new Uint8Array([7]),none:undefined,f(){},length:2,nested:[[[new Date(5)]]],'<k>':null}`
	const want = `{"list":[1,"a\"é",[],{},null,null,0],"date":"1970-01-01T00:00:00.000Z","own":[1],"url":"http://a.example/","typed":{"0":7},"length":2,"nested":[[["1970-01-01T00:00:00.005Z"]]],"<k>":null}`
	const prototype = `Object.toJSON=(o)=>o;for(const c of [Array,String,Number,Boolean,Date])c.prototype.toJSON=function(){return '"'+this+'"'};`
	in := newInstance(t)
	for _, tampering := range []string{
		``, prototype, prototype + `Object.prototype.toJSON=()=>'o'`, `JSON.stringify=()=>'}{'`, `JSON.stringify=()=>({})`, `JSON.stringify=()=>{throw 1}`, `JSON=undefined`, `JSON={}`, `delete window.JSON`,
		`Promise.prototype.then=()=>7`, `JSON.stringify=new Proxy(JSON.stringify,{apply:()=>'"p"'})`, `JSON.stringify=JSON.stringify.bind(JSON)`, `JSON.stringify=((f)=>(v)=>f([v]))(JSON.stringify)`,
		`JSON.stringify=()=>1;Array.isArray=()=>false;Object.keys=()=>[];Array.prototype.map=Array.prototype.join=Array.prototype.forEach=()=>1;String.prototype.replace=String.prototype.charCodeAt=()=>'';Object.prototype.hasOwnProperty=()=>false;Object.freeze=()=>undefined`,
	} {
		for _, when := range []struct{ page, script string }{{tampering, ""}, {"", tampering + ";"}} {
			url := serve(t, "<!doctype html><p>x</p><script>"+when.page+";document.querySelector('p').own={a:[1,'b'],d:new Date(0)}</script>")
			o := play(t, in, fmt.Sprintf(`{"config":{"actionTimeout":4000},"actions":[{"open":%q},{"evaluate":%q,"options":{"save":"v"}},{"if":{"condition":{"selector":"p","property":"own.a","operator":"contains","value":"b"},"then":[{"set":{"yes":1}}]}},{"evaluate":"return saved.v.list[1]","options":{"save":"s"}},{"getSavedData":["v","yes","s"]}]}`,
				url, when.script+"return "+value), TaskEnv{})
			if got := string(o.Data); len(o.Failures) > 0 || !sameJSON(o.Data, []byte(`{"v":`+want+`,"yes":1,"s":"a\"é"}`)) {
				t.Errorf("%q before %q: %s, %v", when.page, when.script, got, failuresOf(o))
			}
		}
	}
	for _, circular := range []string{`const a=[];a.push(a);return a`, prototype + `const a={};a.a=[a];return a`, `return 1n`} {
		o := play(t, in, fmt.Sprintf(`{"actions":[{"evaluate":%q}]}`, circular), TaskEnv{})
		if len(o.Failures) != 1 || o.Failures[0].Code != CodeScriptError {
			t.Errorf("%s: %s, %v", circular, o.Data, failuresOf(o))
		}
	}
}
