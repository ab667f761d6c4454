package artifact

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk/artifact/internal/jsonindex"
	"github.com/adkreplay/adkreplay/adk/artifact/internal/jsonpath"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
)

// The limits of JSON questions (ART-17).
const (
	maxDocumentDepth = 500
	maxVisited       = 1_000_000
	maxDocument      = 512 << 20 // bytes; the index of a longer one would exceed a question's memory
	maxRewritten     = 16 << 20  // bytes of a body that has to be rewritten first: JSON5, invalid UTF-8
)

// document is a JSON body after reading: one value, or the records of its lines. It is not a tree,
// which would take many times the memory of the body.
type document struct {
	format string
	count  int // number of records; 1 for one document
	text   string
	index  *jsonindex.Document
}

// single reports whether the body is one document.
func (d *document) single() bool { return d.format == FormatJSON || d.format == FormatJSON5 }

// records yields the records in order.
func (d *document) records(yield func(jsonindex.Node) bool) {
	if d.single() {
		yield(d.index.At(0))
		return
	}
	for line := range recordLines(d.text) {
		if !yield(d.index.At(line.at)) {
			return
		}
	}
}

// recordLine is a line of a text.
type recordLine struct {
	number int // from 1
	at     int // the offset of its beginning
	text   string
}

// recordLines iterates over the lines of a text that are not blank.
func recordLines(text string) iter.Seq[recordLine] {
	return func(yield func(recordLine) bool) {
		l := recordLine{}
		for l.text = range strings.SplitSeq(text, "\n") {
			if l.number++; strings.TrimSpace(l.text) != "" && !yield(l) {
				return
			}
			l.at += len(l.text) + 1
		}
	}
}

// JSONQuestions asks questions to a JSON artifact. Values keep the order of their keys and the
// digits of their numbers (ART-16).
type JSONQuestions struct{ a *Artifact }

// JSON returns the JSON questions. The first question reads the body and finds its format (ART-15);
// a body in none of the formats is E_ARTIFACT_FORMAT.
func (a *Artifact) JSON() JSONQuestions { return JSONQuestions{a} }

// ask asks a question about the document, which is read once for an Artifact.
func (q JSONQuestions) ask(ctx context.Context, method string, args map[string]any, run func(d *document) (any, error)) (any, error) {
	return askRead(ctx, q.a, "json_"+method, args, &q.a.document, q.a.read, func(d *document) (any, error) { return d.ask(run) })
}

// askRead asks a question about a parsed body. The result of parsing is kept if the body is in
// memory; a large body is read again for each question, so that each question crosses.
func askRead[D any](ctx context.Context, a *Artifact, method string, args map[string]any, known **D, read func(context.Context, body) (*D, error), run func(*D) (any, error)) (any, error) {
	a.mu.Lock()
	found := *known
	a.mu.Unlock()
	if found != nil {
		answer, err := run(found)
		return answer, a.named(err)
	}
	return a.ask(ctx, method, args, func(ctx context.Context, b body) (any, error) {
		found, err := read(ctx, b)
		if err != nil {
			return nil, err
		}
		if _, inMemory := b.(memoryBody); inMemory {
			a.mu.Lock()
			*known = found
			a.mu.Unlock()
		}
		return run(found)
	})
}

// ask runs a question, and returns an error if it goes too far.
func (d *document) ask(run func(d *document) (any, error)) (answer any, err error) {
	defer jsonindex.Recover(&err)
	return run(d)
}

// read reads the body in the format of its mark or, without one, in the first format that fits.
func (a *Artifact) read(ctx context.Context, b body) (*document, error) {
	if b.size() > maxDocument {
		return nil, refuse(itsLines, "%d bytes, want at most %d for questions to JSON", b.size(), maxDocument)
	}
	data, err := all(ctx, b)
	if err != nil {
		return nil, err
	}
	if len(data) > maxRewritten && !utf8.Valid(data) {
		return nil, refuse(itsLines, "is no %s: it is not valid UTF-8", cmp.Or(a.mark.Format, FormatJSON))
	}
	return readDocument(ownText(data), a.mark.Format)
}

func readDocument(text, hint string) (*document, error) {
	switch hint {
	case FormatJSON:
		return strictly(text)
	case FormatJSON5:
		return loosely(text)
	case FormatJSONL, FormatNDJSON:
		return byLines(hint, text)
	}
	strict, err := strictly(text)
	if err == nil {
		return strict, nil
	}
	if strings.TrimSpace(text) != "" {
		if records, err := byLines(FormatJSONL, text); err == nil {
			return records, nil
		}
	}
	if len(text) <= maxRewritten {
		if loose, looseErr := loosely(text); looseErr == nil {
			return loose, nil
		}
	}
	return nil, err
}

func strictly(text string) (*document, error) {
	if err := jsontree.Check(text, maxDocumentDepth); err != nil {
		return nil, refuse(itsLines, "is no %s: %s", FormatJSON, err)
	}
	return &document{FormatJSON, 1, text, jsonindex.New(text)}, nil
}

func loosely(text string) (*document, error) {
	if len(text) > maxRewritten {
		return nil, refuse(itsLines, "%d bytes of JSON5, want at most %d", len(text), maxRewritten)
	}
	strict, err := jsontree.Strict(text, maxDocumentDepth)
	if err != nil {
		return nil, refuse(itsLines, "is no %s: %s", FormatJSON5, err)
	}
	return &document{FormatJSON5, 1, strict, jsonindex.New(strict)}, nil
}

