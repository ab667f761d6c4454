package artifact

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	render "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"

	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
)

// Link is a link of a Markdown artifact.
type Link struct {
	Text  string `json:"text"`
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

// Image is an image of a Markdown artifact.
type Image struct {
	Alt   string `json:"alt"`
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

// maxParsed is how much of a Markdown body is parsed at once, because deep nesting takes more than
// linear time.
const maxParsed = 1 << 20

// Links returns the inline links, autolinks and references of a range. A reference counts only if
// its definition is in the range too.
func (q MarkdownQuestions) Links(ctx context.Context, from, to *int) ([]Link, error) {
	return listOf[Link](q.links(ctx, from, to))
}

func (q MarkdownQuestions) links(ctx context.Context, from, to *int) (any, error) {
	return q.parsed(ctx, "links", from, to, func(m *markdown) (any, error) {
		links := []Link{}
		m.each(func(n ast.Node) {
			switch n := n.(type) {
			case *ast.Link:
				links = append(links, Link{m.plain(n), destination(n.Destination), unescaped(n.Title)})
			case *ast.AutoLink:
				links = append(links, Link{string(n.Label(m.source)), autoURL(n, m.source), ""})
			}
		})
		return encoded(links)
	})
}

// Images returns the images of a range; an alternative text may be empty.
func (q MarkdownQuestions) Images(ctx context.Context, from, to *int) ([]Image, error) {
	return listOf[Image](q.images(ctx, from, to))
}

func (q MarkdownQuestions) images(ctx context.Context, from, to *int) (any, error) {
	return q.parsed(ctx, "images", from, to, func(m *markdown) (any, error) {
		images := []Image{}
		m.each(func(n ast.Node) {
			if n, ok := n.(*ast.Image); ok {
				images = append(images, Image{m.plain(n), destination(n.Destination), unescaped(n.Title)})
			}
		})
		return encoded(images)
	})
}

// PlainText returns the text of a range without markup. Code, link texts and alternative texts
// stay; blocks are separated by one newline.
func (q MarkdownQuestions) PlainText(ctx context.Context, from, to *int) (string, error) {
	return valueOf[string](q.plainText(ctx, from, to))
}

func (q MarkdownQuestions) plainText(ctx context.Context, from, to *int) (any, error) {
	return q.parsed(ctx, "text", from, to, func(m *markdown) (any, error) {
		return strings.Join(m.blocks(m.root, nil), "\n"), nil
	})
}

// Tree returns a range as an mdast tree without positions, as JSON.
func (q MarkdownQuestions) Tree(ctx context.Context, from, to *int) (json.RawMessage, error) {
	text, err := objectOf(q.tree(ctx, from, to))
	return json.RawMessage(text), err
}

func (q MarkdownQuestions) tree(ctx context.Context, from, to *int) (any, error) {
	return q.parsed(ctx, "ast", from, to, func(m *markdown) (any, error) {
		t := mdast{markdown: m}
		t.node(m.root)
		if len(t.out) > maxAnswer {
			return nil, errTooLong
		}
		return encoding(t.out), nil
	})
}

// markdown is a range that was parsed by goldmark.
type markdown struct {
	source []byte
	root   ast.Node
}

// parser knows CommonMark, and the tables, task lists, strikethrough and autolinks of GFM.
var parser = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()

// parsed asks a question about the parsed lines of a range, without the frontmatter.
func (q MarkdownQuestions) parsed(ctx context.Context, method string, from, to *int, run func(m *markdown) (any, error)) (any, error) {
	args := map[string]any{}
	if from != nil {
		args["startLine"] = *from
	}
	if to != nil {
		args["endLine"] = *to
	}
	return q.a.ask(ctx, "md_"+method, args, func(ctx context.Context, b body) (any, error) {
		o, err := q.a.outlineOf(ctx, b)
		if err != nil {
			return nil, err
		}
		start, end := o.after, q.a.mark.Lines
		if from != nil {
			start = max(start, *from)
		}
		if to != nil {
			end = *to
		}
		source, err := q.source(ctx, b, start, end)
		if err != nil {
			return nil, err
		}
		if fault := tangled(source); fault != "" {
			return nil, refuse(fewerLines, "%s", fault)
		}
		m := &markdown{source: source}
		m.root = parser.Parse(text.NewReader(m.source))
		return run(m)
	})
}

// source returns the lines of a range, joined.
func (q MarkdownQuestions) source(ctx context.Context, b body, from, to int) (source []byte, err error) {
	if from >= to {
		return nil, nil
	}
	for line, err := range between(ctx, b, from, to, maxParsed) {
		if err != nil {
			return nil, err
		}
		source = append(append(source, validText(line.text)...), '\n')
		if line.cut || len(source) > maxParsed+1 {
			return nil, refuse(fewerLines, "more than %d bytes of Markdown at once", maxParsed)
		}
	}
	if from == 0 {
		source = bytes.TrimPrefix(source, []byte(byteOrderMark))
	}
	return bytes.TrimSuffix(source, newline), nil
}

// These limits are far above what people write. Beyond them the parser takes more than linear time,
// or a hundred times the memory of the text.
const (
	maxNesting = 100       // block marks at the beginning of a line
	maxOpen    = 1000      // brackets and parentheses that are open in a block at the same time
	maxMarks   = 20_000    // emphasis signs in a block
	maxCells   = 1_000_000 // of a table
	maxSigns   = 150_000   // signs of any markup; the tree takes up to 272 bytes for each
)

// tangled says what in the source would take too long to parse; empty if nothing would.
func tangled(source []byte) string {
	var b blockSigns
	if n := signs(source); n > maxSigns {
		return fmt.Sprintf("%d signs of markup at once, want at most %d", n, maxSigns)
	}
	for line := range strings.SplitSeq(string(source), "\n") {
		if strings.TrimSpace(line) == "" {
			b = blockSigns{}
			continue
		}
		b.add(line)
		switch {
		case nesting(line) > maxNesting:
			return fmt.Sprintf("a line is nested more than %d deep", maxNesting)
		case b.most > maxOpen:
			return fmt.Sprintf("a block has more than %d brackets open", maxOpen)
		case b.marks > maxMarks:
			return fmt.Sprintf("a block has more than %d signs of emphasis", maxMarks)
		case b.pipes*b.lines > maxCells:
			return fmt.Sprintf("a table has more than %d cells", maxCells)
		}
	}
	return ""
}

// signs returns how many characters of a text may begin or end a node.
func signs(source []byte) (n int) {
	for _, sign := range []byte("\n*_~[]<>&`|#!:\\") {
		n += bytes.Count(source, []byte{sign})
	}
	return n
}

// blockSigns counts the signs of lines without a blank line between them.
type blockSigns struct{ open, most, marks, pipes, lines int }

func (b *blockSigns) add(line string) {
	b.lines++
	b.pipes = max(b.pipes, strings.Count(line, "|"))
	b.marks += strings.Count(line, "*") + strings.Count(line, "_") + strings.Count(line, "~")
	for i := range len(line) {
		switch line[i] {
		case '[', '(':
			b.open++
			b.most = max(b.most, b.open)
		case ']', ')':
			b.open = max(0, b.open-1)
		}
	}
}

// nesting returns the number of block marks at the beginning of a line. A thematic break nests
// nothing.
func nesting(line string) (marks int) {
	if strings.Trim(line, " \t-*+") == "" {
		return 0
	}
	for _, c := range line {
		switch c {
		case '>', '-', '*', '+':
			marks++
		case ' ', '\t':
		default:
			return marks
		}
	}
	return marks
}

// each calls f with every node, in order.
func (m *markdown) each(f func(n ast.Node)) {
	_ = ast.Walk(m.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			f(n)
		}
		return ast.WalkContinue, nil
	})
}

