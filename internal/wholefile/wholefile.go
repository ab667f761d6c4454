// Package wholefile writes files as a whole or not at all.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces a file by a new one with the given content, or changes nothing. A reader never
// sees half of the content, and after a failure the old file is still there.
func Write(path string, content []byte) error { return write(path, content, nil) }

// WriteBeside is like Write, for a file that accompanies another one and must be as private: it
// gets the permissions of the other file.
func WriteBeside(path string, content []byte, other string) error {
	info, err := os.Stat(other)
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	return write(path, content, &mode)
}

// WriteOf writes a file that was made from others: only those may read it who may read each of
// them. Names that are not files are ignored.
func WriteOf(path string, content []byte, others []string) error {
	if private := mostPrivate(others); private != "" {
		return WriteBeside(path, content, private)
	}
	return Write(path, content)
}

// mostPrivate returns the file that the fewest may read, or "" if everybody may read all of them.
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

// write is Write with the permissions as, or the existing ones if as is nil. The umask applies only
// to a new file without given permissions.
func write(path string, content []byte, as *fs.FileMode) error {
	target, mode, given, err := replaceable(path)
	if err != nil {
		return err
	}
	if !mode.IsRegular() { // a pipe or a device is written directly
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

// partOf returns the name of the temporary file for a target. It is in the same folder, because a
// file cannot be renamed into another file system. n distinguishes attempts, because a killed
// process with the same number may have left such a file.
func partOf(target string, n int) string {
	return fmt.Sprintf("%s.%d.%d.part", target, os.Getpid(), n)
}

// replaceable follows links to the file that is really to be written. It returns the mode of the
// file, or the mode for a new one.
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

// writePart writes the temporary file and syncs it to disk, so that it is complete before it gets
// its name. It leaves no file on an error.
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
