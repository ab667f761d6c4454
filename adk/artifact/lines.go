package artifact

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/pattern"
)

// Head returns the first n lines, or fewer if there are fewer.
func (a *Artifact) Head(ctx context.Context, n int) ([]string, error) {
	return a.Cat(ctx, nil, &n)
}

// Tail returns the last n lines, or fewer if there are fewer.
func (a *Artifact) Tail(ctx context.Context, n int) ([]string, error) {
	return listOf[string](a.ask(ctx, "tail", map[string]any{"n": n}, func(ctx context.Context, b body) (any, error) { return tail(ctx, b, n) }))
}

// Cat returns the lines from index from, counted from 0, up to but without index to; nil means the
// first, and the end. Both are clamped to the existing lines.
func (a *Artifact) Cat(ctx context.Context, from, to *int) ([]string, error) {
	args := map[string]any{}
	start, end := 0, a.mark.Lines
	if from != nil {
		start, args["start"] = max(0, *from), *from
	}
	if to != nil {
		end, args["end"] = *to, *to
	}
	return listOf[string](a.ask(ctx, "cat", args, func(ctx context.Context, b body) (any, error) { return cat(ctx, b, start, end) }))
}

// Grep returns the lines that a pattern matches, in order; each line is matched separately.
func (a *Artifact) Grep(ctx context.Context, expr *regexp.Regexp) ([]string, error) {
	return listOf[string](a.ask(ctx, "grep", map[string]any{"pattern": expr.String()}, func(ctx context.Context, b body) (any, error) { return grep(ctx, b, expr) }))
}

// EstimateTokens returns adk.EstimateTokens for the whole body. A body that is not UTF-8 is counted
// in pieces of 1 MiB.
func (a *Artifact) EstimateTokens(ctx context.Context, encoding adk.Encoding) (int, error) {
	return valueOf[int](a.ask(ctx, "estimate_tokens", map[string]any{"encoding": string(encoding)}, func(ctx context.Context, b body) (any, error) {
		data, err := all(ctx, b)
		if err != nil || utf8.Valid(data) {
			return float64(adk.EstimateTokens(ownText(data), encoding)), err
		}
		tokens := 0
		for piece := range slices.Chunk(data, maxParsed) { // as text, a piece may be three times as long
			tokens += adk.EstimateTokens(validText(piece), encoding)
		}
		return float64(tokens), ctx.Err()
	}))
}

// chunk is how many bytes of a body are read at a time.
const chunk = 256 << 10

// room returns the buffer length for a body of a size, with one byte more to see the end.
func room(size int64) int { return int(min(max(0, size)+1, chunk)) }

// line is a line of a body, valid only until the next one.
type line struct {
	text []byte // without the newline
	cut  bool   // the line is longer than text
}

// lines iterates over the lines of a stream of about size bytes, from line from on, with at most
// most bytes of each. Memory is bounded: it holds no more of a line, and nothing of the lines
// before. A text that ends with a newline has an empty line after it (ART-13). lines closes the
// stream.
func lines(ctx context.Context, stream io.ReadCloser, size int64, from, most int) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		defer func() { _ = stream.Close() }()
		reader, begun, isAny := bufio.NewReaderSize(stream, room(size)), line{}, false
		for i := 0; ; {
			piece, err := reader.ReadSlice('\n')
			goesOn := errors.Is(err, bufio.ErrBufferFull)
			isAny = isAny || len(piece) > 0
			switch {
			case ctx.Err() != nil:
				yield(line{}, context.Cause(ctx))
				return
			case err != nil && err != io.EOF && !goesOn:
				yield(line{}, err)
				return
			case !isAny: // an empty body has no line
				return
			}
			text := bytes.TrimSuffix(piece, newline)
			switch {
			case i < from || begun.cut: // not requested, or yielded already
			case goesOn:
				begun.extend(text, most)
				if begun.cut && !yield(begun, nil) {
					return
				}
			case begun.text != nil:
				begun.extend(text, most)
				if !yield(begun, nil) {
					return
				}
			default:
				if !yield(line{text: text}, nil) {
					return
				}
			}
			if err == io.EOF {
				return
			}
			if !goesOn {
				i, begun = i+1, line{}
			}
		}
	}
}

