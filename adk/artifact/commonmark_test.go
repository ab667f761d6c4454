package artifact_test

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	source "github.com/yuin/goldmark/text"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
)

// commonMark is one example of CommonMark's specification.
type commonMark struct {
	Markdown, HTML, Section string
	Example                 int
}

// commonMarks returns the examples of CommonMark that goldmark's module contains.
func commonMarks(t *testing.T) (all []commonMark) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		t.Skipf("the go command does not say where goldmark's module is: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "_test", "spec.json"))
	if err != nil {
		t.Skipf("goldmark's module has no examples here: %v", err)
	}
	require.NoError(t, json.Unmarshal(data, &all))
	require.Greater(t, len(all), 600)
	return all
}

// marks holds what goldmark's tree says about the parts of a document that questions ask for.
type marks struct {
	headings, fences []string // by line
	links, images    []string
	blocks           int
}

// atx matches the beginning of a heading that is recognized by its own line alone.
var atx = regexp.MustCompile(`^ {0,3}#{1,6}([ \t]|$)`)

// marksOf walks goldmark's tree, independently of what the artifact makes of the document.
func marksOf(t *testing.T, document string) (m marks) {
	data := []byte(document)
	lines := strings.Split(document, "\n")
	line := func(at int) int { return strings.Count(document[:at], "\n") }
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(source.NewReader(data))
	m.blocks = root.ChildCount()
	require.NoError(t, ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Pos() >= 0 && atx.MatchString(lines[line(n.Pos())]) {
				m.headings = append(m.headings, fmt.Sprint(line(n.Pos()), " ", n.Level))
			}
		case *ast.FencedCodeBlock:
			if at := line(n.Pos()); regexp.MustCompile("^ {0,3}(```|~~~)").MatchString(lines[at]) {
				m.fences = append(m.fences, fmt.Sprint(at))
			}
		case *ast.Link:
			m.links = append(m.links, html.EscapeString(string(n.Destination)))
		case *ast.AutoLink:
			m.links = append(m.links, "")
		case *ast.Image:
			m.images = append(m.images, html.EscapeString(string(n.Destination)))
		}
		return ast.WalkContinue, nil
	}))
	return m
}

// byLines are the examples in which a reader that goes over the lines once sees other fences than
// goldmark (ART-19), each with the reason.
var byLines = map[int]string{
	161: "within HTML that no blank line ends, fences are HTML",
	318: "the fence begins behind the mark of a list",
	324: "the fence begins behind the mark of a list",
}

// ART-18, ART-19: every question to every example of CommonMark is answered, and the answer agrees
// with the tree that goldmark makes of it.
func TestCommonMark(t *testing.T) {
	for _, example := range commonMarks(t) {
		if strings.HasPrefix(example.Markdown, "---\n") {
			continue // an artifact takes this for a frontmatter
		}
		made, err := artifact.Markdown(t.Context(), adk.Text(example.Markdown))
		require.NoError(t, err)
		opened, err := artifact.Open(&reading{}, made.(*adk.Media), artifact.Config{})
		require.NoError(t, err)
		q, want, name := opened.Markdown(), marksOf(t, example.Markdown), fmt.Sprintf("example %d (%s):\n%s", example.Example, example.Section, example.Markdown)

		headings, err := q.Headings(t.Context(), 0)
		require.NoError(t, err, name)
		var got []string
		for _, h := range headings {
			got = append(got, fmt.Sprint(h.StartLine, " ", h.Depth))
		}
		assert.Equal(t, want.headings, got, name)
		sections, err := q.Sections(t.Context(), 0)
		require.NoError(t, err, name)
		assert.Len(t, sections, len(headings), name)
		fences, err := q.CodeBlocks(t.Context(), nil)
		require.NoError(t, err, name)
		got = nil
		for _, block := range fences {
			got = append(got, fmt.Sprint(block.StartLine))
		}
		if byLines[example.Example] == "" {
			assert.Equal(t, want.fences, got, name)
		}
		links, err := q.Links(t.Context(), nil, nil)
		require.NoError(t, err, name)
		assert.Len(t, links, len(want.links), name)
		images, err := q.Images(t.Context(), nil, nil)
		require.NoError(t, err, name)
		assert.Len(t, images, len(want.images), name)
		tree, err := q.Tree(t.Context(), nil, nil)
		require.NoError(t, err, name)
		var root struct{ Children []json.RawMessage }
		require.NoError(t, json.Unmarshal(tree, &root), name)
		plain, err := q.PlainText(t.Context(), nil, nil)
		require.NoError(t, err, name)
		assert.Equal(t, want.blocks > 0, len(root.Children) > 0, name)
		if !strings.Contains(example.Section, "HTML") && !strings.Contains(example.HTML, "<!--") {
			assert.Equal(t, wordsOf(example.HTML), strings.Fields(plain), name)
		}
		_, found, err := q.Frontmatter(t.Context())
		require.NoError(t, err, name)
		assert.False(t, found, name)
	}
}

var tag = regexp.MustCompile(`<(/?[a-z0-9]+)[^>]*?>`)

// wordsOf returns the words that a reader of a page sees.
func wordsOf(page string) []string {
	page = regexp.MustCompile(`<img [^>]*?alt="([^"]*)"[^>]*>`).ReplaceAllString(page, "$1")
	page = regexp.MustCompile(`</?(p|h[1-6]|li|ul|ol|pre|blockquote|hr|br)\b[^>]*>`).ReplaceAllString(page, " ")
	return strings.Fields(html.UnescapeString(tag.ReplaceAllString(page, "")))
}
