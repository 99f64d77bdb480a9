package cluster_test

import "syscall"

// mortal has a node end with the tests, even where they are killed while it is
// frozen and cannot see its input end.
func mortal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