// unescaped returns a text of the source with backslashes and entities resolved once. goldmark does
// that only while it writes HTML, which escapes only a few characters.
func unescaped(raw []byte) string {
	if !bytes.ContainsAny(raw, "\\&\x00") {
		return string(raw)
	}
	var page bytes.Buffer
	w := bufio.NewWriterSize(&page, len(raw))
	render.DefaultWriter.Write(w, raw)
	_ = w.Flush() // never fails
	return html.UnescapeString(page.String())
}

func destination(raw []byte) string { return unescaped(raw) }

func autoURL(n *ast.AutoLink, source []byte) string {
	url := string(n.URL(source))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(url), "mailto:") {
		return "mailto:" + url
	}
	return url
}

// inline returns the text of one inline node without its children, and whether it has a text of its
// own.
func (m *markdown) inline(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.Text:
		value := unescaped(n.Segment.Value(m.source))
		if n.IsRaw() {
			value = string(n.Segment.Value(m.source))
		}
		if n.SoftLineBreak() || n.HardLineBreak() {
			value += "\n"
		}
		return value, true
	case *ast.String:
		return string(n.Value), true
	case *ast.CodeSpan:
		var code strings.Builder
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if piece, ok := c.(*ast.Text); ok {
				code.Write(piece.Segment.Value(m.source))
			}
		}
		return strings.ReplaceAll(code.String(), "\n", " "), true
	case *ast.AutoLink:
		return string(n.Label(m.source)), true
	case *ast.RawHTML, *east.TaskCheckBox:
		return "", true
	}
	return "", false
}

