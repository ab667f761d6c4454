package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// calendarIn is a calendar of files in a folder, which stands for a service. Each appointment is a
// file named after the key of the booking. A repeated booking with the same key writes the same
// file again, which changes nothing. A file is written completely or not at all.
func calendarIn(folder string) calendar {
	return func(_ context.Context, b booking) (confirmation string, err error) {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return "", fmt.Errorf("calendar: %w", err)
		}
		text, err := json.MarshalIndent(b, "", "\t")
		if err != nil {
			return "", err
		}
		file, err := os.CreateTemp(folder, ".new-*")
		if err != nil {
			return "", fmt.Errorf("calendar: %w", err)
		}
		defer func() { err = errors.Join(err, removed(file.Name())) }()
		_, err = file.Write(append(text, '\n'))
		if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
			return "", fmt.Errorf("calendar: %w", err)
		}
		if err := os.Rename(file.Name(), filepath.Join(folder, b.Key+".json")); err != nil {
			return "", fmt.Errorf("calendar: %w", err)
		}
		return b.Key[:8], nil
	}
}

// removed removes a file, if it is there.
func removed(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
