package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/outlet"
	"github.com/adkreplay/adkreplay/replay/internal/rename"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Rerecord runs the turn of a trace again, as Verify does, and writes the trace of the new run:
// what today's engine, with the seams in live as user code, makes of what every other seam was
// recorded to do. The new trace is compressed if the recording was. The report says how the two
// differ. Where nothing differs, the new trace is the old one, byte for byte. Strands are in the
// recorded order where that still applies, however fast they were. The exception is what live code
// does in several strands at once that was not recorded, and that they share: it is in the order in
// which it happened.
//
// A request that differs from the recording is answered where the answer is certain all the same,
// and Report.Taken says where that was:
//
//   - A sleep takes as long as it says.
//   - Storage that is not live and only writes answers that it has written, as it did for the same
//     record in the same call, if it did nothing else meanwhile.
//   - A gate is settled as the one in its place was, if it is still open at that time.
//
// What is read, what a scripted tool returns and what the world answers depend on the request.
//
// What is written stands for the recording from then on, so it is written only if it is the same
// whenever it is run again. An error means that nothing was written, and says why:
//
//   - the recording cannot be read to its end, which is a *FormatError;
//   - the new run asked for what the recording has no answer to, which is ErrUnanswered;
//   - the recording holds what a new one would lose: members that this version does not know, or
//     redacted values where live seams say others and Live.Redact does not say what to remove from
//     them, or not all of it;
//   - the new trace itself diverges when it is verified with every seam scripted, or with the live
//     seams where it is harmless to run them again (Live.Twice).
//
// What the Live is given, such as a prompt with the time in it, is the same in the run and in its
// verification. To find such a difference, verify the new trace with a Live that was made afresh,
// as package golden does.
func Rerecord(ctx context.Context, recorded io.Reader, w io.Writer, live Live, options ...trace.Options) (*Report, error) {
	r, err := trace.NewReader(recorded, options...)
	if err != nil {
		return nil, err
	}
	again, err := rerecord(ctx, r, live)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	if _, err := again.trace.WriteTo(&content); err != nil {
		return nil, err
	}
	if err := again.steady(ctx, content.Bytes(), r.Options()); err != nil {
		return nil, err
	}
	report := again.report()
	report.Taken = again.lentAnswers()
	if report.Divergence != nil {
		report.Divergence.Trace = r.Options().File
	}
	return report, writeAs(r.Compressed(), w, content.Bytes())
}

// rerecord reads the trace and makes its run again.
func rerecord(ctx context.Context, r *trace.Reader, live Live) (*replayed, error) {
	known, _ := wire.NewSentinels(r.Options().Sentinels, r.Options().ErrorTypes) // checked by the reader
	if err := live.Check(); err != nil {
		return nil, err
	}
	if r.Header().Contract > trace.ContractRevision {
		return nil, fmt.Errorf("replay: the trace is of revision %d of the contract, which is newer than this engine's %d", r.Header().Contract, trace.ContractRevision)
	}
	recorded, err := r.Rest()
	if err != nil {
		return nil, err
	}
	if err := mayRerecord(recorded, live); err != nil {
		return nil, err
	}
	live.rerecords = true
	again, err := rerunWhole(ctx, calls.Of(recorded), known, live, r.Options())
	if err != nil {
		return nil, err
	}
	if err := again.answered(); err != nil {
		return nil, err
	}
	footer := recorded.FooterExtra
	if mayReveal(recorded, live) {
		if again.trace, err = again.unsecret(unlimited(r.Options())); err != nil {
			return nil, err
		}
		if mark := wire.RedactedNote; len(mark(footer)) > 0 || len(mark(again.trace.FooterExtra)) > 0 {
			footer = again.trace.FooterExtra
		}
	}
	if err := again.arrange(ctx, r.Options()); err != nil {
		return nil, err
	}
	again.trace.Header.Extra, again.trace.SeamsExtra = recorded.Header.Extra, recorded.SeamsExtra
	again.trace.FooterExtra = footer
	return again, nil
}

// arrange puts the crossings of the new run into an order that is the same whenever the run is
// made: the order of the recording where that still applies. The strands of the new run went
// freely, since live code may wait in ways that no crossing shows. So arrange makes the run once
// more, with every seam scripted and one step at a time.
func (r *replayed) arrange(ctx context.Context, options trace.Options) error {
	var content bytes.Buffer
	if _, err := r.trace.WriteTo(&content); err != nil {
		return err
	}
	options.File = ""
	in, err := trace.NewReader(&content, options)
	if err != nil {
		return err
	}
	made, err := in.Rest()
	if err != nil {
		return err
	}
	r.compare()
	tree := calls.Of(made)
	tree.Order, tree.Mixed = r.places(made.Lines()), slices.ContainsFunc(tree.Lines, r.callers.IsApart)
	arranged, err := rerunWhole(ctx, tree, r.known.Sentinels, Live{}, options)
	if err != nil {
		return err
	}
	if err := arranged.answered(); err != nil {
		return err
	}
	r.trace = arranged.trace
	got := describe.Of(calls.New(r.want.Version(), r.trace.Info, r.outcome.IDs.Apply(r.trace.Lines())))
	r.comparison = newComparison(r.known, r.live, r.want, got, r.callers)
	return nil
}

