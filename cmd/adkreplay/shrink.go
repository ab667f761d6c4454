package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wholefile"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// shrinkOptions say what to shrink, what to keep, and where the result goes.
type shrinkOptions struct {
	path string
	keep string // the name of a finding; if empty, the first one found
	file string // receives the Go test; if empty, only the transcript is printed
}

// examiner runs a turn and returns what is wrong with it. Tests replace it.
type examiner func(turn.Turn) []turn.Finding

func newShrink(t *terminal) *cobra.Command {
	var o shrinkOptions
	cmd := &cobra.Command{
		Use:   "shrink file",
		Short: "Reduce a turn that goes wrong to the shortest that still does",
		Long: `shrink translates a trace into a turn, runs that on today's engine, and takes
away whatever can go while the turn still shows the same violation or
divergence. It prints the transcript of what is left; with -o it writes it as a
Go test.

--keep names what is to be kept: an invariant as check names it, a class of
divergence as verify names it, unsteady for a turn that two runs of make two
traces, or untrue for one in which a caller was answered otherwise than the
trace says. Without it the first that is found is kept. A turn that shows nothing
of it when it is run again, because only the engine that recorded it did, cannot
be shrunk; where the trace diverges, shrink says so and ends with 1.
` + exits("nothing is wrong with the turn", "it was shrunk: what is left still goes wrong; or the trace diverges, and its turn cannot be shrunk", traceWords, ", a turn that shows nothing of what --keep names"),
		Example: "  adkreplay shrink turn.jsonl\n  adkreplay shrink turn.jsonl --keep turn-bounds -o lost_test.go",
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := parseShrink(o, args)
			if err != nil {
				return misused(cmd, err)
			}
			return runShrink(cmd.Context(), t, o, turn.CheckTurn)
		},
	}
	cmd.Flags().Var(oneOf{&o.keep, "violation or divergence", keepable()}, "keep", "keep the violation or divergence of this `name`")
	cmd.Flags().StringVarP(&o.file, "output", "o", "", "write the turn as a Go test to this `file`")
	return cmd
}

func parseShrink(o shrinkOptions, args []string) (shrinkOptions, error) {
	switch {
	case len(args) != 1:
		return shrinkOptions{}, fmt.Errorf("shrink takes one file, and got %d", len(args))
	case o.file != "" && !strings.HasSuffix(o.file, "_test.go"):
		return shrinkOptions{}, fmt.Errorf("-o %s: the name of a Go test ends in _test.go", safetext.Line(o.file))
	}
	o.path = args[0]
	return o, checkFiles(args)
}

// keepable returns the names of everything that can be wrong with a turn.
func keepable() []string {
	return slices.Concat([]string{turn.Unrecorded, turn.Untrue, turn.Unsteady},
		safetext.Each(property.Invariants(), func(i property.Invariant) string { return i.Name }),
		safetext.Each(replay.Classes(), func(c replay.Class) string { return string(c) }))
}

func runShrink(ctx context.Context, t *terminal, o shrinkOptions, findings examiner) error {
	defer t.busy("shrinking " + o.path)()
	recorded, one, err := readTurn(ctx, t, file(ctx, o.path))
	if err != nil {
		return err
	}
	found := findings(one)
	kept, err := chosen(o, found)
	if err == nil && kept == "" {
		err = nothingToShrink(ctx, t, recorded)
	}
	if err != nil || kept == "" {
		return err
	}
	small, stats := shrink.Shrink(one, func(one turn.Turn) bool {
		return ctx.Err() == nil && slices.Contains(names(findings(one)), kept)
	})
	if ctx.Err() != nil {
		return internal(errors.New("interrupted: nothing was shrunk"))
	}
	return printShrunk(t, o, kept, one, small, stats)
}

// nothingToShrink handles a trace whose turn shows nothing wrong. It says so, but fails if the
// trace itself diverges: another engine recorded it, or a person edited it, and a new run does not
// repeat that.
func nothingToShrink(ctx context.Context, t *terminal, recorded *trace.Trace) error {
	var content bytes.Buffer
	if _, err := recorded.WriteTo(&content); err != nil {
		return internal(err)
	}
	name := recorded.Options().File
	report, err := replay.Verify(ctx, &content, replay.Live{}, recorded.Options())
	switch {
	case ctx.Err() != nil:
		return internal(errors.New("interrupted: nothing was shrunk"))
	case err != nil:
		return unreadable(errors.New(safetext.OfFile(name, err)))
	case report.Divergence != nil:
		t.judged(red, "divergence", fmt.Sprintf("%s: the trace diverges, %s at crossing %d, which adkreplay verify shows; run again on today's engine, "+
			"the turn shows nothing that is wrong, and cannot be shrunk", safetext.Line(name), report.Divergence.Class, report.Divergence.Crossing))
		return ended(exitDivergence)
	}
	t.judged(green, "same", safetext.Line(name)+": the turn keeps all invariants, and replays as it ran: there is nothing to shrink")
	return nil
}

