// Package wholefile writes files as a whole or not at all.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts a whole file in the place of whatever is there, or nothing: a
// reader never meets half of one, and a failure leaves what was there before.
func Write(path string, content []byte) error { return write(path, content, nil) }

// WriteBeside is Write for a file that goes with another one, and is as private as that:
// it has the other's permissions, whatever it had.
func WriteBeside(path string, content []byte, other string) error {
	info, err := os.Stat(other)
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	return write(path, content, &mode)
}

// WriteOf writes what was made of other files: it may be read by those alone who may read each of
// them. A name of what is no file says nothing.
func WriteOf(path string, content []byte, others []string) error {
	if private := mostPrivate(others); private != "" {
		return WriteBeside(path, content, private)
	}
	return Write(path, content)
}

// mostPrivate is the file that the fewest may read, empty where all may be read by everybody.
func mostPrivate(names []string) (path string) {
	const others = fs.FileMode(0o044)
	least := others
	for _, name := range names {
		info, err := os.Stat(name)
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&others < least {
			path, least = name, info.Mode().Perm()&others
		}
	}
	return path
}

// write is Write with permissions to give, nil for those that the file has. The umask takes
// something away only from those of a file that is new.
func write(path string, content []byte, as *fs.FileMode) error {
	target, mode, given, err := replaceable(path)
	if err != nil {
		return err
	}
	if !mode.IsRegular() { // a pipe or a device takes what it is given
		return os.WriteFile(target, content, 0)
	}
	if as != nil {
		mode, given = *as, true
	}
	part, err := writePart(target, content, mode.Perm())
	if err != nil {
		return err
	}
	if given {
		if err := os.Chmod(part, mode.Perm()); err != nil {
			return errors.Join(err, os.Remove(part))
		}
	}
	if err := os.Rename(part, target); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return nil
}

// partOf is where a file is written before it takes its place: in the same folder, because no
// file can be renamed into another file system. It is the n-th that is tried: of a process that
// was killed one may be left, and the next may have the same number.
func partOf(target string, n int) string {
	return fmt.Sprintf("%s.%d.%d.part", target, os.Getpid(), n)
}

// replaceable finds the file that is really to be written, behind any links, and
// the mode that it has, or is to have where there is none.
func replaceable(path string) (target string, mode fs.FileMode, exists bool, err error) {
	target, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, 0o644, false, nil
	}
	if err != nil {
		return "", 0, false, err
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", 0, false, err
	}
	if info.IsDir() {
		return "", 0, false, errors.New("this is a folder: give the name of a file")
	}
	return target, info.Mode(), true, nil
}

// writePart makes a part of a file, with what is on the disk before the name says that it is
// whole, or leaves none.
func writePart(target string, content []byte, mode fs.FileMode) (part string, err error) {
	var f *os.File
	for n := 0; f == nil; n++ {
		part = partOf(target, n)
		f, err = os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(part))
	}
	return part, nil
}
