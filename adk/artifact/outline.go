package artifact

import (
	"context"
	"strings"

	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/internal/yamltree"
)

// maxFrontmatter is the number of lines within which a frontmatter has to end (ART-18).
const maxFrontmatter = 200

// byteOrderMark may begin a text, and is not part of its first line's markup.
const byteOrderMark = "\ufeff"

// Heading is a heading of a Markdown artifact. Lines are counted from 0.
type Heading struct {
	Depth int    `json:"depth"`
	Text  string `json:"text"`
	// StartLine is the line of the heading itself.
	StartLine int `json:"startLine"`
	// EndLine is the last line before the next heading of the same or a higher rank.
	EndLine int `json:"endLine"`
}

// CodeBlock is a fenced block. Its lines are those of the fences; an unclosed block ends at the
// last line of the body.
type CodeBlock struct {
	// Lang is the first word of the info string; nil if there is none.
	Lang      *string `json:"lang"`
	StartLine int     `json:"startLine"`
	EndLine   int     `json:"endLine"`
}

// Section is what follows a heading. A body without lines ends at its heading.
type Section struct {
	Depth         int    `json:"depth"`
	Heading       string `json:"heading"`
	HeadingLine   int    `json:"headingLine"`
	BodyStartLine int    `json:"bodyStartLine"`
	BodyEndLine   int    `json:"bodyEndLine"`
}

// outline is the result of one pass over the lines of a Markdown body (ART-19).
type outline struct {
	frontmatter []string // its lines, without the marks; nil if there is none
	after       int      // the first line after the frontmatter
	headings    []Heading
	blocks      []CodeBlock
	weight      int  // bytes of headings and blocks
	full        bool // the outline is at its limit, and incomplete
}

// The limits of an outline.
const (
	maxOutline = 8 << 20 // bytes of all headings and fences, with perMark for each
	maxMarkup  = 1 << 20 // bytes of one of them, and of a frontmatter
	perMark    = 64
)

// add counts a heading or a block whose line is text; ok is false if the limit is exceeded.
func (o *outline) add(text string) (ok bool) {
	o.weight += perMark + len(text)
	o.full = o.full || o.weight > maxOutline
	return !o.full
}

// outlineOf goes over the lines of a body once, without keeping them.
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

// outliner makes an outline line by line.
type outliner struct {
	*outline
	at    int
	held  []string // lines that may be a frontmatter, with its first mark
	holds int      // bytes of held
	fence string   // the opening fence of the current block
}

func (o *outliner) line(text string) {
	switch {
	case o.at == 0 && text == "---":
		o.held = []string{text}
	case o.held != nil && text == "---":
		o.frontmatter, o.after, o.held = o.held[1:], o.at+1, nil
	case o.held != nil && o.at < maxFrontmatter-1:
		o.held, o.holds = append(o.held, text), o.holds+len(text)
	case o.held != nil: // no end was found, so these are ordinary lines
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

// close ends the current block, if it is in the outline: a full outline does not have it.
func (o *outliner) close(at int) {
	if !o.full {
		o.blocks[len(o.blocks)-1].EndLine = at
	}
}

// end ends what is open, and finds the last line of each heading.
func (o *outliner) end() *outline {
	if o.held != nil {
		o.release()
	}
	last := max(0, o.at-1)
	if o.fence != "" {
		o.close(last)
	}
	open := []int{} // headings whose end is not known yet, the highest rank first
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

// indented removes up to three leading blanks. With more, the line begins no block.
func indented(text string) (rest string, ok bool) {
	rest = strings.TrimLeft(text, " ")
	return rest, len(text)-len(rest) <= 3
}

// opensFence parses the first line of a fenced block: three or more backticks or tildes, and the
// info string, which must not contain a backtick after backticks.
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

// atxHeading parses a heading of CommonMark: 1 to 6 #, then a blank or the end.
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

// MarkdownQuestions asks questions to a Markdown artifact. Lines are counted from 0, and ranges end
// before their second line; nil means the first line, and the end.
type MarkdownQuestions struct{ a *Artifact }

// Markdown returns the Markdown questions.
func (a *Artifact) Markdown() MarkdownQuestions { return MarkdownQuestions{a} }

// ask asks a question about the outline, which is made once for an Artifact.
func (q MarkdownQuestions) ask(ctx context.Context, method string, args map[string]any, run func(o *outline) (any, error)) (any, error) {
	return askRead(ctx, q.a, "md_"+method, args, &q.a.outline, q.a.outlineOf, run)
}

// marks asks a question that needs all headings and blocks.
func (q MarkdownQuestions) marks(ctx context.Context, method string, args map[string]any, run func(o *outline) (any, error)) (any, error) {
	return q.ask(ctx, method, args, func(o *outline) (any, error) {
		if o.full {
			return nil, refuse(itsLines, "more than %d bytes of headings and code blocks", maxOutline)
		}
		return run(o)
	})
}

// Frontmatter returns the frontmatter as a JSON object with its keys in order, and whether there is
// one. YAML that is no map is E_ARTIFACT_FORMAT (ART-18).
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

// Headings returns the headings of a depth, or all of them for 0, in order.
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

// CodeBlocks returns the fenced blocks of a language; nil means all, "" those without a language.
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

// Sections returns the sections of the headings of a depth, or of all for 0, without their text.
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
