package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/shell"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// pendingVariable is the environment variable that names the folder in which checks keep what they
// found in place of what they expected, for adkreplay review.
const pendingVariable = "ADKREPLAY_PENDING"

// pendingFolder returns that folder, or "" if there is none. It must be an absolute path, because
// the tests of each package run in their own folder.
func pendingFolder(t TB) string {
	t.Helper()
	folder := os.Getenv(pendingVariable)
	if folder != "" && !filepath.IsAbs(folder) {
		t.Errorf("%s", folded(fmt.Sprintf("golden: %s is %q: give the whole path, as each package's tests run in a folder of their own", pendingVariable, folder)))
		return ""
	}
	if folder != "" { // the folder exists once a check has run, whatever it found
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Errorf("golden: %s: %v", pendingVariable, err)
			return ""
		}
	}
	return folder
}

// keep keeps the transcript for a review.
func (c check) keep(golden, transcript string) {
	c.t.Helper()
	n, was, is, _ := firstDifference(golden, transcript)
	first := fmt.Sprintf("- %s\n+ %s", was, is)
	keepPending(c.t, corpus.Pending{File: c.file(), Causes: []string{first}, Shown: difference(golden, transcript),
		Changes: []string{fmt.Sprintf("from line %d on:\n%s", n, first)}, Content: []byte(transcript)})
}

// keep keeps the results of try for a review, and logs it. It forgets what was kept for files that
// are as expected again.
func (c *corpusCheck) keep(all []tried) {
	c.t.Helper()
	folder := pendingFolder(c.t)
	if folder == "" {
		return
	}
	kept := map[string]bool{}
	for _, one := range all {
		for _, p := range one.pending {
			kept[p.File] = true
			keepPending(c.t, p)
		}
	}
	for _, file := range c.files() {
		if !kept[file] {
			dropPending(c.t, file)
		}
	}
	if len(all) == 0 {
		return
	}
	text := fmt.Sprintf("golden: kept for a review: %d of %d", len(all)-len(refusals(all)), len(all))
	if n := len(refusals(all)); n > 0 {
		text += fmt.Sprintf("; the review names the others, which cannot be accepted: %d", n)
	}
	c.t.Logf("%s", folded(text+"\nnext: "+shell.Adkreplay("review", "--pending", folder)))
}

// files returns the names of all files that the check reads.
func (c *corpusCheck) files() []string {
	sources := c.sources
	for _, r := range c.recordings {
		sources = slices.Concat(sources, r.Journals, r.Traces)
	}
	return safetext.Each(sources, func(source corpus.Source) string { return source.Name })
}

func keepPending(t TB, p corpus.Pending) {
	t.Helper()
	folder := pendingFolder(t)
	if folder == "" {
		return
	}
	p.Accept = withReason(t)
	if err := p.Keep(folder); err != nil {
		t.Errorf("golden: what was found cannot be kept: %v", err)
	}
}

// dropPending forgets what was kept for a file that is as expected now.
func dropPending(t TB, file string) {
	t.Helper()
	if folder := pendingFolder(t); folder != "" {
		if err := corpus.DropPending(folder, file); err != nil {
			t.Errorf("golden: what was kept cannot be removed: %v", err)
		}
	}
}
