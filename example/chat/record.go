package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/adkreplay/adkreplay/replay/sessions"
)

// recordIn records what a host does in a folder: its journal, and a trace of each turn. The files
// contain what was said, so only their owner can read them.
func recordIn(folder, host string) (*sessions.HostRecorder, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	return sessions.RecordHost(host, func(name string) (io.WriteCloser, error) {
		return os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}), nil
}
