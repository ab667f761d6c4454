package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/adkreplay/adkreplay/internal/otlp"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// spansHelp is the help of commands that also read spans.
const spansHelp = `
A file may be the JSON of OTLP too, as collectors of OpenTelemetry write it, of any
tool that follows the conventions for generative AI: each agent in it is a turn,
with its asks, its tools, tokens and times. Logs and metrics between spans are passed
over. What spans do not say is missing: states, records, iterations, gates, and what
was said unless they hold content.
`

// spansForm matches the beginning of OTLP JSON: spans, or another signal before them.
var spansForm = regexp.MustCompile(`^\s*\{\s*"resource(Spans|Logs|Metrics|Profiles)"`)

// mostSpans is the maximum size of a file of spans, in bytes.
const mostSpans = 256 << 20

// withSpans replaces each file of spans by the turns in it, and says what such a file lacks.
func withSpans(t *terminal, found []corpus.Source) (sources []corpus.Source) {
	for _, source := range found {
		sources = append(sources, turnsIn(t, source)...)
	}
	return sources
}

// turnsIn returns a source unchanged, or, if it has spans, the turns in it.
func turnsIn(t *terminal, source corpus.Source) []corpus.Source {
	content, isSpans, err := peeked(source)
	if err != nil { // reading the source reports the error
		return []corpus.Source{source}
	}
	if !isSpans {
		if source.Name == stdin { // it can be read only once
			source.Open = func() (io.ReadCloser, error) { return content, nil }
			return []corpus.Source{source}
		}
		_ = content.Close() // only read from
		return []corpus.Source{source}
	}
	defer content.Close()
	turns, left, err := readTurns(content)
	if err != nil {
		source.Open = func() (io.ReadCloser, error) { return nil, errors.New(safetext.Line(source.Name) + ": " + err.Error()) }
		return []corpus.Source{source}
	}
	words := fmt.Sprintf("%s: %s of spans, which do not say what the engine did or held", safetext.Line(source.Name), safetext.Counted(len(turns), "turn"))
	if left > 0 {
		words += fmt.Sprintf("; %s of something else left out", safetext.Counted(left, "span"))
	}
	t.warn(words)
	var sources []corpus.Source
	for _, turn := range turns {
		sources = append(sources, corpus.Source{Name: source.Name + " " + turn.Name, Size: int64(len(turn.Trace)),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(turn.Trace)), nil }})
	}
	return sources
}

func readTurns(content io.Reader) (turns []otlp.Turn, left int, err error) {
	limited := &io.LimitedReader{R: content, N: mostSpans + 1}
	document, err := otlp.Read(limited)
	if limited.N == 0 {
		return nil, 0, fmt.Errorf("it has more than %d MB of spans: give fewer at once", mostSpans>>20)
	}
	if err != nil {
		return nil, 0, err
	}
	turns, left, err = document.Turns()
	if err == nil && len(turns) == 0 {
		err = errors.New("none of its spans is of an agent, a model or a tool: want attributes gen_ai.operation.name")
	}
	return turns, left, err
}

// peeked opens a source and reports whether it has spans.
func peeked(source corpus.Source) (content io.ReadCloser, isSpans bool, err error) {
	in, err := source.Open()
	if err != nil {
		return nil, false, err
	}
	buffered := bufio.NewReader(in)
	head, _ := buffered.Peek(512) // a shorter file is checked too
	return readCloser{buffered, in}, spansForm.Match(head), nil
}
