package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/moby/profiles/seccomp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// What Chromium's sandbox needs beyond the default profile: user namespaces, and
// in them namespaces of processes and of the network, and an empty root. It gets
// no namespaces of mounts, nor the calls to mount, which are what a user
// namespace is dangerous for.
const otherNamespaces = 0x20000 | 0x4000000 | 0x8000000 | 0x2000000 // CLONE_NEWNS, NEWUTS, NEWIPC, NEWCGROUP

var sandbox = []specs.LinuxSyscall{
	{Names: []string{"clone"}, Action: specs.ActAllow, Args: []specs.LinuxSeccompArg{{Index: 0, Value: otherNamespaces, Op: specs.OpMaskedEqual}}},
	{Names: []string{"unshare"}, Action: specs.ActAllow, Args: []specs.LinuxSeccompArg{{Index: 0, Value: otherNamespaces, Op: specs.OpMaskedEqual}}},
	{Names: []string{"chroot"}, Action: specs.ActAllow},
}

// profile is Docker's default for a container without any capability on amd64 and
// arm64, with more rules: for one, what the sandbox needs. Its conditions are resolved, for the
// runtimes of Kubernetes do not read them.
func profile(more []specs.LinuxSyscall) ([]byte, error) {
	base := seccomp.DefaultProfile()
	p := specs.LinuxSeccomp{
		DefaultAction: base.DefaultAction, DefaultErrnoRet: base.DefaultErrnoRet,
		Architectures: []specs.Arch{specs.ArchX86_64, specs.ArchX86, specs.ArchX32, specs.ArchAARCH64, specs.ArchARM},
	}
	for _, s := range base.Syscalls {
		includes, excludes := seccomp.Filter{}, seccomp.Filter{}
		if s.Includes != nil {
			includes = *s.Includes
		}
		if s.Excludes != nil {
			excludes = *s.Excludes
		}
		ours := len(includes.Arches) == 0 || slices.Contains(includes.Arches, "amd64") || slices.Contains(includes.Arches, "arm64")
		if len(includes.Caps) > 0 || !ours || slices.Contains(excludes.Arches, "amd64") {
			continue
		}
		if len(more) > 0 && slices.Equal(s.Names, []string{"clone"}) {
			continue // the sandbox's rule is wider
		}
		p.Syscalls = append(p.Syscalls, s.LinuxSyscall)
	}
	p.Syscalls = append(p.Syscalls, more...)
	b, err := json.MarshalIndent(p, "", "\t")
	return append(b, '\n'), err
}

func checkSeccomp(args []string) error {
	if args[0] == "-docker" && len(args) == 2 {
		plain, err := profile(nil)
		if err != nil {
			return err
		}
		return os.WriteFile(args[1], plain, 0o644)
	}
	want, err := profile(sandbox)
	if err != nil {
		return err
	}
	if args[0] == "-w" && len(args) == 2 {
		return os.WriteFile(args[1], want, 0o644)
	}
	have, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	if !bytes.Equal(have, want) {
		return errors.New(fmt.Sprint(args[0], " is not what it is made from: deploycheck seccomp -w ", args[0]))
	}
	return nil
}
