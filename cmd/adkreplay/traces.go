package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adkreplay/adkreplay/fixtures"
)

// traceFile is one trace to be read: a file, or an embedded one.
type traceFile struct {
	name string
	open func() (io.ReadCloser, error)
}

// traceEnding is what the files of a folder are chosen by.
const traceEnding = ".jsonl"

// findTraces turns the arguments into traces: files as they are, folders as all
// the traces below them, in the order of their paths, and nothing as the
// embedded ones.
func findTraces(args []string) ([]traceFile, error) {
	if len(args) == 0 {
		return embeddedTraces()
	}
	var found []traceFile
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err == nil && info.IsDir() {
			below, err := folderTraces(arg)
			if err != nil {
				return nil, err
			}
			found = append(found, below...)
			continue
		}
		// An absent file is a trace that cannot be read: it is said when its
		// turn comes, beside what the others gave.
		found = append(found, file(arg))
	}
	return found, nil
}

func file(path string) traceFile {
	return traceFile{path, func() (io.ReadCloser, error) { return os.Open(path) }}
}

func folderTraces(root string) (found []traceFile, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, traceEnding) {
			found = append(found, file(path))
		}
		return err
	})
	if err == nil && len(found) == 0 {
		err = &exitError{code: exitUnreadable, err: fmt.Errorf("%s: no trace in this folder: traces end in %s", root, traceEnding)}
	}
	return found, err
}

func embeddedTraces() (found []traceFile, err error) {
	names, err := fs.Glob(fixtures.Traces, "*"+traceEnding)
	for _, name := range names {
		found = append(found, traceFile{strings.TrimSuffix(name, traceEnding),
			func() (io.ReadCloser, error) { return fixtures.Traces.Open(name) }})
	}
	return found, err
}
