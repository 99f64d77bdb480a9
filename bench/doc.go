// Command bench measures the service beside a client that speaks the browser's
// raw protocol: the same pages, the same tasks, the same HTTP, the same flags,
// in one run, round by round in turn. It prints times, the processor time of
// each side's whole process tree, memory, and the ratios, which are what counts:
// machines are noisy.
//
// Beside that it measures what HTTP, actors and store cost without a browser,
// against a handler that decodes the same requests and does nothing.
//
//	go run ./bench              everything, ten rounds
//	go run ./bench -quick       fewer and shorter rounds
//	go run ./bench -only http   only what needs no browser
package main
