// Package persistence keeps what outlives the process: plain records in a [Store],
// and blobs in [Files]. It knows nothing of tasks or actors.
//
// The store of a single node is Badger, in the data folder's store. Its records
// are listed here and in package actors/records; [Files] is the folder beside it,
// or S3 storage. Nodes of a cluster keep the same records in the engine between
// them, see package cluster.
//
//	account/<id>        an account: name, plan, whether its tokens are suspended
//	token/<hash>        whose a token is; the token itself is nowhere
//	token-event/<…>     who made and revoked it
//	secret/<…>          a secret of an account, sealed
//	flow/<…>            the newest version of a flow of an account
//	flow-version/<…>    an earlier version of it
//	profile/<…>         what browsers keep of sites for an account, sealed: its versions
//	profile-part/<…>    a part of the state of a version, sealed
//	profile-writer/<…>  the task that may save the profile, until it ends
//	model-session/<…>   what a model has done in a session, for an hour (package http/mcp)
//	usage/<account>/<day>  how many tasks the account has run on a day
//	turn/<…>            who changes what there may be only so many of, for 10 s at most
//	ticket/<…>          a link to look on, until it ends (package http/live)
package persistence
