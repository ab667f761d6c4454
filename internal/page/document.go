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

// unpacking is the file of the script that unpacks what is packed.
const unpacking = "packed.js"

// scripts are the files of the one that it unpacks first, in the order in which they build on
// one another.
var scripts = []string{"words.js", "dom.js", "align.js", "said.js", "trace.js", "state.js", "asks.js",
	"list.js", "overview.js", "values.js", "crossing.js", "states.js", "conversation.js", "phases.js", "reports.js", "sessions.js", "turn.js", "watch.js", "app.js"}

// look is what all pages look and do: packed, since it is most of a page of a short turn.
type look struct {
	Style  string `json:"style"`
	Script string `json:"script"`
}

// document is all that stands before the traces, made when the first page is. The title is at
// the place of titleMark.
var document = sync.OnceValue(newDocument)

// titleMark stands for the title in page.html.
const titleMark = "TITLE"

func newDocument() string {
	const strict = "\"use strict\";\n"
	tables, err := json.Marshal(tables{kindRows(), collections()})
	if err != nil {
		panic(err) // they are texts
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

// unindented is a script or a style without what only those who read its file need: the
// spaces that begin a line, and lines that are comments. No text goes on over several lines.
func unindented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimLeft(line, " \t\n"); line != "" && !strings.HasPrefix(line, "//") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// head is all that stands before the traces.
func head(title string) string {
	return strings.Replace(document(), titleMark, html.EscapeString(title), 1)
}

// tail is all that stands behind them.
const tail = "</body>\n</html>\n"

// hashOf is how a content security policy names a script or a style.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func asset(name string) string {
	content, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // they are part of this package
	}
	return string(content)
}
