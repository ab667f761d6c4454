//go:build unix

package postgrestest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// owners are users other than root, since a server does not run as root.
var owners = []string{"postgres", "nobody"}

// owner returns the user that the server belongs to if the tests run as root.
func owner() (uid, gid int, found bool) {
	for _, name := range owners {
		known, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(known.Uid)
		gid, gidErr := strconv.Atoi(known.Gid)
		if uidErr == nil && gidErr == nil {
			return uid, gid, true
		}
	}
	return 0, 0, false
}

// unable says why no server can be started here, or returns "".
func unable() string {
	if _, _, found := owner(); os.Getuid() == 0 && !found {
		return "it does not run as root, and there is no other user"
	}
	return ""
}

// give changes the owner of a folder to the server's owner.
func give(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	uid, gid, _ := owner()
	return os.Chown(dir, uid, gid)
}

// asOwner makes a program run as the server's owner, in a session of its own, so that interrupting
// the tests in a terminal does not reach it.
func asOwner(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Getuid() != 0 {
		return
	}
	uid, gid, _ := owner()
	c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
