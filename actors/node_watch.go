package actors

import (
	"troupe/actors/api"
	"troupe/actors/view"
)

// Watch lets somebody see a browser of this process. The caller closes the
// watcher.
func (n *Node) Watch(m *view.Watch) (*view.Watcher, *api.Refusal) {
	return n.parts.screencasts.Watch(m)
}

// Read lets somebody hear of an account's tasks and workers; All: of everybody's,
// without what the tasks of others give. At first it has so many tasks. The
// caller closes the reader.
func (n *Node) Read(account string, all bool, tasks int) view.Reading {
	return n.parts.feed.Read(account, all, tasks)
}

// Recent returns the last tasks that an account may see, the newest first.
func (n *Node) Recent(account string, all bool, most int) []view.TaskNews {
	return n.parts.feed.Recent(account, all, most)
}

// RecentTask returns one of them.
func (n *Node) RecentTask(account string, all bool, id string) (view.TaskNews, bool) {
	return n.parts.feed.RecentTask(account, all, id)
}
