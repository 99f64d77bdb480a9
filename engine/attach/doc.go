// Package attach lets a client that speaks the protocol of Chromium use the browser of a session.
//
// [Serve] carries messages between a [Client] and a [Browser]. On the way every command is looked
// up in one table (table.go): what is not there is refused, and what is there has its parameters
// checked, or replaced where the service decides about them. So the client reaches its session and
// nothing else: no other context, no file and no address of the machine, no process of the service.
package attach
