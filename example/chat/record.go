package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/sessions"
)

// journalSuffix is how the name of a journal ends.
const journalSuffix = ".journal.jsonl"

// recording writes down what a host does: a journal, and a trace of each turn.
type recording struct {
	Traces  *replay.Recorder
	Journal *sessions.Recorder
	file    *os.File
}

// recordIn records in a folder, in files of the host's own.
func recordIn(folder, host string) (*recording, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	file, err := create(folder, host+journalSuffix)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	var turns atomic.Int64
	traces := replay.RecordEach(func(adk.RunInfo) (io.WriteCloser, error) {
		return create(folder, fmt.Sprintf("%s-%04d.jsonl", host, turns.Add(1)))
	})
	return &recording{traces, sessions.Record(file), file}, nil
}

// create makes a file that its user alone reads: a trace holds what was said.
func create(folder, name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// close ends the journal. It gives what could not be written.
func (r *recording) close() error {
	return errors.Join(r.Traces.Err(), r.Journal.Close(), r.file.Close())
}