// places are the places of the new run's crossings in the recorded order: a crossing that was not
// recorded comes after the one before it in its strand. places also sets the recorded times. It
// clears the time of a crossing that was not recorded, and of a timer with another duration; the
// time that live code read stays.
func (r *replayed) places(lines []trace.Line) []int {
	counterparts := make([]*adk.Crossing, len(lines)+1)
	for i, seq := range r.counterparts {
		counterparts[seq] = r.want.Lines[i]
	}
	places, reached := make([]int, len(lines)+1), map[int]int{}
	was, is := calls.Durations(r.want.Lines), calls.Durations(calls.Crossings(lines))
	for i := range lines {
		x := &lines[i].Crossing
		var at time.Time
		if want := counterparts[x.Seq]; want != nil {
			at, reached[x.Strand] = want.At, want.Seq
			if wire.IsTimer(x) && is[x.N] != was[want.N] {
				at = time.Time{}
			}
		}
		if !wire.TellsTime(x) && !x.Kind.Reports() { // a report has its event's time
			x.At = at
		}
		places[x.Seq] = reached[x.Strand]
		if wire.Forks(x) {
			reached[x.ID] = reached[x.Strand]
		}
	}
	return places
}

// mayRerecord returns an error if a new recording in the place of this one would lose something.
func mayRerecord(t *trace.Trace, live Live) error {
	for i, line := range t.All() {
		if len(line.Extra) > 0 {
			return fmt.Errorf("replay: crossing %d has a member %q, which this version does not know and would lose", i+1, line.Extra[0].Name)
		}
	}
	if live.Redact == nil && mayReveal(t, live) {
		return errors.New("replay: it is redacted, and what live seams say is not: Live.Redact says what it was redacted by")
	}
	return nil
}

// mayReveal reports whether live seams may say something that a recording must not hold. They may
// also do so where nothing was removed from the recording, as they may say a secret only today.
func mayReveal(recorded *trace.Trace, live Live) bool {
	return live.any() && (live.Redact != nil || len(wire.RedactedNote(recorded.FooterExtra)) > 0)
}

// answered returns an error if the new run asked for something that the recording does not hold.
func (r *replayed) answered() error {
	asked, waitsFor := map[int]*adk.Crossing{}, map[string]*adk.Crossing{} // by operation, and by gate
	for _, x := range r.got.Lines {
		if x.Phase == adk.Begin {
			asked[x.Op] = x
		}
		if wire.AsksForGate(x) {
			waitsFor[x.Name] = x
		}
		if r.paired.Unanswered[x.ID] || r.paired.Unasked[x.Seq] || stub.Lacks(x.Err) || x.Phase == adk.Begin && r.outcome.Shared[x.Op] != nil {
			if x.Phase == adk.Done && asked[x.Op] != nil {
				x = asked[x.Op]
			}
			if gate := waitsFor[x.Name]; wire.IsSettlement(x) && gate != nil {
				x = gate
			}
			return stub.NoAnswer(fmt.Sprintf("replay: the recording has no answer for crossing %d of the new run: %s", x.Seq, safetext.Shortened(r.got.Line(x), width)))
		}
	}
	return nil
}

// lentAnswers has a line for each answer that went to an operation with other arguments. It
// contains none of the data.
func (r *replayed) lentAnswers() (all []string) {
	for _, s := range r.outcome.Lent {
		what := "the wait for gate " + calls.GateID(s.X)
		if !wire.AsksForGate(s.X) {
			what = strings.TrimSpace(s.Calls[0].Begin.Seam.String() + " " + rename.Subject(s.X))
		}
		all = append(all, fmt.Sprintf("answered from crossing %d of the recording, which asked otherwise: %s", s.X.Seq, safetext.Bare(what)))
	}
	return all
}

// steady verifies the new trace.
func (r *replayed) steady(ctx context.Context, content []byte, options trace.Options) error {
	seams, mine := []Live{{}}, r.live
	mine.rerecords = false // answers for changed gates must not be needed any more
	if mine.any() && mine.harmless() {
		seams = append(seams, mine)
	}
	for _, live := range seams {
		report, err := Verify(ctx, bytes.NewReader(content), live, options)
		if err != nil {
			return fmt.Errorf("replay: the new trace cannot be verified: %w", err)
		}
		if report.Divergence != nil {
			head, _, _ := strings.Cut(report.Divergence.String(), "\n")
			return fmt.Errorf("replay: the new trace would diverge too: %s", head)
		}
	}
	return nil
}

// writeAs writes a trace, compressed if the trace that it replaces was.
func writeAs(compressed bool, w io.Writer, content []byte) error {
	if !compressed {
		_, err := w.Write(content)
		return err
	}
	packed := trace.NewCompressor(outlet.Unclosed(w))
	_, err := packed.Write(content)
	return errors.Join(err, packed.Close())
}
