// Command bench measures the service beside others that do the same work: a
// client that speaks the browser's raw protocol, and servers around Puppeteer
// and Playwright as people write them by hand. The same pages, the same tasks,
// the same HTTP, in one run, round by round in turn. It prints times, the
// processor time of each side's whole process tree, memory, and the ratios,
// which are what counts: machines are noisy. A wrong answer ends the run.
//
// Beside that it measures what HTTP, actors and store cost without a browser,
// how long the first result takes, how the actors grow with the number of
// workers and with that of nodes, what metrics, traces and the proxy add, and
// whether the service is the same after very many tasks.
//
//	go run ./bench                        tasks, http, cold, watched, proxy and blocked
//	go run ./bench -quick                 a short look at them
//	go run ./bench -peers=false           without what needs npm
//	go run ./bench -only http             only what needs no browser
//	go run ./bench -only scale -plot F    draws the growth into a file, too
//	go run ./bench -only cluster          nodes that are one service; -write docs/cluster.md
//	go run ./bench -only flat             10,000 tasks
//	go run ./bench -only builds -before P beside P, the program of an older build
//	go run ./bench -only frames           a page with ten frames of other sites
//	go run ./bench -only blocked          a page of 150 resources, and most of them blocked
//	go run ./bench -only pages            pages as the web has them: HTTPS, much script, paper, forms
//	go run ./bench -only workers          full load with more and more workers
//	go run ./bench -only agents           tokens of tools for models; -write docs/agents.md
//	go run ./bench -write docs/performance.md
//
// The last puts the results of whatever it measured into the document, between
// its marks. Results without marks there go to their own documents. The document
// explains what is compared and how.
package main
