// Package backup copies a store and its files to another place while they are in use, and
// makes a store and files of such a copy.
//
// A place has these things, and each is written once:
//
//	<store>/<backup>/manifest.json  the [Manifest], written last: without it there is no backup
//	<store>/<backup>/records        every record; of an incremental one the values that changed
//	<store>/<backup>/files          a line for each file, with its checksum
//	<store>/files/<2 letters>/<id>  the bytes of a file. Files never change, so backups share them
//
// The store is a name that a restored store does not share. A backup is named by a number
// that only grows, and the time, which may be wrong.
package backup