// byLines reads a record from each line that is not blank.
func byLines(format, text string) (*document, error) {
	d := &document{format: format, text: text}
	for line := range recordLines(text) {
		d.count++
		if fault, ok := errors.AsType[*jsontree.SyntaxError](jsontree.Check(line.text, maxDocumentDepth)); ok {
			return nil, refuse(itsLines, "is no %s: line %d, column %d: %s", format, line.number, fault.Column, fault.What)
		}
	}
	d.index = jsonindex.New(text)
	return d, nil
}

// Type returns json or json5 for one document, and jsonl for records, or ndjson if the mark says
// so.
func (q JSONQuestions) Type(ctx context.Context) (string, error) {
	return valueOf[string](q.ask(ctx, "type", nil, func(d *document) (any, error) { return d.format, nil }))
}

// Length returns the number of records: 1 for one document, even if that is an array.
func (q JSONQuestions) Length(ctx context.Context) (int, error) {
	return valueOf[int](q.ask(ctx, "length", nil, func(d *document) (any, error) { return float64(d.count), nil }))
}

// Keys returns the keys of the root object, or those of all records that are objects, in order of
// first appearance. found is false if there is no object.
func (q JSONQuestions) Keys(ctx context.Context) (keys []string, found bool, err error) {
	value, err := q.keys(ctx)
	if _, isNone := value.(none); isNone {
		return nil, false, err
	}
	keys, err = listOf[string](value, err)
	return keys, err == nil, err
}

func (q JSONQuestions) keys(ctx context.Context) (any, error) {
	return q.ask(ctx, "keys", nil, func(d *document) (any, error) {
		union, met, isAny, walk := answerLines{}, map[string]bool{}, false, d.index.NewWalk(math.MaxInt)
		for record := range d.records {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			if !walk.IsObject(record) {
				continue
			}
			isAny = true
			for name := range walk.Members(record) {
				if met[name] {
					continue
				}
				met[name] = true
				if err := union.add(name); err != nil {
					return nil, err
				}
			}
		}
		if !isAny {
			return none{}, nil
		}
		return union.list, nil
	})
}

// Get returns what a path of RFC 9535 selects: in the document, or in all records in order, as one
// list. A wrong path, and one that visits more than 1,000,000 nodes, is E_ARTIFACT_FORMAT (ART-17).
func (q JSONQuestions) Get(ctx context.Context, path string) ([]json.RawMessage, error) {
	return raws(q.get(ctx, "get", path))
}

// Pluck is Get, under a name that suits records.
func (q JSONQuestions) Pluck(ctx context.Context, path string) ([]json.RawMessage, error) {
	return raws(q.get(ctx, "pluck", path))
}

// Filter returns the records, or the one document, in which a path selects anything. Elements of an
// array are not records; for them use Get with a path such as $[?@.price < 10].
func (q JSONQuestions) Filter(ctx context.Context, path string) ([]json.RawMessage, error) {
	return raws(q.filter(ctx, path))
}

// Slice returns the records from index from, counted from 0, up to but without index to; nil means
// the first, and the end. One document is returned whole in any case, even if it is an array; for
// some of its elements use Get with a path such as $[0:5].
func (q JSONQuestions) Slice(ctx context.Context, from, to *int) ([]json.RawMessage, error) {
	return raws(q.slice(ctx, from, to))
}

func (q JSONQuestions) get(ctx context.Context, method, path string) (any, error) {
	return q.matching(ctx, method, path, func(_ jsonindex.Node, matches []jsonindex.Node) []jsonindex.Node { return matches })
}

func (q JSONQuestions) filter(ctx context.Context, path string) (any, error) {
	return q.matching(ctx, "filter", path, func(record jsonindex.Node, matches []jsonindex.Node) []jsonindex.Node {
		return []jsonindex.Node{record}[:min(1, len(matches))]
	})
}

// matching returns a list of what take returns for each record and the nodes that a path selects in
// it.
func (q JSONQuestions) matching(ctx context.Context, method, path string, take func(record jsonindex.Node, matches []jsonindex.Node) []jsonindex.Node) (any, error) {
	parsed, err := jsonpath.Parse(path)
	if err != nil {
		return nil, q.a.named(refuse("", "the path is none of RFC 9535: %s", err))
	}
	return q.ask(ctx, method, map[string]any{"path": path}, func(d *document) (any, error) {
		out := answerValues{Walk: d.index.NewWalk(maxVisited)}
		selection := parsed.On(out.Walk)
		for record := range d.records {
			matches, err := selection.From(record)
			if err == nil {
				err = out.add(take(record, matches))
			}
			if err == nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				return nil, err
			}
		}
		return out.list(), nil
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
		start, end, i := 0, d.count, 0
		if from != nil && !d.single() {
			start = max(0, *from)
		}
		if to != nil && !d.single() {
			end = *to
		}
		chosen := answerValues{Walk: d.index.NewWalk(math.MaxInt)}
		for record := range d.records {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			if i >= end {
				break
			}
			if i >= start {
				if err := chosen.add([]jsonindex.Node{record}); err != nil {
					return nil, err
				}
			}
			i++
		}
		return chosen.list(), nil
	})
}
