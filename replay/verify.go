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

// Verify runs the turn of a trace again on today's engine, with the seams in live as user code and
// every other seam doing what was recorded, and compares every crossing. Without live seams, the
// trace is read during the replay, and the replay stops at the first difference. With live seams,
// the trace is read first and the run goes on to its end. Where live code asks something else than
// was recorded, it gets the answer that was recorded in its place if that is a very similar
// request, or storage that only says that it has kept something (Live.Strict).
//
// A trace that cannot be read to its end is a *FormatError; the report has what was replayed before
// that. What live code does after the last line that could be read is not compared. The report is
// nil if the trace exceeds a limit of reading and there are live seams, because live code would
// otherwise run to its end for a part of the recording. Any other error means that nothing was
// replayed.
//
// Live code may wait for somebody outside, and Verify waits for it until ctx ends. The error then
// says which goroutines did not end and were left behind. A run whose strands wait for one another
// in a circle is left behind without that: the report says who waits for whom. Only one recording
// with strands is replayed against live code at a time, since what their strands wait for may be
// the same thing.
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

// callFor sets Place to the caller of Verify where the difference is in what the run was given.
func (d *Divergence) callFor(live Live) {
	if written.ByCaller(d.Place, d.Seam, live.any() && !d.Scripted) {
		d.Place = codeplace.Here(2).User().HandedIn() // above Verify
	}
}

// verifyScripted is Verify without live seams. The report says what follows from a divergence only
// if the trace can be read a second time.
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

// verifyLive is Verify with live seams: it makes the run again, records it, and compares the two
// recordings.
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

// otherwiseOrdered runs the turn again in other orders of what goes on at the same time, and
// returns the first run, with its report, that is as recorded. A trace does not show such orders,
// and one of them is the recorded one. Strands take their steps in the recorded order, so that each
// gets a lock, or one of a few places, when it got it then. Goroutines first run in whatever order
// comes about, and then with answers that were recorded close together the other way round. some is
// what may be run again.
//
// The result is nil if nothing goes on at the same time, or if every run differs from the
// recording. It is also nil if the runs differ from each other in something that no order explains,
// which d then says: a run of such code is as recorded by chance, unless it is so in each of
// several runs in one order (decides).
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
		run.live.only = "" // no other seam that is live has run
		return run, run.report()
	}
	ahead := 0
	if r.differsAhead(in) {
		ahead++
	}
	undecided := "" // what a run that was as recorded did otherwise than the first, perhaps by chance
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

// order is an order in which a turn is run again: whatever comes about, a given order of the steps
// of strands, or one in which some answers come late.
type order struct {
	byChance bool
	steps    []int
	late     map[int]int
}

// decides reports whether an order, and not chance, makes live code do as recorded: every one of a
// few more runs in that order must be as recorded. Goroutines must in addition do the same as in
// the first run whenever the order is not given. Strands have no order of their own to fall back to
// without it, so they are run in the given order more often instead.
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

// The limits of otherwiseOrdered: runsByChance is how often goroutines run in whatever order comes
// about; mostAhead is how many runs may differ before the goroutines have begun, which their order
// cannot explain, though that of a map can; runsToDecide and runsOfStrands are how many runs show
// that an order decides; and triedFor is how long a turn is run in other orders, since one that
// sleeps is not worth all of them.
const (
	runsByChance  = 2
	mostAhead     = 4
	runsToDecide  = 3
	runsOfStrands = 6
	triedFor      = 5 * time.Second
)

// isTooLarge reports whether a recording was not read to its end because of a limit. Live code does
// not know of limits: it would run to its end and be compared with a part.
func isTooLarge(unread error) bool {
	format, ok := errors.AsType[*trace.FormatError](unread)
	return ok && format.Fault == trace.FaultTooLarge
}

// ofItself checks the recording without any live code: with every seam scripted, the engine must
// play it again to the last crossing. A comparison with live seams ignores what live code may do
// differently, such as the order between strands; something that no engine can have recorded must
// not hide there. The check is not needed if the new run consists of exactly the recorded
// crossings, since an engine has just made them.
func ofItself(ctx context.Context, header trace.Header, lines []trace.Line, known *wire.Sentinels) (*Divergence, error) {
	report, err := play(ctx, header, &linesSource{lines}, known)
	if err != nil || report.Divergence == nil {
		return nil, err
	}
	report.Divergence.Scripted = true
	return report.Divergence, nil
}

// followed runs a trace once more to its end, and says what came of the crossings after a
// divergence; nil where it cannot.
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

// newerContract is the report on a trace that follows a newer revision of the contract than this
// engine knows; nil for any other. A replay would hold the engine to promises that it never made.
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
