// Package records is what the actors keep on the disk: tasks and how they ended,
// requests with a key, sessions and their state, workers that were added. Every
// field has a JSON name of its own, and testdata/golden has what each release has
// written. All methods of [Store] take time: no mailbox calls one.
//
//	task/<id>           an asynchronous task, until an hour after its end
//	outcome/<id>        how it ended
//	queued/<account>/…  a task that waits in the queue, or runs from it, sealed
//	ended/<account>/…   which tasks of the queue have ended, in that order
//	dead/<account>/…    those that failed, as they can be sent again, sealed
//	key/<account>/<…>   a request with a key and its answer, for a day
//	session/<id>        a session: whose, which worker's, until when
//	session-state/<id>  its browser's state and its data cache, sealed; behind a
//	                    further "/" the epoch, where it had several owners
//	lease/<node>        until when the node's sessions are its own: see package lease
//	notice/<account>/<…>     a notice that is to be delivered, sealed
//	noticelog/<account>/…    one that was delivered or given up, the newest first, sealed
//	noticepoint/<account>/…  a receiver that the account has named, sealed
//	noticeurl/<account>/…    since when a receiver fails, sealed
//	noticekey/<account>      what signs notices, sealed
//	worker/<id>         a worker that was added
//
// Values over 256 KiB are in files, and the record names the file.
package records