// readTurn reads a trace, and translates it into a turn.
func readTurn(ctx context.Context, t *terminal, recorded traceFile) (*trace.Trace, turn.Turn, error) {
	f, err := recorded.open()
	if err != nil {
		return nil, turn.Turn{}, unreadable(err)
	}
	defer f.Close()
	read, err := trace.Read(interruptible{ctx, f}, t.holding(recorded, 4))
	switch {
	case ctx.Err() != nil:
		return nil, turn.Turn{}, internal(errors.New("interrupted"))
	case err != nil:
		return nil, turn.Turn{}, unreadable(errors.New(safetext.OfFile(recorded.name, err)))
	}
	one, err := shrink.TurnOf(read)
	if err == nil {
		err = refused(one, recorded.name)
	}
	if err != nil {
		return nil, turn.Turn{}, unreadable(errors.New(safetext.OfFile(recorded.name, err)))
	}
	return read, one, nil
}

// refused returns an error if the engine does not even begin the turn of a file.
func refused(one turn.Turn, file string) error {
	made, refused, err := one.Trace()
	if err == nil && len(made) == 0 {
		return &trace.FormatError{File: file, Line: calls.LineOfFirst, Fault: trace.FaultImpossible, Reason: "it describes a run that cannot be made: " + refused.Error()}
	}
	return err
}

// chosen returns the name of the finding to keep, or "" if nothing is wrong.
func chosen(o shrinkOptions, found []turn.Finding) (string, error) {
	all := names(found)
	switch {
	case o.keep == "" && len(all) == 0:
		return "", nil
	case o.keep == "":
		return all[0], nil
	case slices.Contains(all, o.keep):
		return o.keep, nil
	case len(all) == 0:
		return "", internal(fmt.Errorf("%s: run again on today's engine, the turn shows no %q, nor anything else that is wrong", safetext.Line(o.path), o.keep))
	}
	return "", internal(fmt.Errorf("%s: run again on today's engine, the turn shows no %q; it shows %s", safetext.Line(o.path), o.keep, strings.Join(all, ", ")))
}

// names returns the names of findings, each once.
func names(findings []turn.Finding) []string {
	var all []string
	for _, f := range findings {
		if !slices.Contains(all, f.Name) {
			all = append(all, f.Name)
		}
	}
	return all
}

func printShrunk(t *terminal, o shrinkOptions, kept string, one, small turn.Turn, stats shrink.Stats) error {
	if o.file != "" {
		if err := writeGo(o.file, small); err != nil {
			return err
		}
	}
	trace, _, err := small.Trace()
	if err != nil {
		return internal(err)
	}
	t.judged(red, "shrunk", fmt.Sprintf("%s: %s, from %s to %d, of %s tried", safetext.Line(o.path), kept,
		safetext.Counted(one.Operations(), "operation"), small.Operations(), safetext.Counted(stats.Tried, "turn")))
	if err := transcript.Write(t.page, bytes.NewReader(trace)); err != nil && t.out.err == nil {
		return internal(err)
	}
	return ended(exitFound)
}

// writeGo writes a turn as a Go test, in a package named after its folder.
func writeGo(path string, one turn.Turn) error {
	var source bytes.Buffer
	if err := shrink.WriteScenario(&source, packageOf(path), testName(path), one); err != nil {
		return internal(err)
	}
	if err := wholefile.Write(path, source.Bytes()); err != nil {
		return internal(fmt.Errorf("%s: the test cannot be written: %w", safetext.Line(path), withoutPath(err)))
	}
	return nil
}

// packageOf returns the name of a test's package, derived from the folder of the file.
func packageOf(path string) string {
	name := "shrunk"
	if folder, err := filepath.Abs(filepath.Dir(path)); err == nil {
		name = strings.ToLower(joinedLetters(filepath.Base(folder), "shrunk"))
	}
	return name + "_test"
}

// testName returns the name of a test, derived from the name of its file: LostMessage for
// lost_message_test.go.
func testName(path string) string {
	var name strings.Builder
	words := strings.FieldsFunc(strings.TrimSuffix(filepath.Base(path), "_test.go"), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	for _, word := range words {
		letters := joinedLetters(word, "")
		if letters != "" {
			name.WriteString(strings.ToUpper(letters[:1]) + letters[1:])
		}
	}
	if name.Len() == 0 {
		return "Shrunk"
	}
	return name.String()
}

// joinedLetters removes from a text what no Go name can contain. It puts usual before the rest if
// that is empty or begins with a digit.
func joinedLetters(text, usual string) string {
	letters := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return r
	}, text)
	if letters == "" || unicode.IsDigit(rune(letters[0])) {
		return usual + letters
	}
	return letters
}
