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

// Pending is what a check found where a file says that something else is expected. It is
// kept until somebody has reviewed it: adkreplay review.
type Pending struct {
	// File is the whole path of the file, and SHA256 of what it held then.
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	// Causes say in words what is other; what has the same causes is one change.
	Causes []string `json:"causes"`
	// Shown is what is other, for a person, and Changes what is kept of it as reasons are.
	Shown   string   `json:"shown"`
	Changes []string `json:"changes"`
	// Content would take the place of what the file holds.
	Content []byte `json:"content"`
	// Refused says why nothing can take its place; it is kept to be seen.
	Refused string `json:"refused,omitempty"`
	// Accept is the command of the check that accepts it without a review; empty where there
	// is none.
	Accept string `json:"accept,omitempty"`

	kept string // the file that it was read from
}

// pendingEnding is how the names of the files end in which they are kept.
const pendingEnding = ".pending.json"

// Keep keeps it in a folder, in the place of what was kept there for the same file. Whoever
// may not read the file may not read this.
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

// DropPending forgets what a folder keeps for a file, if it keeps something.
func DropPending(folder, file string) error {
	err := os.Remove(pendingFile(folder, WholePath(file)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// pendingFile is where a folder keeps what is for a file: under its name, and what tells it
// from others of that name.
func pendingFile(folder, file string) string {
	sum := sha256.Sum256([]byte(file))
	return filepath.Join(folder, filepath.Base(file)+"-"+hex.EncodeToString(sum[:6])+pendingEnding)
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// ReadPending reads what a folder keeps, in the order of the names.
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

// ReplacePending puts what is pending in the place of what its file holds, with the reason
// beside it, and forgets that it was. It is refused where the file holds something else by
// now: what was reviewed would not be what is accepted.
func (a *Acceptance) ReplacePending(p Pending) error {
	if p.Refused != "" {
		return errors.New(p.Refused)
	}
	switch err := a.replace(p.File, p.SHA256, p.Content, p.Changes); {
	case errors.Is(err, errChanged):
		return errors.New("it has changed since the check: run go test again")
	case err != nil:
		return err
	}
	return os.Remove(p.kept)
}

// Pending are the traces that diverged, with what Accept would put in their place, or why it
// would not. live and options are as those of Accept.
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
