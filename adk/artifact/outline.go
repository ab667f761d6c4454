package artifact

import (
	"context"
	"strings"

	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/internal/yamltree"
)

// maxFrontmatter is within how many lines a frontmatter has to end (ART-18).
const maxFrontmatter = 200

// byteOrderMark is what editors put before a text, and no part of its first line's markup.
const byteOrderMark = "\ufeff"

// Heading is a heading of a Markdown artifact, by its lines, counted from 0.
type Heading struct {
	Depth int    `json:"depth"`
	Text  string `json:"text"`
	// StartLine is its own line.
	StartLine int `json:"startLine"`
	// EndLine is the last line before the next heading of the same or a higher rank.
	EndLine int `json:"endLine"`
}

// CodeBlock is a fenced block; its lines are those of the fences, or the last one of the
// body where it never ends.
type CodeBlock struct {
	// Lang is the first word of the info string; nil for none.
	Lang      *string `json:"lang"`
	StartLine int     `json:"startLine"`
	EndLine   int     `json:"endLine"`
}

// Section is what stands under a heading. A body without lines ends at its heading.
type Section struct {
	Depth         int    `json:"depth"`
	Heading       string `json:"heading"`
	HeadingLine   int    `json:"headingLine"`
	BodyStartLine int    `json:"bodyStartLine"`
	BodyEndLine   int    `json:"bodyEndLine"`
}

// outline is what one pass over the lines of a Markdown body finds (ART-19).
type outline struct {
	frontmatter []string // its lines, without the marks; nil for none
	after       int      // the first line behind the frontmatter
	headings    []Heading
	blocks      []CodeBlock
	weight      int  // of headings and blocks, in bytes
	full        bool // and there are more of them
}

// The bounds of an outline.
const (
	maxOutline = 8 << 20 // bytes of lines that are headings and fences, with what each takes
	maxMarkup  = 1 << 20 // of one of them, and of a frontmatter
	perMark    = 64
)

// add makes room for a heading or a block whose line is text; ok is false where there is none.
func (o *outline) add(text string) (ok bool) {
	o.weight += perMark + len(text)
	o.full = o.full || o.weight > maxOutline
	return !o.full
}

// outlineOf goes over the lines of a body once and keeps none.
func (a *Artifact) outlineOf(ctx context.Context, b body) (*outline, error) {
	stream, err := b.stream(ctx)
	if err != nil {
		return nil, err
	}
	o := &outliner{outline: &outline{}}
	for line, err := range lines(ctx, stream, b.size(), 0, maxMarkup) {
		if err != nil {
			return nil, err
		}
		text := strings.TrimSuffix(validText(line.text), "\r")
		if o.at == 0 {
			text = strings.TrimPrefix(text, byteOrderMark)
		}
		fence, weight := o.fence, o.weight
		o.line(text)
		if line.cut && (o.fence != fence || o.weight != weight || o.held != nil) || o.holds > maxMarkup {
			return nil, refuse(itsLines, "line %d: a heading, a fence or a frontmatter of more than %d bytes", o.at, maxMarkup)
		}
	}
	return o.end(), nil
}

// outliner goes from line to line.
type outliner struct {
	*outline
	at    int
	held  []string // lines that may be a frontmatter, from its first mark
	holds int      // the bytes of these
	fence string   // what opened the block that is open
}

func (o *outliner) line(text string) {
	switch {
	case o.at == 0 && text == "---":
		o.held = []string{text}
	case o.held != nil && text == "---":
		o.frontmatter, o.after, o.held = o.held[1:], o.at+1, nil
	case o.held != nil && o.at < maxFrontmatter-1:
		o.held, o.holds = append(o.held, text), o.holds+len(text)
	case o.held != nil: // it never ended: these are ordinary lines
		o.release()
		o.content(text, o.at)
	default:
		o.content(text, o.at)
	}
	o.at++
}

