// Package batch plays a task once for each of many items. The items are on the disk.
// A batch gives its next ones to the queue whenever few of them are there, so a batch of
// a million items takes no more memory, and no more of the queue, than one of a
// thousand. It stands above the queue: which task runs where and when is not its
// business.
//
// What is on the disk, and why no item is lost or played twice when the process ends
// between two writes, is in docs/decisions/0025-batches-feed-the-queue.md.
package batch
