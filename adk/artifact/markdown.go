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

	"github.com/adkreplay/adkreplay/internal/jsontree"
)

// Link is a link of a Markdown artifact.
type Link struct {
	Text  string `json:"text"`
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

// Image is a picture of a Markdown artifact.
type Image struct {
	Alt   string `json:"alt"`
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

// maxParsed is how much of a Markdown body is parsed at once: deep nesting takes more
// than linear time.
const maxParsed = 1 << 20

// Links are the inline links, autolinks and references of a range; of references those
// whose definition lies in it too.
func (q MarkdownQuestions) Links(ctx context.Context, from, to *int) ([]Link, error) {
	return decoded[Link](q.links(ctx, from, to))
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

// Images are the pictures of a range; an alternative text may be empty.
func (q MarkdownQuestions) Images(ctx context.Context, from, to *int) ([]Image, error) {
	return decoded[Image](q.images(ctx, from, to))
}

func (q MarkdownQuestions) images(ctx context.Context, from, to *int) (any, error) {
	return q.parsed(ctx, "images", from, to, func(m *markdown) (any, error) {
		images := []Image{}
		m.each(func(n ast.Node) {
			if n, is := n.(*ast.Image); is {
				images = append(images, Image{m.plain(n), destination(n.Destination), unescaped(n.Title)})
			}
		})
		return encoded(images)
	})
}

// PlainText is the text of a range without markup: code, link and alternative texts
// stay, blocks are divided by one newline.
func (q MarkdownQuestions) PlainText(ctx context.Context, from, to *int) (string, error) {
	return scalar[string](q.plainText(ctx, from, to))
}

func (q MarkdownQuestions) plainText(ctx context.Context, from, to *int) (any, error) {
	return q.parsed(ctx, "text", from, to, func(m *markdown) (any, error) {
		return strings.Join(m.blocks(m.root, nil), "\n"), nil
	})
}

// Tree is a range as an mdast tree without positions, as JSON.
func (q MarkdownQuestions) Tree(ctx context.Context, from, to *int) (json.RawMessage, error) {
	value, err := q.tree(ctx, from, to)
	if err != nil {
		return nil, err
	}
	text, err := encode(value)
	return json.RawMessage(text), err
}

func (q MarkdownQuestions) tree(ctx context.Context, from, to *int) (any, error) {
	return q.parsed(ctx, "ast", from, to, func(m *markdown) (any, error) { return m.mdast(m.root), nil })
}

// markdown is a range that goldmark has parsed.
type markdown struct {
	source []byte
	root   ast.Node
}

// parser knows CommonMark, and tables, task lists, strikethrough and autolinks of GFM.
var parser = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()

// parsed asks of the lines of a range, the frontmatter left out.
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
			return nil, formatError(q.a.media.ID(), "%s: ask for fewer lines", fault)
		}
		m := &markdown{source: source}
		m.root = parser.Parse(text.NewReader(m.source))
		return run(m)
	})
}

// source are the lines of a range together.
func (q MarkdownQuestions) source(ctx context.Context, b body, from, to int) (source []byte, err error) {
	if from >= to {
		return nil, nil
	}
	stream, err := b.stream(ctx)
	if err != nil {
		return nil, err
	}
	for line, err := range between(ctx, stream, from, to, maxParsed) {
		if err != nil {
			return nil, err
		}
		source = append(append(source, validText(line.text)...), '\n')
		if line.cut || len(source) > maxParsed+1 {
			return nil, formatError(q.a.media.ID(), "more than %d bytes of Markdown at once: ask for fewer lines", maxParsed)
		}
	}
	if from == 0 {
		source = bytes.TrimPrefix(source, []byte(byteOrderMark))
	}
	return bytes.TrimSuffix(source, newline), nil
}

// What the parser takes more than linear time for, and nobody writes.
const (
	maxNesting = 100       // block marks that a line begins with
	maxOpen    = 1000      // brackets and parentheses that are open in a block at once
	maxMarks   = 20_000    // signs of emphasis in a block
	maxCells   = 1_000_000 // of a table
)