func (o *outliner) release() {
	held := o.held
	o.held, o.holds = nil, 0
	for i, text := range held {
		o.content(text, i)
	}
}

func (o *outliner) content(text string, at int) {
	if o.fence != "" {
		if closesFence(text, o.fence) {
			o.close(at)
			o.fence = ""
		}
		return
	}
	if fence, info, opens := opensFence(text); opens {
		o.fence = fence
		block := CodeBlock{StartLine: at}
		if words := strings.Fields(info); len(words) > 0 {
			block.Lang = &words[0]
		}
		if o.add(text) {
			o.blocks = append(o.blocks, block)
		}
		return
	}
	if depth, title, ok := atxHeading(text); ok && o.add(text) {
		o.headings = append(o.headings, Heading{Depth: depth, Text: title, StartLine: at})
	}
}

// close ends the block that is open, where it was kept: none is after the outline was full.
func (o *outliner) close(at int) {
	if !o.full {
		o.blocks[len(o.blocks)-1].EndLine = at
	}
}

// end closes what is open, and finds where each heading ends.
func (o *outliner) end() *outline {
	if o.held != nil {
		o.release()
	}
	last := max(0, o.at-1)
	if o.fence != "" {
		o.close(last)
	}
	open := []int{} // headings whose end is not known, from the highest rank
	for i, h := range o.headings {
		for len(open) > 0 && o.headings[open[len(open)-1]].Depth >= h.Depth {
			o.headings[open[len(open)-1]].EndLine = h.StartLine - 1
			open = open[:len(open)-1]
		}
		open = append(open, i)
	}
	for _, i := range open {
		o.headings[i].EndLine = last
	}
	return o.outline
}

// indented cuts up to three blanks off; more of them are no mark of a block.
func indented(text string) (rest string, ok bool) {
	rest = strings.TrimLeft(text, " ")
	return rest, len(text)-len(rest) <= 3
}

// opensFence reads the first line of a fenced block: three backticks or tildes, or more,
// and the info string, which has no backtick behind backticks.
func opensFence(text string) (fence, info string, opens bool) {
	text, ok := indented(text)
	if !ok || !strings.HasPrefix(text, "```") && !strings.HasPrefix(text, "~~~") {
		return "", "", false
	}
	info = strings.TrimLeft(text, text[:1])
	if text[0] == '`' && strings.Contains(info, "`") {
		return "", "", false
	}
	return text[:len(text)-len(info)], info, true
}

func closesFence(text, fence string) bool {
	text, ok := indented(text)
	rest := strings.TrimLeft(text, fence[:1])
	return ok && len(text)-len(rest) >= len(fence) && strings.TrimSpace(rest) == ""
}

// atxHeading reads a heading as CommonMark has it: 1 to 6 #, then a blank or the end.
func atxHeading(text string) (depth int, title string, is bool) {
	text, ok := indented(text)
	rest := strings.TrimLeft(text, "#")
	depth = len(text) - len(rest)
	if !ok || depth < 1 || depth > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, "", false
	}
	title = strings.Trim(rest, " \t")
	if closing := strings.TrimRight(title, "#"); closing == "" || strings.HasSuffix(closing, " ") || strings.HasSuffix(closing, "\t") {
		title = strings.TrimRight(closing, " \t")
	}
	return depth, title, true
}

// MarkdownQuestions are the questions to a Markdown artifact. Lines are counted from 0,
// and ranges end before their second line; nil is the first line, and the end.
type MarkdownQuestions struct{ a *Artifact }

// Markdown gives the Markdown questions.
func (a *Artifact) Markdown() MarkdownQuestions { return MarkdownQuestions{a} }

// ask asks of the outline, which is made once for an Artifact.
func (q MarkdownQuestions) ask(ctx context.Context, method string, args map[string]any, run func(o *outline) (any, error)) (any, error) {
	return askRead(ctx, q.a, "md_"+method, args, &q.a.outline, q.a.outlineOf, run)
}