// plain returns the text of inline nodes.
func (m *markdown) plain(n ast.Node) string {
	var out strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if value, own := m.inline(c); own {
			out.WriteString(value)
		} else {
			out.WriteString(m.plain(c))
		}
	}
	return out.String()
}

// blocks appends the texts of the blocks of a node.
func (m *markdown) blocks(n ast.Node, out []string) []string {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			out = append(out, m.code(c))
		case *ast.HTMLBlock:
		case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
			out = append(out, m.plain(c))
		case *east.TableHeader, *east.TableRow:
			var cells []string
			for cell := c.FirstChild(); cell != nil; cell = cell.NextSibling() {
				cells = append(cells, m.plain(cell))
			}
			out = append(out, strings.Join(cells, " "))
		default:
			out = m.blocks(c, out)
		}
	}
	return out
}

// code returns the text of a code block, without its last newline.
func (m *markdown) code(n ast.Node) string {
	return strings.TrimSuffix(string(n.Lines().Value(m.source)), "\n")
}

// mdast writes nodes in the form of mdast, as JSON.
type mdast struct {
	*markdown
	out []byte
}

// open begins a node, with a comma if it follows another.
func (t *mdast) open(kind string, members ...jsontree.Member) {
	if n := len(t.out); n > 0 && t.out[n-1] == '}' {
		t.out = append(t.out, ',')
	}
	t.out = append(t.out, `{"type":`...)
	t.out = jsontree.Append(t.out, kind)
	for _, m := range members {
		t.out = append(jsontree.Append(append(t.out, ','), m.Name), ':')
		t.out = jsontree.Append(t.out, m.Value)
	}
}

// leaf writes a node without children.
func (t *mdast) leaf(kind string, members ...jsontree.Member) {
	t.open(kind, members...)
	t.out = append(t.out, '}')
}

// parent writes a node with its children; adjacent texts become one.
func (t *mdast) parent(n ast.Node, kind string, members ...jsontree.Member) {
	t.open(kind, members...)
	t.out = append(t.out, `,"children":[`...)
	var run strings.Builder
	flush := func() {
		if run.Len() > 0 {
			t.leaf("text", member("value", run.String()))
			run.Reset()
		}
	}
	for c := n.FirstChild(); c != nil && len(t.out) <= maxAnswer; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text, *ast.String:
			value, _ := t.inline(c)
			if hard, ok := c.(*ast.Text); ok && hard.HardLineBreak() {
				run.WriteString(strings.TrimSuffix(value, "\n"))
				flush()
				t.leaf("break")
				continue
			}
			run.WriteString(value)
		case *east.TaskCheckBox:
		default:
			flush()
			t.node(c)
		}
	}
	flush()
	t.out = append(t.out, "]}"...)
}

