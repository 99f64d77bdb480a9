package main

import (
	"testing"

	"troupe/actors/api"
	"troupe/http/answer"
)

// TestNumbersAndWords: a number and the words that go with it agree.
func TestNumbersAndWords(t *testing.T) {
	service := func(online, workers, busy, waiting int) answer.Capacity {
		return answer.Capacity{Online: online, Workers: workers, Busy: busy, Waiting: waiting}
	}
	for got, want := range map[string]string{
		free(service(1, 1, 0, 0)):                     "1 of 1 worker is free",
		free(service(1, 2, 0, 0)):                     "1 of 2 workers is free",
		free(service(0, 1, 0, 0)):                     "0 of 1 worker is free",
		free(service(2, 3, 0, 0)):                     "2 of 3 workers are free",
		left(service(0, 2, 1, 1), ""):                 "1 runs and 1 waits",
		left(service(0, 2, 2, 0), ""):                 "2 run and 0 wait",
		left(service(0, 2, 1, 0), " task"):            "1 task runs and 0 wait",
		workersUp(api.Status{Workers: 1, Offline: 1}): "without a browser for its 1 worker yet",
		workersUp(api.Status{Workers: 2, Offline: 2}): "without a browser for its 2 workers yet",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