func (l *line) extend(piece []byte, most int) {
	left := max(0, most-len(l.text))
	l.cut = l.cut || left < len(piece)
	l.text = append(l.text, piece[:min(left, len(piece))]...)
}

// cat returns the lines of a range.
func cat(ctx context.Context, b body, from, to int) ([]string, error) {
	if from >= to {
		return []string{}, nil
	}
	return collected(between(ctx, b, from, to, maxAnswer))
}

// collected returns a list of lines, and fails if it is longer than an answer may be.
func collected(all iter.Seq2[line, error]) ([]string, error) {
	answer := answerLines{list: []string{}}
	for one, err := range all {
		if err == nil {
			err = answer.read(one)
		}
		if err != nil {
			return nil, err
		}
	}
	return answer.list, nil
}

// between iterates over the lines of a range of a body, as lines does.
func between(ctx context.Context, b body, from, to, most int) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		stream, err := b.stream(ctx)
		if err != nil {
			yield(line{}, err)
			return
		}
		i := from
		for next, err := range lines(ctx, stream, b.size(), from, most) {
			if i++; !yield(next, err) || i >= to {
				return
			}
		}
	}
}

// tail returns the last n lines.
func tail(ctx context.Context, b body, n int) ([]string, error) {
	if n <= 0 || b.size() == 0 {
		return []string{}, nil
	}
	from, ranged, err := lastLines(ctx, b, n)
	if err != nil {
		return nil, err
	}
	if !ranged {
		return tailStreamed(ctx, b, n)
	}
	stream, _, err := b.section(ctx, from, b.size()-from)
	if err != nil {
		return nil, err
	}
	list, err := collected(lines(ctx, stream, b.size()-from, 0, maxAnswer))
	if err == nil && len(list) == 0 { // the empty line after the last newline
		list = []string{""}
	}
	return list, err
}

// lastLines returns where the last n lines begin, searching backwards by ranges.
func lastLines(ctx context.Context, b body, n int) (from int64, ranged bool, err error) {
	end := b.size()
	for end > 0 {
		start := max(0, end-chunk)
		stream, has, err := b.section(ctx, start, end-start)
		if err != nil || !has {
			return 0, has, err
		}
		data, err := io.ReadAll(stream)
		if err = errors.Join(err, stream.Close()); err != nil {
			return 0, true, err
		}
		for at := bytes.LastIndexByte(data, '\n'); at >= 0; at = bytes.LastIndexByte(data[:at], '\n') {
			if n--; n == 0 {
				return start + int64(at) + 1, true, nil
			}
		}
		if end = start; b.size()-end > maxAnswer {
			return 0, true, errTooLong
		}
	}
	return 0, true, nil
}

// tailStreamed reads the whole stream, and holds little more than the last n lines.
func tailStreamed(ctx context.Context, b body, n int) (list []string, err error) {
	stream, err := b.stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }() // read to its end, or failed
	window, piece, lost := []byte(nil), make([]byte, room(b.size())), false
	for most := 2 * chunk; err == nil; {
		var read int
		read, err = stream.Read(piece)
		window = append(window, piece[:read]...)
		if len(window) < most && err == nil {
			continue
		}
		from := lastOf(window, n)
		lost = lost && from == 0 // dropped lines are not among the last n
		if len(window)-from > maxAnswer {
			from, lost = len(window)-maxAnswer, true
		}
		window = append(window[:0], window[from:]...)
		most = 2 * max(chunk, len(window))
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	switch {
	case err != io.EOF:
		return nil, err
	case lost:
		return nil, errTooLong
	}
	last := answerLines{}
	for text := range bytes.SplitSeq(window, newline) {
		if err := last.read(line{text: text}); err != nil {
			return nil, err
		}
	}
	return last.list, nil
}

