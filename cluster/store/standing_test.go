package store

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	wellSeen   = sight{majority: true, leader: true, current: true}
	behindSeen = sight{majority: true, leader: true}
	leaderless = sight{majority: true, current: true}
	cutOff     = sight{current: true}
)

// TestStanding: what a node says of itself, second by second.
func TestStanding(t *testing.T) {
	t.Parallel()
	type stretch struct {
		sees  sight
		lasts time.Duration
		want  State // at its end
	}
	for name, stretches := range map[string][]stretch{
		"it starts, and has everything": {{behindSeen, 3 * time.Second, Behind}, {wellSeen, time.Second, Well}},
		"it starts, and nobody leads":   {{leaderless, time.Minute, Behind}, {leaderless, 2 * time.Second, NoQuorum}},
		"an election": {
			{wellSeen, time.Second, Well}, {leaderless, time.Second, Electing}, {leaderless, 8 * time.Second, Electing}, {wellSeen, time.Second, Well},
		},
		"the leader that was elected is ahead of its copy for a moment": {
			{wellSeen, time.Second, Well}, {leaderless, 8 * time.Second, Electing}, {behindSeen, 2 * time.Second, Well}, {behindSeen, 2 * time.Second, Behind}, {wellSeen, time.Second, Well},
		},
		"too few are left": {
			{wellSeen, time.Second, Well}, {leaderless, maxElection, Electing}, {leaderless, 2 * time.Second, NoQuorum}, {leaderless, time.Hour, NoQuorum},
			{behindSeen, time.Second, Behind}, {wellSeen, time.Second, Well},
		},
		"a slow disk": {{wellSeen, time.Second, Well}, {behindSeen, 2 * time.Second, Well}, {wellSeen, time.Second, Well}, {behindSeen, 2 * time.Second, Well}},
		"it falls behind": {
			{wellSeen, time.Second, Well}, {behindSeen, 5 * time.Second, Behind}, {behindSeen, time.Hour, Behind}, {wellSeen, time.Second, Well},
		},
		"it is cut off and comes back": {
			{wellSeen, time.Second, Well}, {cutOff, time.Second, CutOff}, {cutOff, time.Hour, CutOff},
			{leaderless, time.Second, Behind}, {leaderless, 40 * time.Second, Behind}, {behindSeen, 20 * time.Second, Behind}, {wellSeen, time.Second, Well},
		},
		"it starts, and is cut off": {{cutOff, maxAway, Behind}, {cutOff, 2 * time.Second, CutOff}},
		"it comes back for a moment": {
			{wellSeen, time.Second, Well}, {cutOff, time.Second, CutOff}, {behindSeen, time.Second, Behind}, {cutOff, 3 * time.Second, Behind}, {leaderless, 3 * time.Second, Behind},
			{cutOff, maxAway, Behind}, {cutOff, 2 * time.Second, CutOff},
		},
		"it comes back, and nobody leads": {
			{wellSeen, time.Second, Well}, {cutOff, time.Minute, CutOff}, {leaderless, maxReturn, Behind}, {leaderless, 2 * time.Second, NoQuorum}, {cutOff, time.Second, CutOff},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s standing
			now := time.Now()
			for i, x := range stretches {
				for range x.lasts / time.Second {
					now = now.Add(time.Second)
					s = s.step(x.sees, now)
				}
				if s.state != x.want {
					t.Fatalf("stretch %d: it is %s, want %s", i, s.state, x.want)
				}
			}
		})
	}
}

// TestAFrozenNodeKnowsNothing: what it saw before it stood still does not count after.
func TestAFrozenNodeKnowsNothing(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := standing{}.step(wellSeen, now)
	for _, v := range []sight{behindSeen, leaderless, cutOff} {
		woken := now.Add(maxStandstill + time.Second)
		if !s.stoodStill(woken) {
			t.Error("nobody notices that it stood still")
		}
		if got := s.step(v, woken).state; got != Behind {
			t.Errorf("after it stood still it sees %+v and is %s", v, got)
		}
	}
	if s.stoodStill(now.Add(2 * lookEvery)) {
		t.Error("a look that comes late counts as a standstill")
	}
}

// TestStandingIsSound: whatever a node sees, it says well only with proof, and leaves
// that no sooner than an election or a slow disk explains.
func TestStandingIsSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s standing
		now := time.Now()
		proven := time.Time{} // when it was last seen to be well
		for range rapid.IntRange(1, 200).Draw(t, "looks") {
			v := sight{majority: rapid.Bool().Draw(t, "majority"), leader: rapid.Bool().Draw(t, "leader"), current: rapid.Bool().Draw(t, "current")}
			now = now.Add(time.Duration(rapid.IntRange(50, 7000).Draw(t, "ms")) * time.Millisecond)
			still := s.stoodStill(now)
			before := s.state
			s = s.step(v, now)
			if v.leader && v.current {
				proven = now
			}
			switch s.state {
			case Well:
				if now.Sub(proven) > maxElection+maxSlow+2*maxStandstill {
					t.Fatalf("it is well, and that was proven %v ago", now.Sub(proven))
				}
				if !v.leader {
					t.Fatal("it is well without a leader")
				}
				if before == Behind && !v.current || still && !v.current {
					t.Fatal("it was behind, and is well without proof")
				}
			case Electing:
				if v.leader || !v.majority || before != Well && before != Electing {
					t.Fatalf("it was %s, sees %+v and is electing", before, v)
				}
			case CutOff:
				if v.majority {
					t.Fatal("it sees a majority and is cut off")
				}
			case NoQuorum:
				if v.leader || !v.majority {
					t.Fatalf("it sees %+v and has no quorum", v)
				}
			case Behind:
				if v.leader && v.current || !v.majority && !v.leader && before != Behind && before != "" && !still {
					t.Fatalf("it was %s, sees %+v and is behind", before, v)
				}
			default:
				t.Fatalf("it is %q", s.state)
			}
		}
	})
}
