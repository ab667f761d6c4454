package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
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
	"list.js", "overview.js", "values.js", "crossing.js", "states.js", "conversation.js", "phases.js", "reports.js", "turn.js", "watch.js", "app.js"}

// frame is what stands around the traces of every page.
type frame struct {
	begin string // the title is at the place of titleMark
	tail  string
}

// titleMark stands for the title in page.html.
const titleMark = "TITLE"

// document is that frame, made when the first page is.
var document = sync.OnceValue(newFrame)

func newFrame() frame {
	const strict = "\"use strict\";\n"
	style, first, script := asset("page.css"), strict+asset(unpacking), strict
	for _, name := range scripts {
		script += asset(name)
	}
	policy := fmt.Sprintf("default-src 'none'; script-src %s %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types adkreplay",
		hashOf(first), hashOf(script), hashOf(style))
	begin := strings.NewReplacer("POLICY", policy, "STYLE", style).Replace(asset("page.html"))
	return frame{begin, `<script type="application/x-adkreplay-scripts" id="scripts">` + packedText(script) + "</script>\n<script>" + first + "</script>\n</body>\n</html>\n"}
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
