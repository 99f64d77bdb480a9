//go:build !linux

package cluster_test

import "syscall"

// mortal leaves a node as it is: it ends when it reads the end of its input.
func mortal() *syscall.SysProcAttr { return nil }
