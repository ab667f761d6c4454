package golden

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/internal/page"
	"github.com/adkreplay/adkreplay/internal/wholefile"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// The environment variables that say where a CI system reads the results.
const (
	junitVariable     = "ADKREPLAY_JUNIT"  // a file for JUnit XML
	pageVariable      = "ADKREPLAY_HTML"   // a file for a page about the failures
	actionsVariable   = "GITHUB_ACTIONS"   // "true" if GitHub reads the output
	workspaceVariable = "GITHUB_WORKSPACE" // the folder of its repository
)

// publish reports to the CI system what a check of a folder found.
func (c *corpusCheck) publish() {
	c.t.Helper()
	report := c.report
	if report == nil {
		report, c.problem = &corpus.Report{}, cmp.Or(c.problem, "the check ended before anything was found")
	}
	if c.problem != "" {
		whole := *report
		whole.Error = c.problem
		report = &whole
	}
	if os.Getenv(actionsVariable) == "true" {
		var lines bytes.Buffer
		_ = report.WriteAnnotations(&lines, inRepository) // a buffer never fails
		fmt.Fprint(os.Stdout, lines.String())
	}
	if file := os.Getenv(junitVariable); file != "" {
		name := suiteName(c.t.Name())
		if err := suites.write(ownFile(file, name), corpus.Suite{Name: name, Report: report}); err != nil {
			c.t.Errorf("replay: %s: the JUnit report cannot be written: %v", junitVariable, err)
		}
	}
}

// page writes the page of a failed check if ADKREPLAY_HTML asks for one. Each check has its own
// file.
func (c *corpusCheck) page() {
	c.t.Helper()
	file := os.Getenv(pageVariable)
	if file == "" || c.report == nil || c.report.Err() == nil {
		return
	}
	name := suiteName(c.t.Name())
	file = ownFile(file, name)
	if other, ok := pages.LoadOrStore(file, name); ok && other != name {
		c.t.Errorf("replay: %s: %s has the page of %s: a * in the name stands for the test", pageVariable, file, other)
		return
	}
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		red := page.OfCorpus(name, c.report, c.sources, c.reading)
		red.Recordings = c.recordings
		_, _, err = red.WriteFile(file)
	}
	if err != nil {
		c.t.Errorf("replay: %s: the page cannot be written: %v", pageVariable, err)
		return
	}
	c.t.Logf("replay: to look at it, open %s in a browser", file)
}

// pages maps the file of each page to the test that wrote it, in this process.
var pages sync.Map

// suiteName returns the name of a test within its module.
func suiteName(test string) string {
	if at := packagePath(); at != "." {
		return strings.TrimPrefix(at, "./") + "." + test
	}
	return test
}

// ownFile returns the file for a suite: it replaces a * in the name by the suite's name.
func ownFile(file, suite string) string {
	own := strings.NewReplacer("/", "-", "\\", "-", ":", "-", " ", "-").Replace(suite)
	return strings.Replace(file, "*", own, 1)
}

// suites holds the reports of this process by file. Each write writes the whole file again.
var suites = suiteFiles{of: map[string][]corpus.Suite{}}

type suiteFiles struct {
	mu sync.Mutex
	of map[string][]corpus.Suite
}

// write adds a suite to a file, or replaces the suite of the same name.
func (f *suiteFiles) write(file string, suite corpus.Suite) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.of[file]
	at := 0
	for at < len(list) && list[at].Name != suite.Name {
		at++
	}
	f.of[file] = append(append(list[:at:at], suite), list[min(at+1, len(list)):]...)
	var content bytes.Buffer
	if err := corpus.WriteJUnit(&content, f.of[file]...); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return wholefile.Write(file, content.Bytes())
}

// inRepository returns the path of a file from the root of the repository, or "" if the file does
// not exist. The root is the workspace of the CI system, or else the module. A trace is named
// relative to the test's folder; code is named relative to the module, or by its own folder and
// file name.
func inRepository(file string) string {
	here, err := os.Getwd()
	if err != nil {
		return ""
	}
	module := strings.TrimSuffix(filepath.ToSlash(here), strings.TrimPrefix(packagePath(), "."))
	root := cmp.Or(os.Getenv(workspaceVariable), filepath.FromSlash(module))
	for _, folder := range []string{here, module, filepath.Dir(here)} {
		path := filepath.Join(folder, filepath.FromSlash(file))
		if filepath.IsAbs(file) {
			path = file
		}
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if inside, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(inside) {
			return filepath.ToSlash(inside)
		}
	}
	return ""
}
