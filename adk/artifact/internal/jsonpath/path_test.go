package jsonpath_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk/artifact/internal/jsonindex"
	"github.com/adkreplay/adkreplay/adk/artifact/internal/jsonpath"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
)

const plenty = 1_000_000

// selected returns what a path selects in a document, as JSON.
func selected(t testing.TB, path, document string) string {
	t.Helper()
	parsed, err := jsonpath.Parse(path)
	require.NoError(t, err)
	require.NoError(t, jsontree.Check(document, 500))
	walk := jsonindex.New(document).NewWalk(plenty)
	nodes, err := parsed.On(walk).From(walk.At(0))
	require.NoError(t, err)
	list := []byte{'['}
	for i, node := range nodes {
		if i > 0 {
			list = append(list, ',')
		}
		list, err = walk.Append(list, node, 0, 1<<20)
		require.NoError(t, err)
	}
	return string(append(list, ']'))
}

// suite is the environment variable that names the file of the suite.
const suite = "JSONPATH_SUITE"

// The compliance suite of RFC 9535 (jsonpath-standard, BSD 2-Clause) is not part of the module.
// Where the suite lies beside the tree, or is named by the variable, all of it passes (ART-17).
func TestComplianceSuite(t *testing.T) {
	file := os.Getenv(suite)
	if file == "" {
		file = filepath.Join("..", "..", "..", "shared", "suites", "rfc9535-cts.json")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("the suite is not here: set %s to cts.json of jsonpath-compliance-test-suite", suite)
	}
	var cts struct {
		Tests []struct {
			Name, Selector  string
			Document        json.RawMessage
			Result          json.RawMessage
			Results         []json.RawMessage
			InvalidSelector bool `json:"invalid_selector"`
		}
	}
	require.NoError(t, json.Unmarshal(text, &cts))
	require.GreaterOrEqual(t, len(cts.Tests), 703)
	for _, c := range cts.Tests {
		if c.InvalidSelector {
			_, err := jsonpath.Parse(c.Selector)
			assert.Error(t, err, "%s: %s", c.Name, c.Selector)
			continue
		}
		allowed := c.Results
		if allowed == nil {
			allowed = []json.RawMessage{c.Result}
		}
		got := selected(t, c.Selector, string(c.Document))
		var texts []string
		for _, one := range allowed {
			tree, err := jsontree.Parse(string(one), 500)
			require.NoError(t, err)
			texts = append(texts, jsontree.Text(tree))
		}
		assert.Contains(t, texts, got, "%s: %s", c.Name, c.Selector)
	}
}

// ART-17: Select supports every selector, filters with and without parentheses, and the functions,
// and returns nodes in the order of the document.
func TestSelect(t *testing.T) {
	const store = `{"zoo":[{"name":"Ada","age":7,"tags":["a","b"]},{"name":"Bo","age":11},{"name":"Cy"}],"b":{"z":1,"a":{"z":2}},"n":9007199254740993}`
	for path, want := range map[string]string{
		`$`:                                     `[` + store + `]`,
		`$.zoo[0].name`:                         `["Ada"]`,
		`$['zoo'][-1]["name"]`:                  `["Cy"]`,
		`$.zoo[*].name`:                         `["Ada","Bo","Cy"]`,
		`$..z`:                                  `[1,2]`,
		`$.b.*`:                                 `[1,{"z":2}]`,
		`$.zoo[1:].name`:                        `["Bo","Cy"]`,
		`$.zoo[::-1].name`:                      `["Cy","Bo","Ada"]`,
		`$.zoo[0,2].name`:                       `["Ada","Cy"]`,
		`$.zoo[?@.age > 7].name`:                `["Bo"]`,
		`$.zoo[?(@.age >= 7 && @.tags)].name`:   `["Ada"]`,
		`$.zoo[?!@.age || @.age == 11].name`:    `["Bo","Cy"]`,
		`$.zoo[?length(@.name)==3].age`:         `[7]`,
		`$.zoo[?count(@.tags[*]) == 2].name`:    `["Ada"]`,
		`$.zoo[?match(@.name, '[A-B].*')].name`: `["Ada","Bo"]`,
		`$.zoo[?search(@.name, 'y')].name`:      `["Cy"]`,
		`$.zoo[?value(@..tags[0]) == 'a'].name`: `["Ada"]`,
		`$.zoo[?@.age == $.zoo[0].age].name`:    `["Ada"]`,
		`$[?@ == 9007199254740993]`:             `[9007199254740993]`,
		`$[?@ == 9007199254740992]`:             `[]`,
		`$.zoo[?@.none == @.neither].name`:      `["Ada","Bo","Cy"]`,
		`$.zoo[?match(@.name, @.pattern)]`:      `[]`,
		`$.zoo[?match(@.name, '(')]`:            `[]`,
		`$.nothing..*`:                          `[]`,
	} {
		assert.Equal(t, want, selected(t, path, store), path)
	}
}

