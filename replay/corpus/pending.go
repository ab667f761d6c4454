package corpus

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adkreplay/adkreplay/internal/jsonfault"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wholefile"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Pending is a check's new content for a file that does not hold what the check found. It is kept
// until a person reviews it with adkreplay review.
type Pending struct {
	// File is the absolute path of the file. SHA256 is the digest of its content at the time of the
	// check.
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	// Causes describes the differences. Pending files with the same causes are one change.
	Causes []string `json:"causes"`
	// Shown is the difference as a person sees it. Changes is what is kept with the reason.
	Shown   string   `json:"shown"`
	Changes []string `json:"changes"`
	// Content would replace the content of the file.
	Content []byte `json:"content"`
	// Refused says why nothing can replace the content. Such a Pending is only kept to be seen.
	Refused string `json:"refused,omitempty"`
	// Accept is the command that accepts it without a review; empty if there is none.
	Accept string `json:"accept,omitempty"`

	kept string // the file from which it was read
}

// pendingEnding is the end of the names of the files that hold a Pending.
const pendingEnding = ".pending.json"

// Keep writes the Pending to a folder, and replaces an earlier one for the same file. The new file
// has the permissions of that file.
func (p Pending) Keep(folder string) error {
	expected, err := os.ReadFile(p.File)
	if err != nil {
		return err
	}
	p.File = WholePath(p.File)
	p.SHA256 = cmp.Or(p.SHA256, digestOf(expected))
	content, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return wholefile.WriteBeside(pendingFile(folder, p.File), append(safetext.JSON(content), '\n'), p.File)
}

// DropPending removes the Pending of a file from a folder, if there is one.
func DropPending(folder, file string) error {
	err := os.Remove(pendingFile(folder, WholePath(file)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// pendingFile returns the path of the Pending of a file: its base name, and a digest that
// distinguishes it from other files of that name.
func pendingFile(folder, file string) string {
	sum := sha256.Sum256([]byte(file))
	return filepath.Join(folder, filepath.Base(file)+"-"+hex.EncodeToString(sum[:6])+pendingEnding)
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// ReadPending reads all Pending files of a folder, in the order of their names.
func ReadPending(folder string) (all []Pending, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), pendingEnding) {
			continue
		}
		p := Pending{kept: filepath.Join(folder, entry.Name())}
		content, err := os.ReadFile(p.kept)
		if err == nil {
			err = json.Unmarshal(content, &p)
		}
		if err == nil && (!filepath.IsAbs(p.File) || len(p.Causes) == 0) {
			err = errors.New("it names no file, or no cause")
		}
		if err != nil {
			return nil, fmt.Errorf("replay: %s is no pending change: %w", safetext.Line(p.kept), jsonfault.Of(err))
		}
		all = append(all, p)
	}
	return all, nil
}

// ReplacePending replaces the content of the file, keeps the reason, and removes the Pending. It
// refuses if the file has changed since the check, because that is not what was reviewed.
func (a *Acceptance) ReplacePending(p Pending) error {
	if p.Refused != "" {
		return errors.New(p.Refused)
	}
	switch err := a.replace(p.File, p.SHA256, p.Content, p.Changes); {
	case errors.Is(err, ErrChanged):
		return errors.New("it has changed since the check: run go test again")
	case err != nil:
		return err
	}
	return os.Remove(p.kept)
}

// Pending returns, for each divergent trace, what Accept would write in its place, or why it would
// refuse. live and options are those of Accept.
func (r *Report) Pending(ctx context.Context, live func(name string) replay.Live, options ...trace.Options) (all []Pending) {
	if live == nil {
		live = func(string) replay.Live { return replay.Live{} }
	}
	for _, t := range r.Traces {
		if t.Divergence == nil {
			continue
		}
		p := Pending{File: t.Trace, SHA256: t.read, Shown: t.shown(), Causes: r.causesOf(t)}
		var content bytes.Buffer
		if made, err := t.rerecord(ctx, &content, live, optional.First(options)); err != nil {
			p.Refused = safetext.WithoutPackage(err).Error()
		} else {
			p.Changes, p.Content = t.changes(p.Causes, made), content.Bytes()
		}
		all = append(all, p)
	}
	return all
}
