package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	records []any
}

// single reports whether the body is one document.
func (d *document) single() bool { return d.format == FormatJSON || d.format == FormatJSON5 }

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
	return &document{format, []any{value}}, nil
}

// byLines reads a record from each line that is not blank.
func byLines(id, format, text string) (*document, error) {
	d := &document{format: format}
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		value, err := jsontree.Parse(line, maxDocumentDepth)
		var fault *jsontree.SyntaxError
		if errors.As(err, &fault) {
			return nil, formatError(id, "is no %s: line %d, column %d: %s", format, number, fault.Column, fault.What)
		}
		d.records = append(d.records, value)
	}
	return d, nil
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
	value, err := q.ask(ctx, "length", nil, func(d *document) (any, error) { return float64(len(d.records)), nil })
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
		for _, record := range d.records {
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
		for _, record := range d.records {
			matches, err := parsed.Select(record, budget)
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
		start, end := 0, len(d.records)
		if from != nil {
			start = max(0, min(end, *from))
		}
		if to != nil {
			end = max(start, min(end, *to))
		}
		return append([]any{}, d.records[start:end]...), nil
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
