package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/fakes/cassette"
	"github.com/adkreplay/adkreplay/internal/otlp"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/spans"
	"github.com/adkreplay/adkreplay/internal/wholefile"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// exportOptions say which traces to read, what to export, and to which file: the conversation of
// one trace, or the spans of any number.
type exportOptions struct {
	paths       []string
	file        string
	of          []string // names of who was asked; empty means all
	spans       bool
	spanOptions spans.Options
}

func newExport(t *terminal) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export trace | --otlp file|folder ...",
		Short: "Write what a trace holds of a provider, or its spans",
		Long: `export writes what a turn asked over HTTP, and what it was answered, as the
conversation that fakes.ReadConversation reads and fakes.NewProvider and
fakes.NewTransport serve: an agent of another prompt, or of another language,
can be run over it.

Status, headers and the bytes of bodies are those that the trace holds. What it
does not hold, because it was cut off, redacted or too long, is refused with its
crossing, and nothing is written. What was asked otherwise than over HTTP is left
out. The conversation is as private as the trace.

With --otlp it writes the spans of any number of traces instead, as one document
in the JSON of OTLP, which viewers and collectors of OpenTelemetry take: by the
conventions for generative AI a span for each agent, for each time that a model is
asked, and for each execution of a tool. They are the ones that package replay/otel
makes while a turn runs, but for their ids, which are made of what the trace says.
What was said is left out unless --content is given. Of a trace that breaks off it
writes the spans that there are, and fails. With --events the conventions' event of
each time that a model was asked stands beside them: as log records, on a second
line, since a line is of one signal. Receivers take the one at /v1/traces and the
other at /v1/logs.
` + exits("it is written", "nothing was asked over HTTP, or not of those that --of names: nothing is written", traceWords+"; or one that lacks what was answered", ""),
		Example: `  adkreplay export testdata/turns/oslo.jsonl -o oslo.json
  adkreplay export --of api.openai.com turn.jsonl >model.json
  adkreplay export --otlp testdata/turns -o spans.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(args); err != nil {
				return misused(cmd, err)
			}
			if o.spans {
				return exportSpans(cmd.Context(), t, o)
			}
			return runExport(cmd.Context(), t, o)
		},
	}
	cmd.Flags().StringVarP(&o.file, "output", "o", stdout, "write to this `file`; - is the standard output")
	cmd.Flags().StringArrayVar(&o.of, "of", nil, "what this `name` was asked alone, as the trace names it; may be repeated")
	cmd.Flags().BoolVar(&o.spans, "otlp", false, "write the spans of traces, in the JSON of OTLP")
	cmd.Flags().BoolVar(&o.spanOptions.Content, "content", false, "with --otlp: have spans hold what was said")
	cmd.Flags().BoolVar(&o.spanOptions.Events, "events", false, "with --otlp: write the events of asks too, as log records")
	cmd.Flags().StringVar(&o.spanOptions.Agent, "agent", "", "with --otlp: the `name` of the agent, as spans say it")
	return cmd
}

func (o *exportOptions) parse(args []string) error {
	o.paths = args
	switch {
	case o.spans && len(args) == 0:
		return errors.New("export --otlp takes traces, and got none")
	case o.spans && len(o.of) > 0:
		return errors.New("--of is of conversations: leave it or --otlp out")
	case !o.spans && o.spanOptions != (spans.Options{}):
		return errors.New("--content, --events and --agent are of spans: give --otlp too")
	case !o.spans && len(args) != 1:
		return fmt.Errorf("export takes one trace, and got %d arguments", len(args))
	case corpus.IsTrace(o.file):
		return fmt.Errorf("--output writes no trace, and %s is the name of one: give another name", safetext.Line(o.file))
	}
	return checkFiles(args)
}

func runExport(ctx context.Context, t *terminal, o exportOptions) error {
	f := file(ctx, o.paths[0])
	in, err := f.open()
	if err != nil {
		return unreadable(err)
	}
	defer in.Close()
	recording, err := cassette.ReadTrace(in, t.reading(f), o.of...)
	if errors.Is(err, cassette.ErrNoExchanges) {
		return &exitError{exitFound, safetext.WithoutPackage(err)}
	}
	if err != nil {
		return unreadable(err)
	}
	return writeConversation(t, recording, o.paths[0], o.file)
}

// exportSpans writes the spans of all traces. Traces that break off contribute the spans that they
// have.
func exportSpans(ctx context.Context, t *terminal, o exportOptions) error {
	sources := t.findTraces(ctx, o.paths)
	all, unread := otlp.Exported{Spans: []otlp.Span{}}, 0
	for i, source := range sources {
		t.step(i, len(sources), source.Name)
		found, err := spansOf(source, t.limits, o.spanOptions)
		if ctx.Err() != nil {
			return internal(fmt.Errorf("interrupted: %d of %s were read, and nothing is written", i, safetext.Counted(len(sources), "trace")))
		}
		if err != nil {
			t.warn(safetext.OfFile(source.Name, err))
			unread++
		}
		all.Add(found)
	}
	var content bytes.Buffer
	if err := all.Document().Write(&content); err != nil {
		return internal(err)
	}
	t.clear()
	if err := writeSpans(t, o, sources, safetext.JSON(content.Bytes())); err != nil {
		return err
	}
	if o.file != stdout {
		told := safetext.Counted(len(all.Spans), "span")
		if o.spanOptions.Events {
			told += " and " + safetext.Counted(len(all.Events), "event")
		}
		t.printf("%s: %s of %s", safetext.Line(o.file), told, safetext.Counted(len(sources), "trace"))
	}
	if unread > 0 {
		return &exitError{code: exitUnreadable}
	}
	return nil
}

func spansOf(source corpus.Source, reading trace.Options, o spans.Options) (otlp.Exported, error) {
	content, err := source.Open()
	if err != nil {
		return otlp.Exported{}, err
	}
	defer content.Close()
	reading.File = source.Name
	return otlp.Export(content, reading, o)
}

// writeSpans writes a document of spans. The file gets permissions that only allow people to read
// it who may read every trace.
func writeSpans(t *terminal, o exportOptions, sources []corpus.Source, content []byte) error {
	if o.file == stdout {
		_, err := t.out.Write(content)
		return err
	}
	var names []string
	for _, source := range sources {
		names = append(names, source.Name)
	}
	if err := wholefile.WriteOf(o.file, content, names); err != nil {
		return internal(fmt.Errorf("%s: the spans cannot be written: %w", safetext.Line(o.file), withoutPath(err)))
	}
	return nil
}
