package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/serial"
	"github.com/adkreplay/adkreplay/replay/internal/ties"
	"github.com/adkreplay/adkreplay/replay/internal/withhold"
	"github.com/adkreplay/adkreplay/replay/internal/written"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Verify re-runs the turn that a trace holds on today's engine, with the seams
// in live as user code and every other seam doing what was recorded, and
// compares every crossing. Without live seams the trace is read as the replay
// goes on, and the replay stops at the first difference; with live ones it is
// read first and run to the end. What live code asks otherwise is answered by what
// was recorded in its place where that is a request much alike, or storage that
// only says that it has kept what it was given (Live.Strict).
//
// A trace that cannot be read to its end is a *FormatError; what was replayed
// before that is in the report, which is nil where live code would have been held against
// the part of a trace that is within the limits of reading. What live code does behind the
// last line that could be read is held against nothing. Any other error says that nothing was
// replayed.
//
// Live code may wait for somebody outside, and is waited for as long as ctx has not ended.
// When it has, the error says what of it did not come to an end, and was left behind. A run
// whose strands wait for one another in a circle is left behind without that: the report says
// who waits for whom. Recordings with strands are held against live code one at a time, since
// what their strands wait for may be one and the same.
func Verify(ctx context.Context, recorded io.Reader, live Live, options ...trace.Options) (*Report, error) {
	r, err := trace.NewReader(recorded, options...)
	if err != nil {
		return nil, err
	}
	known, _ := wire.NewSentinels(r.Options().Sentinels, r.Options().ErrorTypes) // checked by the reader
	report := newerContract(r.Header(), live)
	switch {
	case report != nil:
		err = r.Skip()
	case live.any():
		report, err = verifyLive(ctx, r, known, live)
	default:
		report, err = verifyScripted(ctx, recorded, r, known)
	}
	if report != nil && report.Divergence != nil {
		report.Divergence.Trace = r.Options().File
		report.Divergence.callFor(live)
	}
	if report != nil {
		notes := wire.RedactedNote(r.Footer())
		if len(notes) > 0 && live.any() {
			if notes = append(notes, withhold.NumbersInLogs); report.Divergence != nil {
				notes = append(notes, withhold.Counts)
			}
		}
		report.NotCompared = append(report.NotCompared, notes...)
	}
	if format, ok := errors.AsType[*trace.FormatError](err); ok && format.File == "" {
		format.File = r.Options().File
	}
	return report, err
}

// callFor says who called for the replay where what the run was given is to blame.
func (d *Divergence) callFor(live Live) {
	if written.ByCaller(d.Place, d.Seam, live.any() && !d.Scripted) {
		d.Place = codeplace.Here(2).User().HandedIn() // above Verify
	}
}

// verifyScripted is Verify without live seams. What follows from a divergence is
// told where the trace can be read once more.
func verifyScripted(ctx context.Context, recorded io.Reader, r *trace.Reader, known *wire.Sentinels) (*Report, error) {
	report, err := play(ctx, r.Header(), &readerSource{r: r}, known)
	if err != nil || report.Divergence == nil {
		return report, err
	}
	if err := r.Skip(); err != nil {
		return report, err
	}
	if again, ok := recorded.(io.Seeker); ok {
		report.Divergence.After = followed(ctx, recorded, again, r.Options(), known, report.Divergence)
	}
	return report, nil
}

// verifyLive is Verify with live seams: the run is made again, recorded, and the
// two recordings are held against each other.
func verifyLive(ctx context.Context, r *trace.Reader, known *wire.Sentinels, live Live) (*Report, error) {
	if err := live.Check(); err != nil {
		return nil, err
	}
	recorded, unread := r.Rest()
	if unread != nil && (recorded.Len() == 0 || isTooLarge(unread)) {
		return nil, unread
	}
	want := calls.Of(recorded)
	want.Cut = unread != nil
	if d := contract(want.Lines); d != nil {
		return &Report{Live: live.parts(), Divergence: d}, unread
	}
	live.unredacted = isClear(recorded)
	if len(want.Strands) > 1 {
		under, end := serial.Wait(ctx)
		defer end()
		ctx = under
	}
	again, err := rerun(ctx, want, known, live, r.Options())
	if err != nil {
		return &Report{Live: live.parts()}, err
	}
	report := again.report()
	if d := report.Divergence; d != nil && again.outcome.Endless == nil && len(again.found) > 0 {
		some, may := live.again(again.found[0].call)
		other, same := again.otherwiseOrdered(ctx, d, want, some, may, r.Options())
		switch {
		case same != nil:
			again, report = other, same
		case !may:
			live.Twice = true
			_, could := live.again(again.found[0].call)
			d.Once = d.isOfAnOrder() && could
			d.Writes = (d.isOfAnOrder() || d.isOfAResult()) && !could
		case d.Class != NonDeterministic:
			if err := again.repeat(d, func() (*replayed, error) { return rerun(ctx, want, known, some.anew(), r.Options()) }); err != nil {
				return nil, err
			}
		}
	}
	if report.Divergence != nil || unread != nil || again.isRecorded() {
		return report, unread
	}
	report.Divergence, err = ofItself(ctx, r.Header(), recorded.Lines(), known)
	return report, err
}

