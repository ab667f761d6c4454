package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"sync"
)

//go:embed assets
var assets embed.FS

// unpacking is the file of the script that unpacks the rest.
const unpacking = "packed.js"

// scripts are the files of the main script, in the order in which they depend on each other.
var scripts = []string{"words.js", "dom.js", "align.js", "said.js", "trace.js", "state.js", "asks.js",
	"list.js", "overview.js", "values.js", "crossing.js", "states.js", "conversation.js", "phases.js", "reports.js", "sessions.js", "turn.js", "watch.js", "app.js"}

// look is the style and the script of all pages. It is packed, since it is most of a page with a
// short turn.
type look struct {
	Style  string `json:"style"`
	Script string `json:"script"`
}

// document returns everything before the traces, with titleMark in place of the title. It is built
// for the first page.
var document = sync.OnceValue(newDocument)

// titleMark stands for the title in page.html.
const titleMark = "TITLE"

func newDocument() string {
	const strict = "\"use strict\";\n"
	tables, err := json.Marshal(tables{kindRows(), collections()})
	if err != nil {
		panic(err) // impossible: they are texts
	}
	first, all := strict+asset(unpacking), look{asset("page.css"), strict + "const tables = " + string(tables) + ";\n"}
	for _, name := range scripts {
		all.Script += asset(name)
	}
	first, all.Style, all.Script = unindented(first), unindented(all.Style), unindented(all.Script)
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // likewise
	}
	policy := fmt.Sprintf("default-src 'none'; script-src %s %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types adkreplay",
		hashOf(first), hashOf(all.Script), hashOf(all.Style))
	return strings.NewReplacer("POLICY", policy, "LOOK", packedText(string(text)), "FIRST", first).Replace(asset("page.html"))
}

// unindented returns a script or a style without indentation and comment lines, which only readers
// of its file need. No string in the scripts may continue over several lines.
func unindented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimLeft(line, " \t\n"); line != "" && !strings.HasPrefix(line, "//") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// head returns everything before the traces.
func head(title string) string {
	return strings.Replace(document(), titleMark, html.EscapeString(title), 1)
}

// tail is everything after the traces.
const tail = "</body>\n</html>\n"

// hashOf returns the name of a script or a style in a content security policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func asset(name string) string {
	content, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // impossible: they are part of this package
	}
	return string(content)
}
