//go:build !unix

package postgrestest

import "os/exec"

func unable() string { return "none is started on this system: name one in " + Variable }

func give(string) error { return nil }

func asOwner(*exec.Cmd) {}
