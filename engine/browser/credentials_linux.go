package browser

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// setCredentials puts the browser in a process group of its own. When the service is root
// and the sandbox is on, it also hands the browser's folder to an unprivileged
// user and lets the browser run as that user: Chromium's sandbox does not
// start as root.
func setCredentials(cmd *exec.Cmd, dir string, noSandbox bool) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if !runsUnprivileged(noSandbox) {
		return nil
	}
	uid, gid := unprivileged()
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: gid, NoSetGroups: false}
	return filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, int(uid), int(gid))
	})
}

// runsUnprivileged reports whether browsers run as another user than the service.
func runsUnprivileged(noSandbox bool) bool { return os.Geteuid() == 0 && !noSandbox }

// barredFrom finds the folder for which a program could not be started: one that its user
// cannot get through, on the way to its own folder or to the program. nil: there is none.
func barredFrom(o Options, dir string) *FolderError {
	if !runsUnprivileged(o.NoSandbox) {
		return nil
	}
	uid, gid := unprivileged()
	if no := barred(dir, uid, gid); no != nil {
		return no
	}
	program, err := exec.LookPath(o.Path)
	if err != nil {
		return nil
	}
	return barred(program, uid, gid)
}

// User is the user that browsers run as.
func (o Options) User() int {
	if !runsUnprivileged(o.NoSandbox) {
		return os.Geteuid()
	}
	uid, _ := unprivileged()
	return int(uid)
}

// unprivileged is the user that browsers run as when the service is root: the
// one named troupe if the operator made it, else nobody.
func unprivileged() (uid, gid uint32) {
	for _, name := range []string{"troupe", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		i, err1 := strconv.ParseUint(u.Uid, 10, 32)
		g, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && i != 0 {
			return uint32(i), uint32(g)
		}
	}
	return 65534, 65534
}

// ownerOf is the user that a browser runs as: the owner of its folder.
func ownerOf(dir string) (uid, gid int) {
	if info, err := os.Stat(dir); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			return int(st.Uid), int(st.Gid)
		}
	}
	return os.Geteuid(), os.Getegid()
}