// lastOf returns where the last n lines of a text begin; 0 if it has no more.
func lastOf(text []byte, n int) int {
	for at := len(text); ; n-- {
		if at = bytes.LastIndexByte(text[:at], '\n'); at < 0 || n == 1 {
			return at + 1
		}
	}
}

// maxLine is the greatest length of a line on which a pattern is tried.
const maxLine = maxAnswer

// grep returns the lines that an expression matches.
func grep(ctx context.Context, b body, expr *regexp.Regexp) ([]string, error) {
	stream, err := b.stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	g := grepper{ctx: ctx, expr: expr, size: pattern.Size(expr), needed: neededBy(expr.String()), found: answerLines{list: []string{}}}
	buffer, held := make([]byte, room(b.size())), 0 // bytes held of an unfinished line
	passing := false                                // the line is too long to be held, and cannot match so far
	for isAny := false; ; isAny = true {
		n, err := io.ReadFull(stream, buffer[held:])
		data := buffer[:held+n]
		ended := err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
		switch {
		case err == io.EOF && !isAny: // an empty body has no line
			return g.found.list, nil
		case err != nil && !ended:
			return nil, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		if passing {
			end := bytes.IndexByte(data, '\n')
			passing = end < 0
			if data, err = g.pass(data, end); err != nil {
				return nil, err
			}
		}
		last := bytes.LastIndexByte(data, '\n')
		switch {
		case ended && passing:
			return g.found.list, nil
		case ended:
			return g.found.list, g.block(data)
		case last >= 0:
			if err := g.block(data[:last]); err != nil {
				return nil, err
			}
			data = data[last+1:]
		case !passing && len(data) > maxLine:
			passing = true
			if data, err = g.pass(data, -1); err != nil {
				return nil, err
			}
		}
		if held = copy(buffer, data); held > len(buffer)/2 { // the line is longer than the buffer
			buffer = append(buffer, make([]byte, min(len(buffer), maxLine+chunk-len(buffer)))...)
		}
	}
}

// grepper looks for matching lines in blocks of whole lines.
type grepper struct {
	ctx    context.Context
	expr   *regexp.Regexp
	size   int     // of the compiled program
	needed literal // is in every line that the expression matches
	found  answerLines
	steps  int64 // since the context was checked
}

// pass skips a line that is too long, up to its end or, with a negative end, as far as it is read.
// It fails if the line has the needed literal, or if there is none, since the line might match. It
// returns what is to be kept: what follows the line, or an end that may begin the literal.
func (g *grepper) pass(data []byte, end int) ([]byte, error) {
	of := data
	if end >= 0 {
		of = data[:end]
	}
	if g.needed.text == nil || g.needed.index(of) >= 0 {
		return nil, refuse(rarerText, "a line that may match has more than %d bytes", maxLine)
	}
	if end >= 0 {
		return data[end+1:], nil
	}
	return data[max(0, len(data)-len(g.needed.text)+1):], nil
}

func (g *grepper) block(data []byte) error {
	for {
		if g.needed.text != nil { // go to the line with the next occurrence of the literal
			at := g.needed.index(data)
			if at < 0 {
				return nil
			}
			data = data[bytes.LastIndexByte(data[:at], '\n')+1:]
		}
		text, rest, more := bytes.Cut(data, newline)
		if err := g.line(text); err != nil || !more {
			return err
		}
		data = rest
	}
}

// oftenEnough is after how many steps of a program the context is checked.
const oftenEnough = 10_000_000

func (g *grepper) line(data []byte) error {
	steps := int64(g.size) * int64(len(data))
	if g.steps += steps; steps > pattern.MaxSteps {
		return refuse(shorterExpr, "the expression takes too many steps in a line of %d bytes", len(data))
	}
	if g.steps > oftenEnough {
		if g.steps = 0; g.ctx.Err() != nil {
			return context.Cause(g.ctx)
		}
	}
	text := validText(data)
	if !g.expr.MatchString(text) {
		return nil
	}
	return g.found.add(text)
}
