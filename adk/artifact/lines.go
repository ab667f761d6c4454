package artifact

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"regexp"

	"github.com/adkreplay/adkreplay/adk"
)

// Head gives the first n lines, fewer if there are fewer.
func (a *Artifact) Head(ctx context.Context, n int) ([]string, error) {
	return a.Cat(ctx, nil, &n)
}

// Tail gives the last n lines, fewer if there are fewer.
func (a *Artifact) Tail(ctx context.Context, n int) ([]string, error) {
	return texts(a.ask(ctx, "tail", map[string]any{"n": n}, func(ctx context.Context, b body) (any, error) { return tail(ctx, b, n) }))
}

// Cat gives the lines from one, counted from 0, to the one before another; nil is the
// first, and the end. Both are clamped to the lines that there are.
func (a *Artifact) Cat(ctx context.Context, from, to *int) ([]string, error) {
	args := map[string]any{}
	start, end := 0, a.mark.Lines
	if from != nil {
		start, args["start"] = max(0, *from), *from
	}
	if to != nil {
		end, args["end"] = *to, *to
	}
	return texts(a.ask(ctx, "cat", args, func(ctx context.Context, b body) (any, error) { return cat(ctx, b, start, end) }))
}

// Grep gives the lines that a pattern matches, in order, each matched alone.
func (a *Artifact) Grep(ctx context.Context, pattern *regexp.Regexp) ([]string, error) {
	return texts(a.ask(ctx, "grep", map[string]any{"pattern": pattern.String()}, func(ctx context.Context, b body) (any, error) { return grep(ctx, b, pattern) }))
}

// EstimateTokens is what adk.EstimateTokens gives for the whole body.
func (a *Artifact) EstimateTokens(ctx context.Context, encoding adk.Encoding) (int, error) {
	value, err := a.ask(ctx, "estimate_tokens", map[string]any{"encoding": string(encoding)}, func(ctx context.Context, b body) (any, error) {
		data, err := all(ctx, b)
		return float64(adk.EstimateTokens(validText(data), encoding)), err
	})
	n, _ := value.(float64)
	return int(n), err
}

// texts are the texts of a list.
func texts(value any, err error) ([]string, error) {
	list, _ := value.([]any)
	if err != nil {
		return nil, err
	}
	all := make([]string, len(list))
	for i, item := range list {
		all[i], _ = item.(string)
	}
	return all, nil
}

// chunk is how much of a body is read at once.
const chunk = 256 << 10

// lines gives the lines of a stream, which must not be kept: what a line ends with is
// cut off, and what ends with a newline has an empty line more (ART-13). It closes the
// stream.
func lines(stream io.ReadCloser) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		defer func() { _ = stream.Close() }()
		reader, long, any := bufio.NewReaderSize(stream, chunk), []byte(nil), false
		for {
			piece, err := reader.ReadSlice('\n')
			any = any || len(piece) > 0
			switch {
			case errors.Is(err, bufio.ErrBufferFull):
				long = append(long, piece...)
			case err == nil:
				line := piece[:len(piece)-1]
				if long != nil {
					line = append(long, line...)
					long = nil
				}
				if !yield(line, nil) {
					return
				}
			case err != io.EOF:
				yield(nil, err)
				return
			default:
				if any { // an empty body has no line
					yield(append(long, piece...), nil)
				}
				return
			}
		}
	}
}

func cat(ctx context.Context, b body, from, to int) (any, error) {
	list := []any{}
	if from >= to {
		return list, nil
	}
	stream, err := b.stream(ctx)
	if err != nil {
		return nil, err
	}
	i := 0
	for line, err := range lines(stream) {
		if err != nil {
			return nil, err
		}
		if i >= from {
			list = append(list, validText(line))
		}
		if i++; i >= to {
			break
		}
	}
	return list, nil
}

func tail(ctx context.Context, b body, n int) (any, error) {
	if n <= 0 || b.size() == 0 {
		return []any{}, nil
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
	list := []any{}
	for line, err := range lines(stream) {
		if err != nil {
			return nil, err
		}
		list = append(list, validText(line))
	}
	if len(list) == 0 { // the empty line behind the last newline
		list = append(list, "")
	}
	return list, nil
}

// lastLines is where the last n lines begin, found backwards by ranges.
func lastLines(ctx context.Context, b body, n int) (from int64, ranged bool, err error) {
	end := b.size()
	for end > 0 {
		start := max(0, end-chunk)
		stream, has, err := b.section(ctx, start, end-start)
		if err != nil || !has {
			return 0, has, err
		}
		data, err := io.ReadAll(stream)
		if err := errors.Join(err, stream.Close()); err != nil {
			return 0, true, err
		}
		for at := bytes.LastIndexByte(data, '\n'); at >= 0; at = bytes.LastIndexByte(data[:at], '\n') {
			if n--; n == 0 {
				return start + int64(at) + 1, true, nil
			}
		}
		end = start
	}
	return 0, true, nil
}

// tailStreamed keeps the last n lines of all.
func tailStreamed(ctx context.Context, b body, n int) (any, error) {
	stream, err := b.stream(ctx)
	if err != nil {
		return nil, err
	}
	var last []string
	next := 0
	for line, err := range lines(stream) {
		if err != nil {
			return nil, err
		}
		if len(last) < n {
			last = append(last, string(line))
			continue
		}
		last[next] = string(line)
		next = (next + 1) % n
	}
	list := []any{}
	for i := range last {
		list = append(list, validText([]byte(last[(next+i)%len(last)])))
	}
	return list, nil
}

func grep(ctx context.Context, b body, pattern *regexp.Regexp) (any, error) {
	stream, err := b.stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	g := grepper{pattern: pattern, needed: neededBy(pattern.String()), found: []any{}}
	buffer, held := make([]byte, chunk), 0 // what is held of a line that goes on
	for any := false; ; any = true {
		n, err := io.ReadFull(stream, buffer[held:])
		data := buffer[:held+n]
		switch {
		case err == io.EOF && !any: // an empty body has no line
			return g.found, nil
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
			g.block(data)
			return g.found, nil
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		last := bytes.LastIndexByte(data, '\n')
		if last < 0 { // a line longer than all that is read at once
			held = len(data)
			buffer = append(buffer, make([]byte, len(buffer))...)
			continue
		}
		g.block(data[:last])
		held = copy(buffer, data[last+1:])
	}
}

// grepper looks for lines in blocks of whole ones.
type grepper struct {
	pattern *regexp.Regexp
	needed  literal // stands in every line that the pattern matches
	found   []any
}

func (g *grepper) block(data []byte) {
	for len(data) >= 0 {
		if g.needed.text != nil { // go to the line of the next place that it stands at
			at := g.needed.index(data)
			if at < 0 {
				return
			}
			data = data[bytes.LastIndexByte(data[:at], '\n')+1:]
		}
		line, rest, more := bytes.Cut(data, newline)
		if text := validText(line); g.pattern.MatchString(text) {
			g.found = append(g.found, text)
		}
		if !more {
			return
		}
		data = rest
	}
}
