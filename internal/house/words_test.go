package house_test

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
)

// word is a pattern that no file may contain.
type word struct {
	pattern *regexp.Regexp
	because string
}

var words = []word{
	{regexp.MustCompile(`(?:^|[^\w./-])/(?:home|Users|root|work)/\w`),
		"a path of one machine means nothing on another"},
	{regexp.MustCompile(`\b[A-Z]:\\{1,2}Users\\`),
		"a path of one machine means nothing on another"},
	{regexp.MustCompile(`(?m)^(?:<{7}|>{7}|={7})(?: |$)`),
		"the rest of a merge"},
	{regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY|\bsk-[A-Za-z0-9_-]{20,}`),
		"a secret is none once it is in a repository"},
}

func TestWords(t *testing.T) {
	for name, content := range treeFiles(t) {
		for _, w := range words {
			if at := w.pattern.FindIndex(content); at != nil {
				t.Errorf("%s: %s", quote(name, content, at[0]), w.because)
			}
		}
	}
}

// quote returns a place in a file, with as much of its line as fits.
func quote(name string, content []byte, at int) string {
	number := bytes.Count(content[:at], []byte("\n")) + 1
	return fmt.Sprintf("%s:%d: %.200q", name, number, bytes.Split(content, []byte("\n"))[number-1])
}

// Each word is found wherever it occurs, and similar words are not. The examples are put
// together from parts, because the rule applies to this file too.
func TestWordsAreFound(t *testing.T) {
	cases := []struct {
		text  string
		found bool
	}{
		{`open("` + "/home" + `/ada/x")`, true},
		{"/work" + "/x", true},
		{"see " + "/Users" + "/ada/notes", true},
		{`C:` + `\Users\ada`, true},
		{"<<<<<<" + "< HEAD", true},
		{"======" + "=", true},
		{"-----BEGIN " + "RSA PRIVATE KEY-----", true},
		{"https://example.org/home/page", false},
		{"cmd/work/x", false},
		{"/homes/x", false},
		{"=========== a heading", false},
		{"sk-short", false},
	}
	for _, c := range cases {
		found := false
		for _, w := range words {
			found = found || w.pattern.MatchString(c.text)
		}
		assert.Equal(t, c.found, found, c.text)
	}
}