// ART-17: the error for an invalid path says at which column it is invalid.
func TestParseFaults(t *testing.T) {
	for path, column := range map[string]string{
		``: "column 1", `zoo`: "column 1", `$.`: "column 3", `$[`: "column 3", `$[01]`: "column 3", `$['a'`: "column 6",
		`$[?@.a==]`: "column 9", `$[?@.*==1]`: "column 4", `$[?1]`: "column 4", `$[?max(@.a)>1]`: "column 4",
		`$.zoo[?count(1)>1]`: "column 14", `$ `: "column 2", `$['é'x]`: "column 6", `$[9007199254740992]`: "column 3",
		`$[?match(@.a)]`: "column 4", `$['\ud800']`: "column 6", "$\xff": "column 1", `$[?@.a===1]`: "column 9",
	} {
		_, err := jsonpath.Parse(path)
		if assert.Error(t, err, path) {
			assert.Contains(t, err.Error()+":", column+":", path)
		}
	}
	_, err := jsonpath.Parse("$" + strings.Repeat(".a", 100))
	assert.NoError(t, err)
	_, err = jsonpath.Parse("$" + strings.Repeat(".a", 101))
	assert.ErrorContains(t, err, "more than 100 segments")
	_, err = jsonpath.Parse("$" + strings.Repeat("[?@", 100_000))
	assert.ErrorContains(t, err, "nested")
	_, err = jsonpath.Parse("$[?" + strings.Repeat("(", 100_000))
	assert.ErrorContains(t, err, "nested")
	_, err = jsonpath.Parse("$[?" + strings.Repeat("!", 100_000) + "@]")
	assert.Error(t, err)
}

// ART-17: a question that would visit more nodes than it may ends with an error, however deeply its
// filters are nested.
func TestSelectIsBounded(t *testing.T) {
	document := jsonindex.New("[" + strings.Repeat("[1,2,3],", 999) + "4]")
	for _, path := range []string{
		`$..*`, `$..[?$..[?$..[?$..[?@]]]]`, `$[?count($..*) > 1][?count($..*) > 1]`,
		"$" + strings.Repeat("..*", 60), "$" + strings.Repeat("[*,*]", 60), `$` + strings.Repeat(`[?@`, 22) + strings.Repeat(`]`, 22),
	} {
		parsed, err := jsonpath.Parse(path)
		require.NoError(t, err, path)
		walk := document.NewWalk(plenty)
		if _, err := parsed.On(walk).From(0); err != nil {
			assert.ErrorIs(t, err, jsonindex.ErrTooManyNodes, path)
		}
	}
	parsed, err := jsonpath.Parse(`$..*`)
	require.NoError(t, err)
	_, err = parsed.On(document.NewWalk(100)).From(0)
	assert.ErrorIs(t, err, jsonindex.ErrTooManyNodes)
}

// ART-17: no path panics or exceeds its budget, and a path that can be parsed selects values
// of the document.
func FuzzSelect(f *testing.F) {
	for _, path := range []string{`$`, `$..a[?@.b>1 && !@.c]`, `$[1:2:-1,'x',*]`, `$[?match(@.a,'.*')==true]`, `$[?length(value(@..*))<3]`} {
		f.Add(path, `{"a":[{"b":2},{"b":"x"}],"c":null}`)
	}
	f.Fuzz(func(t *testing.T, path, document string) {
		parsed, err := jsonpath.Parse(path)
		if err != nil {
			return
		}
		if jsontree.Check(document, 100) != nil {
			return
		}
		walk := jsonindex.New(document).NewWalk(10_000)
		nodes, err := parsed.On(walk).From(walk.At(0))
		if err != nil {
			return
		}
		for _, node := range nodes {
			text, err := walk.Append(nil, node, 0, 1<<20)
			tree, wrong := jsontree.Parse(walk.Text(node), 100)
			if wrong != nil || err == nil && string(text) != jsontree.Text(tree) {
				t.Fatalf("%s at %d: %s: %v", path, node, text, wrong)
			}
		}
	})
}
