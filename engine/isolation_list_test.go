package engine

import (
	"encoding/json"
	"net/url"
	"strings"
)

// A mark is something that a task can leave. Each is a list of actions on an open page,
// with the fields of config that go with it.
type mark struct {
	name, actions, config string
	replaces              bool   // the context does not survive it
	resists               bool   // it survives only if the page lets go in time
	finds                 string // what of a task that looks shows it, without cleaning; empty: nothing does
}

func running(s string) string { b, _ := json.Marshal(s); return `{"evaluate":` + string(b) + `}` }

// marksOf are all marks.
func marksOf(s *markServer) []mark {
	base, other, secure, third := s.base(), s.other(), s.secure(), s.third()
	subdomain := strings.Replace(secure, "site.test", "below.site.test", 1)
	// opened opens a page of TLS whose answer has some heads.
	opened := func(heads ...string) string {
		b, _ := json.Marshal(secure + "/?" + url.Values{"head": heads}.Encode())
		return `{"open":` + string(b) + `}`
	}
	adds := func(element string) string { // a JavaScript object of an element's name and fields
		return `const {tag,...f}=` + element + `,e=Object.assign(document.createElement(tag),f);`
	}
	return []mark{
		{name: "cookies of the server", finds: "sent", actions: `{"open":"` + base + `/?cookies"}`},
		{name: "cookies of a script", finds: "sent", actions: running(`document.cookie='m=MARK;max-age=3600';document.cookie='p=MARK;path=/other';return 1`)},
		{name: "local storage", finds: "local", actions: running(`localStorage.m='MARK';return 1`)},
		{name: "session storage", finds: "session", actions: running(`sessionStorage.m='MARK';return 1`)},
		{name: "storage on another site", finds: "elsewhere", actions: `{"open":"` + other + `/?cookies"},` + running(`localStorage.m='MARK';sessionStorage.m='MARK';return 1`)},
		{name: "storage as the page is left", finds: "local", actions: running(`addEventListener('pagehide',()=>{localStorage.h='MARK';sessionStorage.h='MARK';document.cookie='h=MARK;max-age=3600'});return 1`)},
		{name: "databases", finds: "databases", actions: running(`await new Promise((ok,no)=>{const r=indexedDB.open('MARK',1);r.onupgradeneeded=()=>r.result.createObjectStore('s');r.onsuccess=()=>ok(window.db=r.result);r.onerror=no});return 1`)},
		{name: "Cache API", finds: "caches", actions: running(`await (await caches.open('MARK')).put('/x',new Response('MARK'));return 1`)},
		{name: "private files", finds: "files", actions: running(`const f=await (await navigator.storage.getDirectory()).getFileHandle('MARK',{create:true});const w=await f.createWritable();await w.write('x'.repeat(1e5));await w.close();return 1`)},
		{name: "buckets", finds: "buckets", actions: running(`if(navigator.storageBuckets)await navigator.storageBuckets.open('mark');return 1`)},
		{name: "HTTP cache", finds: "cached", actions: running(`return await (await fetch('/cached')).text()`)},
		{name: "pictures in memory", finds: "pixel", actions: running(`await new Promise(r=>{const i=new Image();i.onload=r;i.src='/pixel';document.body.append(i)});return 1`)},
		{name: "preflight answers", finds: "preflight", actions: running(`return await (await fetch('` + other + `/preflight',{headers:{'x-mark':'1'}})).text()`)},
		{name: "connections", finds: "conn", actions: running(`return await (await fetch('/conn')).text()`)},
		{name: "a keepalive request", actions: running(`fetch('/slow',{keepalive:true});await new Promise(r=>setTimeout(r,10));return 1`)},
		{name: "a beacon as the page is left", finds: "cookie", actions: running(`addEventListener('pagehide',()=>{navigator.sendBeacon('/beacon');fetch('/beacon',{keepalive:true})});return 1`)},
		{name: "the name of the window", finds: "name", actions: running(`window.name='MARK';return 1`)},
		{name: "history", finds: "history", actions: `{"click":"#away"},{"waitForEvent":"load"},` + running(`history.pushState({m:'MARK'},'','#a');history.pushState({},'','#b');return 1`)},
		{name: "clipboard", finds: "clip", actions: `{"fill":["#clip","MARK"]},{"press":["#clip","Control+A"]},{"press":["#clip","Control+C"]}`},
		{name: "the mouse", finds: "hover", actions: `{"hover":"#at"}`},
		{name: "a click and the place in the page", actions: `{"click":"#at"},` + running(`scrollTo(0,900);return 1`)},
		{name: "channels, locks and blobs", actions: running(`window.b=new BroadcastChannel('c');b.onmessage=()=>b.postMessage('MARK');navigator.locks.request('MARK',()=>new Promise(()=>{}));window.u=URL.createObjectURL(new Blob(['MARK']));return 1`)},
		{name: "timers and observers", actions: running(`setInterval(()=>{document.cookie='t=MARK;max-age=3600';fetch('/slow',{keepalive:true}).catch(()=>{})},5);return 1`)},
		{name: "saved references", actions: `{"find":"h1","options":{"save":"h"}},{"getText":"$h","options":{"push":"seen"}}`},
		{name: "persistence and notifications", actions: running(`await navigator.storage.persist();await Notification.requestPermission();return 1`)},
		{name: "a frame of the same site", finds: "sent", actions: running(`const f=document.createElement('iframe');f.name='MARK';f.src='/?cookies';document.body.append(f);await new Promise(r=>f.onload=r);f.contentWindow.sessionStorage.m='MARK';return 1`)},
		{name: "a page that navigates itself", actions: running(`setTimeout(()=>{location='/other?cookies'},0);return 1`), resists: true},
		{name: "pictures of what can be seen", actions: `{"screenshot":"viewport"},{"screenshot":"viewport","options":{"format":"jpeg","quality":40}},{"screenshot":"viewport","options":{"format":"webp"}}`},
		{name: "pictures of elements", actions: `{"screenshot":"h1"},{"screenshot":"#at","options":{"format":"jpeg"}},{"screenshot":"#clip","options":{"format":"webp","scale":"css"}}`},
		{name: "a picture of the whole page", actions: `{"screenshot":"fullpage"}`},
		{name: "a picture in strips", actions: running(`document.body.append(Object.assign(document.createElement('p'),{style:'height:9000px'}));addEventListener('resize',()=>{document.cookie='r=MARK;max-age=3600'});return 1`) + `,{"screenshot":"fullpage"}`},
		{name: "a picture of a page that is larger then", actions: running(`addEventListener('resize',()=>{document.body.style.height=innerHeight+5000+'px'});for(let y=0;y<4000;y+=100)document.body.append(Object.assign(document.createElement('input'),{style:'display:block;height:100px'}));return 1`) + `,{"screenshot":"fullpage"},{"screenshot":"input"}`},

		// What a page can do to its tab.
		{name: "the window", finds: "size", actions: running(`resizeTo(300,300);moveTo(50,50);return 1`), replaces: true},
		{name: "the window, as the page is left", finds: "size", actions: running(`addEventListener('pagehide',()=>{resizeTo(333,333);moveTo(60,60)});return 1`), replaces: true},
		{name: "the whole screen", actions: running(`window.went=()=>document.documentElement.requestFullscreen().then(()=>document.title='full');return 1`) + `,{"click":"#go"},{"waitForElement":"title"},` + running(`return !!document.fullscreenElement`)},
		{name: "a caught pointer", actions: running(`window.went=()=>document.body.requestPointerLock();return 1`) + `,{"click":"#go"}`},
		{name: "zoom and caps lock", actions: `{"press":["body","Control+="]},{"press":["#clip","CapsLock"]}`},
		{name: "a page that closes itself", actions: running(`setTimeout(()=>window.close(),0);return 1`)},
		{name: "a page that asks before it is left", actions: running(`addEventListener('beforeunload',e=>{e.preventDefault();e.returnValue='MARK'});return 1`), replaces: true},
		{name: "a page that is printed", actions: running(`print();return 1`)},
		{name: "a copy in several forms", finds: "pasted", actions: running(`document.addEventListener('copy',e=>{for(const t of ['text/html','text/plain','application/x-mark'])e.clipboardData.setData(t,'MARK');e.preventDefault()});return 1`) + `,{"press":["#clip","Control+C"]}`},

		// What lives on without a page.
		{name: "requests for later", finds: "cookie", actions: running(`fetchLater('/beacon',{method:'POST',activateAfter:600000});fetch('/slow?again',{keepalive:true,retryOptions:{maxAttempts:5,initialDelay:50,retryAfterUnload:true}}).catch(()=>0);return 1`)},
		{name: "pages that are fetched ahead", finds: "cached", actions: running(adds(`{tag:'script',type:'speculationrules',text:JSON.stringify({prefetch:[{urls:['/cached'],eagerness:'immediate'}]})}`) + `document.head.append(e);while(!performance.getEntriesByName(location.origin+'/cached').length&&performance.now()<3000)await new Promise(r=>setTimeout(r,20));return 1`)},
		{name: "pages that are made ahead", actions: running(adds(`{tag:'script',type:'speculationrules',text:JSON.stringify({prerender:[{urls:['/cached'],eagerness:'immediate'}]})}`) + `document.head.append(e);return 1`)},
		{name: "a link that is fetched ahead", finds: "cached", actions: running(adds(`{tag:'link',rel:'prefetch',href:'/cached'}`) + `await new Promise(r=>{e.onload=r;document.head.append(e)});return 1`)},
		{name: "scripts and styles", finds: "scripted", actions: running(`for(const what of [{tag:'script',src:'/script.js'},{tag:'link',rel:'stylesheet',href:'/style.css'}]){` + adds(`what`) + `await new Promise(r=>{e.onload=r;document.head.append(e)})};return 1`)},
		{name: "a redirect for ever", finds: "moved", actions: running(`return await (await fetch('/moved')).text()`)},
		{name: "a dictionary for compression", finds: "dictionary", actions: running(adds(`{tag:'link',rel:'compression-dictionary',href:'/dict'}`) + `document.head.append(e);let d='""';while(d==='""'&&performance.now()<3000)d=await (await fetch('/dicted')).text();return d`)},
		{name: "files as they were asked for earlier", finds: "oldFiles", actions: running(`await new Promise((ok,no)=>webkitRequestFileSystem(0,1e5,f=>f.root.getFile('MARK',{create:true},ok,no),no));return 1`)},
		{name: "names of devices", actions: running(`for(const d of await navigator.mediaDevices.enumerateDevices())if(d.deviceId.length>10)await fetch('/met?name='+d.deviceId);return 1`)},
		{name: "questions to a person", actions: running(`await Promise.all([()=>navigator.requestMIDIAccess(),()=>getScreenDetails(),()=>queryLocalFonts(),()=>navigator.wakeLock.request(),()=>navigator.clipboard.readText(),()=>screen.orientation.lock('portrait'),()=>navigator.keyboard.lock(),()=>navigator.setAppBadge(3),()=>document.requestStorageAccess(),()=>navigator.registerProtocolHandler('web+mark','/x?%s')].map(f=>Promise.race([new Promise(r=>setTimeout(r,300)),Promise.resolve().then(f).catch(()=>0)])));return 1`)},
		{name: "groups, logins and keys", actions: running(`const id=new Uint8Array(16);await Promise.all([()=>navigator.joinAdInterestGroup({owner:location.origin,name:'MARK',biddingLogicURL:location.origin+'/x.js'},3600),()=>navigator.login.setStatus('logged-in'),()=>document.browsingTopics(),()=>navigator.credentials.store(new PasswordCredential({id:'MARK',password:'x'})),` +
			`()=>navigator.credentials.create({publicKey:{challenge:id,rp:{name:'x'},user:{id,name:'x',displayName:'x'},pubKeyCredParams:[{type:'public-key',alg:-7}],timeout:300}})].map(f=>Promise.race([new Promise(r=>setTimeout(r,300)),Promise.resolve().then(f).catch(()=>0)])));return 1`)},
		{name: "sound and calls", actions: running(`const c=new AudioContext();await c.audioWorklet.addModule('/worklet.js');const p=new RTCPeerConnection();p.createDataChannel('MARK');await p.setLocalDescription();return 1`)},

		// What only TLS has.
		{name: "a site that wants TLS", finds: "plain", actions: opened("Strict-Transport-Security: max-age=3600")},
		{name: "cookies of a part", finds: "secureSent", actions: opened("Set-Cookie: __Host-m=MARK; Secure; Path=/; Partitioned; SameSite=None")},
		{name: "cookies of a third site", finds: "third", actions: `{"open":"` + secure + `/"},` + running(`await fetch('`+third+`/?head='+encodeURIComponent('Set-Cookie: __Host-m=MARK; Secure; Path=/; Partitioned; SameSite=None; Max-Age=3600'),{credentials:'include'});return 1`)},
		{name: "connections of TLS", finds: "secureConn", actions: `{"open":"` + secure + `/"},` + running(`return await (await fetch('/conn')).text()`)},
		{name: "a login over TLS", finds: "secureAuth", actions: `{"open":"` + secure + `/"},` + running(`const x=new XMLHttpRequest();x.open('GET','/auth?ask',true,'MARK','secret');await new Promise(r=>{x.onloadend=r;x.send()});return 1`), replaces: true},
		{name: "client hints over TLS", finds: "secureSent", actions: opened("Accept-CH: Sec-CH-UA-Platform-Version"), replaces: true},
		{name: "what a server says of itself", actions: opened(`Alt-Svc: h2=":1"; ma=3600`, `Report-To: {"group":"n","max_age":3600,"endpoints":[{"url":"`+secure+`/beacon"}]}`, `NEL: {"report_to":"n","max_age":3600,"success_fraction":1.0}`,
			`Reporting-Endpoints: default="`+secure+`/beacon"`, "Origin-Agent-Cluster: ?0", "Cross-Origin-Opener-Policy: same-origin", "Cross-Origin-Embedder-Policy: require-corp") + `,` + running(`await fetch('/cached');return 1`)},
		{name: "a frame of a subdomain", finds: "secureSent", actions: `{"open":"` + secure + `/"},` + running(adds(`{tag:'iframe',src:'`+subdomain+`/?head='+encodeURIComponent('Set-Cookie: m=MARK; Domain=site.test')}`)+`await new Promise(r=>{e.onload=r;document.body.append(e)});return 1`)},
		{name: "a frame without rights", actions: `{"open":"` + secure + `/"},` + running(adds(`{tag:'iframe',sandbox:'allow-scripts',src:'/'}`)+`await new Promise(r=>{e.onload=r;document.body.append(e)});return 1`), replaces: true},

		{name: "a login", finds: "auth", actions: running(`const x=new XMLHttpRequest();x.open('GET','/auth?ask',true,'MARK','secret');await new Promise(r=>{x.onloadend=r;x.send()});return x.responseText`), replaces: true},
		{name: "a login in an address", finds: "auth", actions: `{"open":"` + strings.Replace(base, "http://", "http://MARK:secret@", 1) + `/auth?ask"}`, replaces: true},
		{name: "client hints", finds: "sent", actions: `{"open":"` + base + `/?hints"}`, replaces: true},
		{name: "a socket", actions: running(`new WebSocket('` + strings.Replace(other, "http:", "ws:", 1) + `/ws');return 1`), replaces: true},
		{name: "a service worker", finds: "workers", actions: running(`await navigator.serviceWorker.register('/worker.js');await navigator.serviceWorker.ready;return 1`), replaces: true},
		{name: "a shared worker", actions: running(`const s=new SharedWorker('/worker.js');await new Promise(r=>{s.port.onmessage=r});return 1`), replaces: true},
		{name: "a worker", actions: running(`window.w=new Worker('/worker.js');return 1`), replaces: true},
		{name: "a popup", actions: running(`window.open('/','MARK');return 1`), replaces: true},
		{name: "a tab", actions: `{"openNewTab":"` + base + `/other","options":{"closeOthers":false}}`, replaces: true},
		{name: "a frame of another site", actions: running(`const f=document.createElement('iframe');f.src='` + other + `/?cookies';document.body.append(f);await new Promise(r=>f.onload=r);return 1`), replaces: true},
		{name: "a download", actions: `{"click":"#file"},{"wait":200}`, replaces: true},
		{name: "a dialog", actions: running(`alert('MARK');return 1`), replaces: true},
		{name: "the size of the page", finds: "size", actions: `{"setViewportSize":[400,300]}`, replaces: true},
		{name: "surroundings", finds: "zone", config: `"timezone":"Asia/Tokyo","locale":"de-DE","device":"iPhone 15","geolocation":{"latitude":1,"longitude":2}`, actions: `{"wait":1}`, replaces: true},
		{name: "headers", config: `"headers":{"` + base + `":{"x-mark":"MARK"}}`, actions: `{"reload":true}`, replaces: true},
		{name: "blocked requests", config: `"block":{"types":["image"]}`, actions: `{"wait":1}`, replaces: true},
		{name: "a page that resists", actions: running(`addEventListener('pagehide',()=>{const e=Date.now()+6000;while(Date.now()<e);});return 1`), replaces: true},
		{name: "a failure", actions: `{"getText":"#nope","options":{"timeout":50}}`, config: `"continueOnError":false`, replaces: true},
	}
}

