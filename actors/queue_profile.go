package actors

import (
	"context"
	"time"

	"troupe/actors/backlog"
	"troupe/persistence/clock"
)

// A task of the queue that waits for its profile has no turn: it takes no worker, no
// attempt and nothing of the day's count. The node that orders the queue looks before it
// hands the turn on. Without a group of its own, the task is in a lane of which one runs
// at a time: see [backlog.LaneOf].

const (
	// profileWaits is how long nothing of a profile's lane begins where a task that is
	// not of the queue has the profile, unless the profile is free before.
	profileWaits = 30 * time.Second
	// profileLeaves is how long after its profile is free nothing of a lane begins:
	// requests that wait for the profile go first.
	profileLeaves = 150 * time.Millisecond
)

// profileFree tells that a profile is free, or was waited for long enough.
type profileFree struct {
	lane    backlog.Lane
	profile string
}

// read brings the records of a task whose turn it is, and looks whether its profile is
// free.
func (m *turnRead) read(ctx context.Context, n *nodeParts, key string) (err error) {
	if m.claim, err = n.records.Queue().Turn(ctx, key, m.task); err != nil || m.claim.Stale || m.claim.Runs() {
		return err
	}
	task, err := m.claim.Queued.Parse()
	if m.bad = err; err != nil {
		return nil
	}
	if m.parsed = task.AsText(); n.cfg.Profiles == nil || !m.parsed.Profile.Waits() {
		return nil
	}
	m.used, err = n.cfg.Profiles.Used(ctx, m.claim.Queued.Account, m.parsed.Profile.Name)
	return err
}

// profileUsed notes which profile a task waits for, and reports whether another one has
// it, or is about to.
func (u *queue) profileUsed(t *queuedTask, m *turnRead) bool {
	p, used := m.parsed.Profile, m.used
	if !p.Waits() {
		return false
	}
	for _, o := range u.live {
		used = used || o.profile == p.Name && o.place.Account == t.place.Account && !o.released
	}
	t.profile, t.grouped = p.Name, m.parsed.Queue.Group != ""
	return used
}

// awaitProfile returns a task to its place until its profile may be free.
func (u *queue) awaitProfile(task string, t *queuedTask) {
	if t.grouped { // the others of its group need not wait
		u.putBack(task, u.after(again))
		return
	}
	u.book.PauseGroup(t.place.Lane, u.after(profileWaits))
	u.putBack(task, clock.Due{})
	if u.profileWaits[t.place.Account+"/"+t.profile] != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), profileWaits)
	u.profileWaits[t.place.Account+"/"+t.profile] = cancel
	free := &profileFree{t.place.Lane, t.profile}
	u.node.background.Go(func() {
		defer cancel()
		if err := protect(func() error { return u.node.cfg.Profiles.Free(ctx, free.lane.Account, free.profile) }); err != nil {
			pause(ctx, again) // the next look finds out why
		}
		u.self(free)
	})
}

// onProfileFree lets the next task have its turn, behind requests that wait as well.
func (u *queue) onProfileFree(m *profileFree) {
	delete(u.profileWaits, m.lane.Account+"/"+m.profile)
	u.book.PauseGroup(m.lane, u.after(profileLeaves))
}

// leaveProfile lets requests have the profile of a task that has ended before the next
// task of the queue.
func (u *queue) leaveProfile(t *queuedTask) {
	if t.profile != "" && !t.grouped {
		u.book.PauseGroup(t.place.Lane, u.after(profileLeaves))
	}
}
