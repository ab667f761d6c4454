package golden

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/adkreplay/adkreplay/replay/corpus"
)

// pendingVariable is the environment variable that names the folder in which checks keep
// what they found in the place of what was expected, for adkreplay review.
const pendingVariable = "ADKREPLAY_PENDING"

// pendingFolder is that folder, if there is one. Tests run in folders of their own.
func pendingFolder(t TB) string {
	t.Helper()
	folder := os.Getenv(pendingVariable)
	if folder != "" && !filepath.IsAbs(folder) {
		t.Errorf("golden: %s is %q: give the whole path, as each package's tests run in a folder of their own", pendingVariable, folder)
		return ""
	}
	return folder
}

// keep keeps the transcript until somebody has reviewed it.
func (c check) keep(golden, transcript string) {
	c.t.Helper()
	n, was, is, _ := firstDifference(golden, transcript)
	first := fmt.Sprintf("- %s\n+ %s", was, is)
	keepPending(c.t, corpus.Pending{File: c.file(), Causes: []string{first}, Shown: difference(golden, transcript),
		Changes: []string{fmt.Sprintf("from line %d on:\n%s", n, first)}, Content: []byte(transcript)})
}

// keep keeps what today's code makes of the traces that diverged, and forgets what was kept
// of those that do not any more.
func (c *corpusCheck) keep() {
	c.t.Helper()
	if pendingFolder(c.t) == "" {
		return
	}
	for _, t := range c.report.Traces {
		if t.Divergence == nil {
			dropPending(c.t, t.Trace)
		}
	}
	for _, p := range c.report.Pending(context.Background(), c.live, c.reading) {
		keepPending(c.t, p)
	}
}

func keepPending(t TB, p corpus.Pending) {
	t.Helper()
	folder := pendingFolder(t)
	if folder == "" {
		return
	}
	if err := p.Keep(folder); err != nil {
		t.Errorf("golden: what was found cannot be kept: %v", err)
	}
}

// dropPending forgets what was kept for a file, which is as expected now.
func dropPending(t TB, file string) {
	t.Helper()
	if folder := pendingFolder(t); folder != "" {
		if err := corpus.DropPending(folder, file); err != nil {
			t.Errorf("golden: what was kept cannot be removed: %v", err)
		}
	}
}
