package actors

import (
	"bytes"
	"encoding/json"
	"testing"

	"troupe/engine"
)

// TestFollowersGetNoLongResults: a step waits in queues without a result that is
// too long for those who follow it, nor with what a short one was a part of.
func TestFollowersGetNoLongResults(t *testing.T) {
	long := json.RawMessage(bytes.Repeat([]byte("1"), maxStepResult+1))
	if s := forFollowers(engine.StepReport{Result: long}); s.Result != nil || s.ResultBytes != len(long) {
		t.Errorf("a long result has %d bytes, and tells of %d", len(s.Result), s.ResultBytes)
	}
	if s := forFollowers(engine.StepReport{Result: long[:10]}); string(s.Result) != "1111111111" || cap(s.Result) > 100 || s.ResultBytes != 0 {
		t.Errorf("a short result holds %d bytes", cap(s.Result))
	}
}