// marks asks of all headings and blocks.
func (q MarkdownQuestions) marks(ctx context.Context, method string, args map[string]any, run func(o *outline) (any, error)) (any, error) {
	return q.ask(ctx, method, args, func(o *outline) (any, error) {
		if o.full {
			return nil, refuse(itsLines, "more than %d bytes of headings and code blocks", maxOutline)
		}
		return run(o)
	})
}

// Frontmatter is the object that the frontmatter is, as JSON with its keys in order, and
// whether there is one; YAML that is no map is E_ARTIFACT_FORMAT (ART-18).
func (q MarkdownQuestions) Frontmatter(ctx context.Context) (object []byte, found bool, err error) {
	value, err := q.frontmatter(ctx)
	if _, isNone := value.(none); isNone || err != nil {
		return nil, false, err
	}
	text, err := objectOf(value, nil)
	return text, err == nil, err
}

func (q MarkdownQuestions) frontmatter(ctx context.Context) (any, error) {
	return q.ask(ctx, "frontmatter", nil, func(o *outline) (any, error) {
		if o.frontmatter == nil && o.after == 0 {
			return none{}, nil
		}
		value, err := yamltree.Read(strings.Join(o.frontmatter, "\n"), maxDocumentDepth)
		if err != nil {
			return nil, refuse(itsLines, "the frontmatter is no YAML: %s", err)
		}
		if _, ok := value.(*jsontree.Object); !ok && value != nil {
			return nil, refuse(itsLines, "the frontmatter is no map")
		}
		if value == nil {
			value = &jsontree.Object{}
		}
		return value, nil
	})
}

// Headings are the headings of a depth, or all of them for 0, in order.
func (q MarkdownQuestions) Headings(ctx context.Context, depth int) ([]Heading, error) {
	return listOf[Heading](q.headings(ctx, depth))
}

func (q MarkdownQuestions) headings(ctx context.Context, depth int) (any, error) {
	return q.marks(ctx, "headings", depthArgs(depth), func(o *outline) (any, error) {
		list := []Heading{}
		for _, h := range o.headings {
			if depth == 0 || h.Depth == depth {
				list = append(list, h)
			}
		}
		return encoded(list)
	})
}

func depthArgs(depth int) map[string]any {
	if depth == 0 {
		return nil
	}
	return map[string]any{"depth": depth}
}

// CodeBlocks are the fenced blocks of a language; nil means all, "" those without.
func (q MarkdownQuestions) CodeBlocks(ctx context.Context, lang *string) ([]CodeBlock, error) {
	return listOf[CodeBlock](q.codeBlocks(ctx, lang))
}

func (q MarkdownQuestions) codeBlocks(ctx context.Context, lang *string) (any, error) {
	args := map[string]any{}
	if lang != nil {
		args["lang"] = *lang
	}
	return q.marks(ctx, "code_blocks", args, func(o *outline) (any, error) {
		list := []CodeBlock{}
		for _, block := range o.blocks {
			own := ""
			if block.Lang != nil {
				own = *block.Lang
			}
			if lang == nil || own == *lang {
				list = append(list, block)
			}
		}
		return encoded(list)
	})
}

// Sections are what stands under the headings of a depth, or of all for 0, without text.
func (q MarkdownQuestions) Sections(ctx context.Context, depth int) ([]Section, error) {
	return listOf[Section](q.sections(ctx, depth))
}

func (q MarkdownQuestions) sections(ctx context.Context, depth int) (any, error) {
	return q.marks(ctx, "sections", depthArgs(depth), func(o *outline) (any, error) {
		list := []Section{}
		for _, h := range o.headings {
			if depth == 0 || h.Depth == depth {
				list = append(list, Section{h.Depth, h.Text, h.StartLine, h.StartLine + 1, h.EndLine})
			}
		}
		return encoded(list)
	})
}