// lookFor says what a task finds, in the same words for a new browser: what each page
// answers, one after the other.
func lookFor(s *markServer) string {
	base, other, secure, third, plain := s.base(), s.other(), s.secure(), s.third(), s.plain()
	running := func(s string) string { return strings.TrimSuffix(running(s), "}") + `,"options":{"push":"seen"}}` }
	return `{"timeout":120000,"config":{"actionTimeout":60000},"actions":[{"open":"` + base + `/other"},{"press":["#clip","Control+V"]},` + running(`
const soon=(p,ms)=>Promise.race([p,new Promise(r=>setTimeout(()=>r('nothing'),ms))]);
const image=src=>new Promise(r=>{const i=new Image();i.onload=()=>r(i.naturalWidth);i.onerror=()=>r('none');i.src=src});
const added=(tag,f)=>new Promise(r=>{const e=Object.assign(document.createElement(tag),f);e.onload=r;document.head.append(e)});
const text=async(u,o)=>await (await fetch(u,o)).text();
const channel=new BroadcastChannel('c'),heard=new Promise(r=>{channel.onmessage=e=>r(e.data);channel.postMessage('?')});
await added('script',{src:'/script.js'});await added('link',{rel:'stylesheet',href:'/style.css'});
let devices='';for(const d of await navigator.mediaDevices.enumerateDevices())if(d.deviceId.length>10)devices+=await text('/met?name='+d.deviceId);
const all={name:window.name,history:[history.length,navigation.entries().length],state:history.state,opener:!!window.opener,referrer:document.referrer,sent:sent.textContent,cookie:document.cookie,
local:{...localStorage},session:{...sessionStorage},databases:(await indexedDB.databases()).map(d=>d.name),caches:await caches.keys(),
files:await Array.fromAsync((await navigator.storage.getDirectory()).keys()),buckets:navigator.storageBuckets?await navigator.storageBuckets.keys():[],
oldFiles:await new Promise(r=>webkitRequestFileSystem(0,1e3,f=>f.root.createReader().readEntries(e=>r(e.map(x=>x.name)),x=>r(x.name)),x=>r(x.name))),
workers:(await navigator.serviceWorker.getRegistrations()).length,sw:await text('/sw'),cached:await text('/cached'),pixel:await image('/pixel'),
scripted:window.scripted,styled:getComputedStyle(document.querySelector('h1')).getPropertyValue('--mark'),moved:await text('/moved'),dictionary:await text('/dicted'),devices,
preflight:await fetch('`+other+`/preflight',{headers:{'x-mark':'1'}}).then(r=>r.text(),()=>'refused'),conn:await text('/conn'),auth:(await fetch('/auth')).status,
locks:(await navigator.locks.query()).held.length,heard:await soon(heard,20),persisted:await navigator.storage.persisted(),notify:Notification.permission,
hover:getComputedStyle(at).color,scroll:scrollY,clip:clip.value,pasted:window.pasted,size:[innerWidth,innerHeight,devicePixelRatio,visualViewport.scale,outerWidth,outerHeight,screenX,screenY],
tab:[document.visibilityState,document.hasFocus(),!!document.fullscreenElement,!!document.pointerLockElement],zone:Intl.DateTimeFormat().resolvedOptions().timeZone,
language:navigator.language,agent:navigator.userAgent,touch:navigator.maxTouchPoints,usage:(await navigator.storage.estimate()).usage,
allowed:await Promise.all(['geolocation','notifications','camera','microphone','midi','persistent-storage','clipboard-read','clipboard-write','storage-access','local-fonts','window-management'].map(name=>navigator.permissions.query({name}).then(p=>name+' '+p.state,()=>name)))};
return all`) + `,{"open":"` + other + `/"},` + running(`return {elsewhere:[document.cookie,{...localStorage},{...sessionStorage},sent.textContent,window.name]}`) +
		`,{"open":"` + secure + `/"},` + running(`const text=async(u,o)=>await (await fetch(u,o)).text();return {secureSent:await text('/sent'),secureConn:await text('/conn'),secureAuth:(await fetch('/auth')).status,third:await text('`+third+`/sent',{credentials:'include'}),own:[originAgentCluster,crossOriginIsolated]}`) +
		`,{"open":"` + plain + `/sw"},` + running(`return {plain:location.protocol}`) + `,{"getSavedData":"seen"}]}`
}
