package http

import "testing"

// TestLoadsCountWhole: with the least --request-memory, too, what is loaded counts as much as
// it takes, and leaves its account room for what requests hold while they wait for it.
func TestLoadsCountWhole(t *testing.T) {
	for _, all := range []int64{MinMemory, MaxMemory, 4 * MaxMemory} {
		s := &Server{cfg: Config{Memory: MemoryLimits(all)}}
		for name, n := range map[string]int64{"an answer": answerWeight, "a part of a list": partWeight} {
			if s.mostLoaded() < n {
				t.Errorf("%s counts as %d MiB of %d with %d in all", name, s.mostLoaded()>>20, n>>20, all>>20)
			}
		}
		if rest := s.cfg.Memory.Account - s.mostLoaded(); rest < s.cfg.Memory.Account/4 {
			t.Errorf("a load leaves %d MiB of %d", rest>>20, s.cfg.Memory.Account>>20)
		}
	}
}
