package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/fakes/cassette"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wholefile"
)

// importOptions say what to read, and where the conversation goes.
type importOptions struct {
	recording, answers string // answers is for a batch, and otherwise empty
	file               string
}

func newImport(t *terminal) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import recording [answers]",
		Short: "Write what others have recorded of a provider as a conversation",
		Long: `import reads what somebody else has recorded of a provider, and writes it as the
conversation that fakes.ReadConversation reads and fakes.NewProvider and
fakes.NewTransport serve. A turn that runs over it can be recorded then.

It knows go-vcr (all versions), VCR, betamax and VCR.py, httprr, HAR, and its own
form, each also compressed by gzip; with a second file the requests and the
answers of a batch of OpenAI's. Headers that hold secrets are left out; bodies
stay as they were, so the conversation is as private as the recording.

What is no recording is refused as a whole, with the place; requests of a HAR
that nobody answered or whose bodies it has not kept, and its WebSockets, are
left out and told. Spans of OpenTelemetry hold no requests of which a conversation
could be made: view and stats read them as they are.
` + exits("the conversation is written", "", "a recording that cannot be read, or is none", ""),
		Example: "  adkreplay import fixtures/weather.yaml -o weather.json\n  adkreplay import requests.jsonl answers.jsonl >batch.json\n  adkreplay import - <session.har",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(args); err != nil {
				return misused(cmd, err)
			}
			return runImport(cmd.Context(), t, o)
		},
	}
	cmd.Flags().StringVarP(&o.file, "output", "o", stdout, "write the conversation to this `file`; - is the standard output")
	return cmd
}

func (o *importOptions) parse(args []string) error {
	switch {
	case len(args) == 0 || len(args) > 2:
		return fmt.Errorf("import takes a recording, or the two files of a batch, and got %d arguments", len(args))
	}
	o.recording = args[0]
	if len(args) == 2 {
		o.answers = args[1]
	}
	return checkFiles(args)
}

func runImport(ctx context.Context, t *terminal, o importOptions) error {
	recording, err := readRecording(ctx, o)
	if err != nil {
		return unreadable(err)
	}
	return writeConversation(t, recording, o.recording, o.file)
}

// writeConversation writes what was read from one file to another.
func writeConversation(t *terminal, recording *cassette.Recording, from, to string) error {
	for _, left := range recording.Left {
		t.warn(safetext.Line(from) + ": left out: " + safetext.Line(left))
	}
	content, err := json.MarshalIndent(recording.Conversation, "", "  ")
	if err != nil {
		return internal(err)
	}
	content = append(safetext.JSON(content), '\n')
	if to == stdout {
		_, err = t.out.Write(content)
		return err
	}
	write := func() error { return wholefile.WriteBeside(to, content, from) }
	if from == stdin {
		write = func() error { return wholefile.Write(to, content) }
	}
	if err := write(); err != nil {
		return internal(fmt.Errorf("%s: the conversation cannot be written: %w", safetext.Line(to), withoutPath(err)))
	}
	left := ""
	if recording.Secrets > 0 {
		left = fmt.Sprintf(", %s left out", safetext.Counted(recording.Secrets, "secret"))
	}
	t.printf("%s: %s of %s%s", safetext.Line(to), safetext.Counted(len(recording.Interactions), "interaction"), recording.Form, left)
	return nil
}

func readRecording(ctx context.Context, o importOptions) (*cassette.Recording, error) {
	recording, err := readWhole(ctx, o.recording)
	if err != nil {
		return nil, err
	}
	if o.answers == "" {
		return cassette.Read(safetext.Line(o.recording), recording)
	}
	answers, err := readWhole(ctx, o.answers)
	if err != nil {
		return nil, err
	}
	return cassette.ReadBatch(safetext.Line(o.recording), recording, answers)
}

// readWhole reads a file, or the standard input, up to one byte more than a recording may have. The
// extra byte lets the code that parses it report that it is too large.
func readWhole(ctx context.Context, path string) (io.Reader, error) {
	if err := noFolder(path, "a recording"); err != nil {
		return nil, err
	}
	recording, err := file(ctx, path).open()
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(recording, cassette.MostBytes+1))
	if err := errors.Join(err, recording.Close()); err != nil {
		return nil, fileError(path, err)
	}
	if spansForm.Match(content) {
		return nil, fmt.Errorf("%s: these are spans of OpenTelemetry, and no conversation can be made of them: adkreplay view and stats read them as they are", safetext.Line(path))
	}
	return bytes.NewReader(content), nil
}
