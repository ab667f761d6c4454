package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/adkreplay/adkreplay/internal/jsonpath"
	"github.com/adkreplay/adkreplay/internal/jsontree"
)

// The bounds of JSON questions (ART-17).
const (
	maxDocumentDepth = 500
	maxVisited       = 1_000_000
)

// document is a JSON body that was read: one value, or the records of its lines.
type document struct {
	format  string
	count   int    // of the records, 1 for one document
	records []any  // as trees, unless these would take many times what the body takes
	lines   string // then their text, which was checked
}

// single reports whether the body is one document.
func (d *document) single() bool { return d.format == FormatJSON || d.format == FormatJSON5 }

// all are the records in order.
func (d *document) all() iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for _, record := range d.records {
			if !yield(record, nil) {
				return
			}
		}
		for number, line := range recordLines(d.lines) {
			record, err := jsontree.Parse(line, maxDocumentDepth)
			if err != nil {
				err = fmt.Errorf("is no %s: line %d: %w", d.format, number, err) // never: it was checked
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

// recordLines are the lines of a text that are not blank, by their numbers from 1.
func recordLines(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		number := 0
		for line := range strings.SplitSeq(text, "\n") {
			if number++; strings.TrimSpace(line) != "" && !yield(number, line) {
				return
			}
		}
	}
}

// JSONQuestions are the questions to a JSON artifact. Values keep the order of their
// keys and the digits of their numbers (ART-16).
type JSONQuestions struct{ a *Artifact }

// JSON gives the JSON questions. The body is read when the first one is asked, and its
// format found (ART-15): what is none is E_ARTIFACT_FORMAT.
func (a *Artifact) JSON() JSONQuestions { return JSONQuestions{a} }

// ask asks of the document, which is read once for an Artifact.
func (q JSONQuestions) ask(ctx context.Context, method string, args map[string]any, run func(d *document) (any, error)) (any, error) {
	q.a.mu.Lock()
	known := q.a.document
	q.a.mu.Unlock()
	if known != nil {
		return run(known)
	}
	return q.a.ask(ctx, "json_"+method, args, func(ctx context.Context, b body) (any, error) {
		data, err := all(ctx, b)
		if err != nil {
			return nil, err
		}
		read, err := readDocument(q.a.media.ID(), validText(data), q.a.mark.Format)
		if err != nil {
			return nil, err
		}
		if _, inMemory := b.(memoryBody); inMemory { // a large one is asked again, so that it crosses
			q.a.mu.Lock()
			q.a.document = read
			q.a.mu.Unlock()
		}
		return run(read)
	})
}

// readDocument reads a body in the format of the hint, or in the first that it has.
func readDocument(id, text, hint string) (*document, error) {
	switch hint {
	case FormatJSON:
		return one(id, FormatJSON, jsontree.Parse, text)
	case FormatJSON5:
		return one(id, FormatJSON5, jsontree.ParseJSON5, text)
	case FormatJSONL, FormatNDJSON:
		return byLines(id, hint, text)
	}
	strict, err := one(id, FormatJSON, jsontree.Parse, text)
	if err == nil {
		return strict, nil
	}
	if strings.TrimSpace(text) != "" {
		if records, err := byLines(id, FormatJSONL, text); err == nil {
			return records, nil
		}
	}
	if loose, looseErr := one(id, FormatJSON5, jsontree.ParseJSON5, text); looseErr == nil {
		return loose, nil
	}
	return nil, err
}

func one(id, format string, parse func(string, int) (any, error), text string) (*document, error) {
	value, err := parse(text, maxDocumentDepth)
	if err != nil {
		return nil, formatError(id, "is no %s: %s", format, err)
	}
	return &document{format: format, count: 1, records: []any{value}}, nil
}

// maxTrees is how long a body of records is at most whose trees are kept.
const maxTrees = 1 << 20

// byLines reads a record from each line that is not blank.
func byLines(id, format, text string) (*document, error) {
	d := &document{format: format, records: []any{}}
	if len(text) > maxTrees {
		d.records, d.lines = nil, text
	}
	for number, line := range recordLines(text) {
		d.count++
		if d.records == nil && isRecord(line) {
			continue
		}
		value, err := jsontree.Parse(line, maxDocumentDepth)
		var fault *jsontree.SyntaxError
		if errors.As(err, &fault) {
			return nil, formatError(id, "is no %s: line %d, column %d: %s", format, number, fault.Column, fault.What)
		}
		if d.records != nil {
			d.records = append(d.records, value)
		}
	}
	return d, nil
}

// isRecord reports whether a line is a record, without making its tree; of one that may be
// nested too deep it does not know.
func isRecord(line string) bool {
	return strings.Count(line, "[")+strings.Count(line, "{") <= maxDocumentDepth && json.Valid([]byte(line))
}

// Type is json or json5 for one document, jsonl (or ndjson, where the mark says so) for
// records.
func (q JSONQuestions) Type(ctx context.Context) (string, error) {
	value, err := q.ask(ctx, "type", nil, func(d *document) (any, error) { return d.format, nil })
	text, _ := value.(string)
	return text, err
}

// Length is the number of records, 1 for one document.
func (q JSONQuestions) Length(ctx context.Context) (int, error) {
	value, err := q.ask(ctx, "length", nil, func(d *document) (any, error) { return float64(d.count), nil })
	n, _ := value.(float64)
	return int(n), err
}

// Keys are those of the root object, or of all records that are objects in the order in
// which they appear; found is false where there is no object.
func (q JSONQuestions) Keys(ctx context.Context) (keys []string, found bool, err error) {
	value, err := q.keys(ctx)
	keys, err = texts(value, err)
	_, isNone := value.(none)
	return keys, err == nil && !isNone, err
}

func (q JSONQuestions) keys(ctx context.Context) (any, error) {
	return q.ask(ctx, "keys", nil, func(d *document) (any, error) {
		union, any := &jsontree.Object{}, false
		for record, err := range d.all() {
			if err != nil {
				return nil, formatError(q.a.media.ID(), "%s", err)
			}
			if o, is := record.(*jsontree.Object); is {
				any = true
				for name := range o.All() {
					union.Set(name, nil)
				}
			}
		}
		if !any {
			return none{}, nil
		}
		return textList(union.Keys()), nil
	})
}

func textList(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// Get gives what a path of RFC 9535 selects: in the document, or in all records, in
// order, as one list. A path that is none, and one that visits more than 1,000,000
// nodes, is E_ARTIFACT_FORMAT (ART-17).
func (q JSONQuestions) Get(ctx context.Context, path string) ([]json.RawMessage, error) {
	return raws(q.get(ctx, "get", path))
}

// Pluck is Get under the name that reads well for records.
func (q JSONQuestions) Pluck(ctx context.Context, path string) ([]json.RawMessage, error) {
	return raws(q.get(ctx, "pluck", path))
}

// Filter gives the records, or the one document, in which a path selects anything.
func (q JSONQuestions) Filter(ctx context.Context, path string) ([]json.RawMessage, error) {
	return raws(q.filter(ctx, path))
}

// Slice gives the records from one, counted from 0, to the one before another; nil is
// the first, and the end. One document is given whatever is asked.
func (q JSONQuestions) Slice(ctx context.Context, from, to *int) ([]json.RawMessage, error) {
	return raws(q.slice(ctx, from, to))
}

func (q JSONQuestions) get(ctx context.Context, method, path string) (any, error) {
	return q.matching(ctx, method, path, func(_ any, matches []any, out []any) []any { return append(out, matches...) })
}

func (q JSONQuestions) filter(ctx context.Context, path string) (any, error) {
	return q.matching(ctx, "filter", path, func(record any, matches []any, out []any) []any {
		if len(matches) > 0 {
			out = append(out, record)
		}
		return out
	})
}

func (q JSONQuestions) matching(ctx context.Context, method, path string, take func(record any, matches, out []any) []any) (any, error) {
	parsed, err := jsonpath.Parse(path)
	if err != nil {
		return nil, formatError(q.a.media.ID(), "the path is none of RFC 9535: %s", err)
	}
	return q.ask(ctx, method, map[string]any{"path": path}, func(d *document) (any, error) {
		out, budget := []any{}, &jsonpath.Budget{Nodes: maxVisited}
		for record, err := range d.all() {
			var matches []any
			if err == nil {
				matches, err = parsed.Select(record, budget)
			}
			if err != nil {
				return nil, formatError(q.a.media.ID(), "%s", err)
			}
			out = take(record, matches, out)
		}
		return out, nil
	})
}

func (q JSONQuestions) slice(ctx context.Context, from, to *int) (any, error) {
	args := map[string]any{}
	if from != nil {
		args["start"] = *from
	}
	if to != nil {
		args["end"] = *to
	}
	return q.ask(ctx, "slice", args, func(d *document) (any, error) {
		if d.single() {
			return d.records, nil
		}
		start, end := 0, d.count
		if from != nil {
			start = max(0, *from)
		}
		if to != nil {
			end = *to
		}
		chosen, i := []any{}, 0
		for record, err := range d.all() {
			switch {
			case err != nil:
				return nil, formatError(q.a.media.ID(), "%s", err)
			case i >= end:
				return chosen, nil
			case i >= start:
				chosen = append(chosen, record)
			}
			i++
		}
		return chosen, nil
	})
}

// raws are the items of a list, each as its JSON.
func raws(value any, err error) ([]json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	list, is := value.([]any)
	if !is {
		return nil, fmt.Errorf("the answer is %T and no list", value)
	}
	items := make([]json.RawMessage, len(list))
	for i, item := range list {
		items[i] = jsontree.Append(nil, item)
	}
	return items, nil
}
