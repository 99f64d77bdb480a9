// Command bench measures the service beside a client that speaks the browser's
// raw protocol: the same pages, the same tasks, the same HTTP, the same flags,
// in one run, round by round in turn. It prints times, the processor time of
// each side's whole process tree, memory, and the ratios, which are what counts:
// machines are noisy.
//
//	go run ./bench            W1 to W5, ten rounds
//	go run ./bench -quick     three short rounds
package main