// otherwiseOrdered is the report of one more run that is as recorded, in another order of what goes
// on at once: none of those can be told from a trace, and one of them is the recorded one. Strands
// take their steps in the recorded order: where code of the user's waits at a lock, or for a place
// among a few, each has its turn when it had it. Goroutines come as chance has it, and then have the
// answers that came together the other way round. some is what may be run again. It is nil where
// nothing goes on at once, where all runs make a difference, and where they differ in what no order
// explains, which d says then: such a run is as recorded by chance, unless an order decides it.
func (r *replayed) otherwiseOrdered(ctx context.Context, d *Divergence, recorded *calls.Tree, some Live, may bool, options trace.Options) (*replayed, *Report) {
	if !may || some.only != "" && r.ranBeside(some.only) {
		return nil, nil
	}
	var orders []order
	if len(recorded.Strands) > 1 {
		for _, steps := range recorded.AsLate() {
			orders = append(orders, order{steps: steps})
		}
	}
	in := r.found[0].call
	if ties.AtOnce(r.pairs[in], r.callers.IsApart) {
		orders = append(orders, slices.Repeat([]order{{byChance: true}}, runsByChance)...)
		for _, late := range ties.Orders(in) {
			orders = append(orders, order{late: late})
		}
	}
	ordered := func(o order) (*replayed, *Report) {
		tree := *recorded
		tree.Order, some.late = o.steps, o.late
		run, err := rerun(ctx, &tree, r.known.Sentinels, some.anew(), options)
		if err != nil || run.outcome.Endless != nil {
			return nil, nil
		}
		run.live.only = "" // of all that is live nothing else has run
		return run, run.report()
	}
	ahead := 0
	if r.differsAhead(in) {
		ahead++
	}
	undecided := "" // what a run that was as recorded said otherwise than the first, by chance for all that is known
	for began, i := time.Now(), 0; i < len(orders) && ahead < mostAhead && time.Since(began) < triedFor; i++ {
		run, report := ordered(orders[i])
		if run == nil {
			continue
		}
		if run.differsAhead(in) {
			ahead++
		}
		came, same := r.unordered(run), report.Divergence == nil
		switch {
		case came != "" && orders[i].byChance:
			d.comesOtherwise(came)
			return nil, nil
		case same && (came == "" || r.decides(orders[i], ordered)):
			report.NotCompared = append(report.NotCompared, fmt.Sprintf("run 1 of today's code, which came in another order: run %d is as recorded", i+2))
			return run, report
		case same:
			undecided = cmp.Or(undecided, came)
		}
	}
	d.comesOtherwise(undecided)
	return nil, nil
}

// order is one in which a turn is run once more: that of chance, or of the steps of strands, or
// of answers of which some come late.
type order struct {
	byChance bool
	steps    []int
	late     map[int]int
}

// decides reports whether an order decides what live code does, and no chance: each of a few more
// runs in it is as recorded. Without it goroutines do each time what they did first; strands, whose
// steps nobody orders then, have no order of their own to come back to, and are run in it more often.
func (r *replayed) decides(o order, ordered func(order) (*replayed, *Report)) bool {
	ofStrands := o.steps != nil
	for i := 0; i < runsToDecide || ofStrands && i < runsOfStrands; i++ {
		if run, report := ordered(o); run == nil || report.Divergence != nil {
			return false
		}
		if ofStrands {
			continue
		}
		if run, _ := ordered(order{}); run == nil || r.unordered(run) != "" {
			return false
		}
	}
	return true
}

// runsByChance is how often goroutines are run again whose order is that of chance, mostAhead how many
// runs may differ before they have begun, in an order that they cannot have brought about, as that of a
// map, runsToDecide and runsOfStrands how many tell what an order decides from chance, and triedFor how
// long a turn is run in other orders: one that sleeps is not worth all of them.
const (
	runsByChance  = 2
	mostAhead     = 4
	runsToDecide  = 3
	runsOfStrands = 6
	triedFor      = 5 * time.Second
)

// isTooLarge reports whether a recording goes on behind where it was read to: live code, which
// does not know of limits, would be run to its end for a part of what it is held against.
func isTooLarge(unread error) bool {
	format, ok := errors.AsType[*trace.FormatError](unread)
	return ok && format.Fault == trace.FaultTooLarge
}

// ofItself is where a recording and the engine part without any live code: with
// every seam scripted it must play again to the crossing. A comparison with live
// seams leaves alone what live code may do otherwise, such as the order between
// strands; what no engine can have recorded must not hide there. Where a new run is
// nothing but the recorded crossings in their order, an engine has just made them.
func ofItself(ctx context.Context, header trace.Header, lines []trace.Line, known *wire.Sentinels) (*Divergence, error) {
	report, err := play(ctx, header, &linesSource{lines}, known)
	if err != nil || report.Divergence == nil {
		return nil, err
	}
	report.Divergence.Scripted = true
	return report.Divergence, nil
}

// followed runs a trace once more to its end, and tells what came of the
// crossings behind a divergence; nil where that cannot be told.
func followed(ctx context.Context, recorded io.Reader, rewind io.Seeker, options trace.Options, known *wire.Sentinels, d *Divergence) *Impact {
	if _, err := rewind.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	r, err := trace.NewReader(recorded, options)
	if err != nil {
		return nil
	}
	whole, err := r.Rest()
	if err != nil {
		return nil
	}
	again, err := rerun(ctx, calls.Of(whole), known, Live{}, options)
	if err != nil {
		return nil
	}
	again.compare()
	return again.behind(d.Crossing)
}

// newerContract is the report on a trace that was recorded under a revision of
// the contract which this engine does not know; nil for any other. Replaying it
// would hold the engine to promises that it never made.
func newerContract(h trace.Header, live Live) *Report {
	if h.Contract <= trace.ContractRevision {
		return nil
	}
	return &Report{Live: live.parts(), Divergence: &Divergence{
		Class:    NewContract,
		Expected: fmt.Sprintf("an engine that keeps revision %d of the contract", h.Contract),
		Fields:   []compare.FieldDiff{{Field: wire.MemberContract, Want: fmt.Sprint(h.Contract), Got: fmt.Sprint(trace.ContractRevision)}},
	}}
}
