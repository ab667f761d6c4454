package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"strings"
)

//go:embed assets
var assets embed.FS

// scripts are the files of the script, in the order in which they build on one another.
var scripts = []string{"words.js", "dom.js", "align.js", "trace.js", "state.js", "asks.js",
	"list.js", "overview.js", "values.js", "crossing.js", "states.js", "conversation.js", "phases.js", "reports.js", "turn.js", "app.js"}

// frame is what stands around the traces of every page.
type frame struct {
	begin string // the title is at the place of titleMark
	tail  string
}

// titleMark stands for the title in page.html.
const titleMark = "TITLE"

// document is that frame.
var document = newFrame()

func newFrame() frame {
	style, script := asset("page.css"), "\"use strict\";\n"
	for _, name := range scripts {
		script += asset(name)
	}
	policy := fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
		hashOf(script), hashOf(style))
	begin := strings.NewReplacer("POLICY", policy, "STYLE", style).Replace(asset("page.html"))
	return frame{begin, "<script>" + script + "</script>\n</body>\n</html>\n"}
}

// head is all that stands before the traces.
func (f frame) head(title string) string {
	return strings.Replace(f.begin, titleMark, html.EscapeString(title), 1)
}

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