// member returns a member of a node.
func member(name string, value any) jsontree.Member { return jsontree.Member{Name: name, Value: value} }

// optional returns a member with a text, unless it is empty.
func optional(name, value string) []jsontree.Member {
	if value == "" {
		return nil
	}
	return []jsontree.Member{member(name, value)}
}

func (t *mdast) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Document:
		t.parent(n, "root")
	case *ast.Heading:
		t.parent(n, "heading", member("depth", float64(n.Level)))
	case *ast.Paragraph, *ast.TextBlock:
		t.parent(n, "paragraph")
	case *ast.ThematicBreak:
		t.leaf("thematicBreak")
	case *ast.CodeBlock:
		t.leaf("code", member("value", t.code(n)))
	case *ast.FencedCodeBlock:
		t.fenced(n)
	case *ast.HTMLBlock:
		value := string(n.Lines().Value(t.source))
		if n.HasClosure() {
			value += string(n.ClosureLine.Value(t.source))
		}
		t.leaf("html", member("value", strings.TrimSuffix(value, "\n")))
	case *ast.Blockquote:
		t.parent(n, "blockquote")
	case *ast.List:
		t.list(n)
	case *ast.ListItem:
		t.item(n)
	case *ast.Emphasis:
		t.parent(n, []string{"emphasis", "strong"}[min(1, n.Level-1)])
	case *ast.Link:
		t.parent(n, "link", append([]jsontree.Member{member("url", destination(n.Destination))}, optional("title", unescaped(n.Title))...)...)
	case *ast.Image:
		t.leaf("image", append([]jsontree.Member{member("url", destination(n.Destination)), member("alt", t.plain(n))}, optional("title", unescaped(n.Title))...)...)
	case *ast.AutoLink:
		label := jsontree.NewObject(member("type", "text"), member("value", string(n.Label(t.source))))
		t.leaf("link", member("url", autoURL(n, t.source)), member("children", []any{label}))
	case *ast.CodeSpan:
		code, _ := t.inline(n)
		t.leaf("inlineCode", member("value", code))
	case *ast.RawHTML:
		t.leaf("html", member("value", string(n.Segments.Value(t.source))))
	default:
		t.extended(n)
	}
}

// extended writes a node of GFM.
func (t *mdast) extended(n ast.Node) {
	switch n := n.(type) {
	case *east.Strikethrough:
		t.parent(n, "delete")
	case *east.Table:
		align := make([]any, len(n.Alignments))
		for i, a := range n.Alignments {
			if a != east.AlignNone {
				align[i] = a.String()
			}
		}
		t.parent(n, "table", member("align", align))
	case *east.TableHeader, *east.TableRow:
		t.parent(n, "tableRow")
	case *east.TableCell:
		t.parent(n, "tableCell")
	default:
		t.parent(n, strings.ToLower(n.Kind().String()))
	}
}

func (t *mdast) fenced(n *ast.FencedCodeBlock) {
	var about []jsontree.Member
	if n.Info != nil {
		lang, meta, _ := strings.Cut(strings.TrimSpace(unescaped(n.Info.Segment.Value(t.source))), " ")
		about = append(optional("lang", lang), optional("meta", strings.TrimSpace(meta))...)
	}
	t.leaf("code", append(about, member("value", t.code(n)))...)
}

func (t *mdast) list(n *ast.List) {
	about := []jsontree.Member{member("ordered", n.IsOrdered())}
	if n.IsOrdered() {
		about = append(about, member("start", float64(n.Start)))
	}
	t.parent(n, "list", append(about, member("spread", !n.IsTight))...)
}

func (t *mdast) item(n *ast.ListItem) {
	list, _ := n.Parent().(*ast.List)
	about := []jsontree.Member{member("spread", list != nil && !list.IsTight && n.ChildCount() > 1)}
	if first := n.FirstChild(); first != nil {
		if box, ok := first.FirstChild().(*east.TaskCheckBox); ok {
			about = append(about, member("checked", box.IsChecked))
		}
	}
	t.parent(n, "listItem", about...)
}
