package files

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// step renames or removes a file. The content of a renamed file is synced before. A step can be
// repeated.
type step struct {
	// From is renamed to To; Remove is removed.
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Remove string `json:"remove,omitempty"`
}

// make does steps, all or none: for several steps it first writes a list of them.
func (d *Dir) make(steps []step) error {
	if len(steps) <= 1 {
		return d.follow(steps)
	}
	list, err := json.Marshal(steps)
	if err != nil {
		return err
	}
	temporary := path.Join(temporaryName, "redo")
	if err := d.put(temporary, list); err != nil {
		return errors.Join(err, d.gone(temporary))
	}
	if err := d.root.Rename(filepath.FromSlash(temporary), redoName); err != nil {
		return errors.Join(err, d.gone(temporary))
	}
	if err := d.sync("."); err != nil {
		return errors.Join(err, d.gone(redoName))
	}
	if d.redo() != nil { // the list decides that they are done, so the next caller finishes them
		d.unfinished = true
		clear(d.shelves)
	}
	return nil
}

// redo does the steps of the list that is left, if there is one.
func (d *Dir) redo() error {
	list, err := d.root.ReadFile(redoName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var steps []step
	if err := json.Unmarshal(list, &steps); err != nil {
		return err
	}
	if err := d.follow(steps); err != nil {
		return err
	}
	return errors.Join(d.gone(redoName), d.sync("."))
}

// follow does steps one after the other, and syncs their folders.
func (d *Dir) follow(steps []step) error {
	folders := map[string]bool{}
	for _, s := range steps {
		if s.Remove != "" {
			if err := d.gone(s.Remove); err != nil {
				return err
			}
			folders[path.Dir(s.Remove)] = true
			continue
		}
		err := d.root.Rename(filepath.FromSlash(s.From), filepath.FromSlash(s.To))
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && d.isThere(redoName)) { // otherwise the step was done before a crash
			return err
		}
		folders[path.Dir(s.To)] = true
	}
	for folder := range folders {
		if err := d.sync(folder); err != nil {
			return err
		}
	}
	return nil
}

func (d *Dir) isThere(name string) bool {
	_, err := d.root.Stat(filepath.FromSlash(name))
	return err == nil
}

// gone removes a file, if it exists.
func (d *Dir) gone(name string) error {
	if err := d.root.Remove(filepath.FromSlash(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// put writes and syncs a file.
func (d *Dir) put(name string, content []byte) error {
	f, err := d.root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// folder creates a folder and its parents, and syncs them.
func (d *Dir) folder(name string) error {
	if d.isThere(name) {
		return nil
	}
	above := "."
	for part := range strings.SplitSeq(name, "/") {
		below := path.Join(above, part)
		switch err := d.root.Mkdir(filepath.FromSlash(below), 0o700); {
		case err == nil:
			if err := d.sync(above); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrExist):
			return err
		}
		above = below
	}
	return nil
}

// sync syncs a folder. Windows cannot sync a folder, and journals the names itself.
func (d *Dir) sync(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := d.root.Open(filepath.FromSlash(folder))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