// tangled says what of lines would take too long to parse; nothing if all is well.
func tangled(source []byte) string {
	var b blockSigns
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

// blockSigns counts the signs of lines without a blank one between.
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

// nesting is the number of block marks that a line begins with; one that draws a line
// across nests nothing.
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

// unescaped is a text of the source with its backslashes and entities resolved, each once:
// goldmark writes it so for a page, and a page escapes but a few characters.
func unescaped(raw []byte) string {
	if bytes.IndexAny(raw, "\\&\x00") < 0 {
		return string(raw)
	}
	var page bytes.Buffer
	w := bufio.NewWriterSize(&page, len(raw))
	render.DefaultWriter.Write(w, raw)
	_ = w.Flush() // a buffer takes all
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

// inline is the text of one inline node without its children, and whether it has a text
// of its own.
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
			if piece, is := c.(*ast.Text); is {
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

// plain is the text of inline nodes.
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

// blocks are the texts of the blocks of a node.
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

// code is the text of a block of code, without its last newline.
func (m *markdown) code(n ast.Node) string {
	return strings.TrimSuffix(string(n.Lines().Value(m.source)), "\n")
}

// member is a member of an object that is being made.
func member(name string, value any) jsontree.Member { return jsontree.Member{Name: name, Value: value} }

func node(kind string, members ...jsontree.Member) *jsontree.Object {
	return jsontree.NewObject(append([]jsontree.Member{member("type", kind)}, members...)...)
}

// optional adds a text that is not empty.
func optional(o *jsontree.Object, name, value string) *jsontree.Object {
	if value != "" {
		o.Set(name, value)
	}
	return o
}

// mdast is a node as mdast has it.
func (m *markdown) mdast(n ast.Node) *jsontree.Object {
	switch n := n.(type) {
	case *ast.Document:
		return m.parent(node("root"), n)
	case *ast.Heading:
		return m.parent(node("heading", member("depth", float64(n.Level))), n)
	case *ast.Paragraph, *ast.TextBlock:
		return m.parent(node("paragraph"), n)
	case *ast.ThematicBreak:
		return node("thematicBreak")
	case *ast.CodeBlock:
		return node("code", member("value", m.code(n)))
	case *ast.FencedCodeBlock:
		return m.fenced(n)
	case *ast.HTMLBlock:
		value := string(n.Lines().Value(m.source))
		if n.HasClosure() {
			value += string(n.ClosureLine.Value(m.source))
		}
		return node("html", member("value", strings.TrimSuffix(value, "\n")))
	case *ast.Blockquote:
		return m.parent(node("blockquote"), n)
	case *ast.List:
		return m.list(n)
	case *ast.ListItem:
		return m.item(n)
	case *ast.Emphasis:
		return m.parent(node([]string{"emphasis", "strong"}[min(1, n.Level-1)]), n)
	case *ast.Link:
		return m.parent(optional(node("link", member("url", destination(n.Destination))), "title", unescaped(n.Title)), n)
	case *ast.Image:
		return optional(node("image", member("url", destination(n.Destination)), member("alt", m.plain(n))), "title", unescaped(n.Title))
	case *ast.AutoLink:
		return node("link", member("url", autoURL(n, m.source)), member("children", []any{node("text", member("value", string(n.Label(m.source))))}))
	case *ast.CodeSpan:
		code, _ := m.inline(n)
		return node("inlineCode", member("value", code))
	case *ast.RawHTML:
		return node("html", member("value", string(n.Segments.Value(m.source))))
	}
	return m.extended(n)
}

// extended is a node of GFM.
func (m *markdown) extended(n ast.Node) *jsontree.Object {
	switch n := n.(type) {
	case *east.Strikethrough:
		return m.parent(node("delete"), n)
	case *east.Table:
		align := make([]any, len(n.Alignments))
		for i, a := range n.Alignments {
			if a != east.AlignNone {
				align[i] = a.String()
			}
		}
		return m.parent(node("table", member("align", align)), n)
	case *east.TableHeader, *east.TableRow:
		return m.parent(node("tableRow"), n)
	case *east.TableCell:
		return m.parent(node("tableCell"), n)
	}
	return m.parent(node(strings.ToLower(n.Kind().String())), n)
}

func (m *markdown) fenced(n *ast.FencedCodeBlock) *jsontree.Object {
	o := node("code")
	if n.Info != nil {
		lang, meta, _ := strings.Cut(strings.TrimSpace(unescaped(n.Info.Segment.Value(m.source))), " ")
		optional(optional(o, "lang", lang), "meta", strings.TrimSpace(meta))
	}
	o.Set("value", m.code(n))
	return o
}

func (m *markdown) list(n *ast.List) *jsontree.Object {
	o := node("list", member("ordered", n.IsOrdered()))
	if n.IsOrdered() {
		o.Set("start", float64(n.Start))
	}
	o.Set("spread", !n.IsTight)
	return m.parent(o, n)
}

func (m *markdown) item(n *ast.ListItem) *jsontree.Object {
	list, _ := n.Parent().(*ast.List)
	o := node("listItem", member("spread", list != nil && !list.IsTight && n.ChildCount() > 1))
	if first := n.FirstChild(); first != nil {
		if box, is := first.FirstChild().(*east.TaskCheckBox); is {
			o.Set("checked", box.IsChecked)
		}
	}
	return m.parent(o, n)
}

// parent gives a node its children, texts that stand side by side as one.
func (m *markdown) parent(o *jsontree.Object, n ast.Node) *jsontree.Object {
	children, run := []any{}, ""
	flush := func() {
		if run != "" {
			children = append(children, node("text", member("value", run)))
			run = ""
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch t := c.(type) {
		case *ast.Text, *ast.String:
			value, _ := m.inline(c)
			if hard, is := t.(*ast.Text); is && hard.HardLineBreak() {
				run += strings.TrimSuffix(value, "\n")
				flush()
				children = append(children, node("break"))
				continue
			}
			run += value
		case *east.TaskCheckBox:
		default:
			flush()
			children = append(children, m.mdast(c))
		}
	}
	flush()
	o.Set("children", children)
	return o
}
