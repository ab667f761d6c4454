package replay

import (
	"slices"

	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/withhold"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Where a recording is redacted, live code says again what was taken out of it. This file
// takes it out of the new run as well, before that is held against the recording: so no
// report can print it, whatever is made of it. What differs still differs, since what is
// withheld bears a kind of its own.

// hides reports whether something of the new run may be what the recording's redaction
// hides.
func (l Live) hides() bool { return l.any() && (l.Redact != nil || !l.unredacted) }

// isClear reports whether nothing was taken out of a recording. One that breaks off does
// not say.
func isClear(recorded *trace.Trace) bool {
	return recorded.Sealed && len(wire.RedactedNote(recorded.FooterExtra)) == 0
}

// withheld is the new run without what the recording's redaction hides; the run itself
// where it hides nothing.
func (r *replayed) withheld(options trace.Options) (*trace.Trace, error) {
	w, err := r.withholding()
	if err != nil {
		return nil, err
	}
	run, by, err := w.Left(r.trace, options)
	if err != nil || !w.Marked() && by == nil {
		return run, err
	}
	r.redaction = by
	if err := r.hold(w, r.trace, run); err != nil {
		return nil, err
	}
	if err := w.Learn(); err != nil {
		return nil, err
	}
	if !w.Found() {
		return run, nil
	}
	left := *run
	left.SetLines(slices.Clone(run.Lines()))
	if err := w.Replace(calls.Crossings(left.Lines())); err != nil {
		return nil, err
	}
	r.secrets = w.Secrets()
	shown, _, err := withhold.Redacted(&left, &redact.Rules{Patterns: r.secrets}, options)
	return shown, err
}

// withholding has read the recording.
func (r *replayed) withholding() (*withhold.Run, error) {
	return withhold.New(wire.Apart{Sentinels: r.known.Sentinels}, r.want.Lines, r.live.Turn, r.live.Redact, r.outcome.Own)
}

// hold puts a new run, of which the rules have left this, beside the recording.
func (r *replayed) hold(w *withhold.Run, run, left *trace.Trace) error {
	made := r.comparison // of its own: it is made again of what is left
	made.compare()
	return w.Hold(made.counterparts, calls.Crossings(r.outcome.IDs.Apply(run.Lines())), calls.Crossings(r.outcome.IDs.Apply(left.Lines())))
}

// unsecret is the new run as the rules leave it. It is an error where that still says what the
// recording has a placeholder for, or may say it in other words.
func (r *replayed) unsecret(options trace.Options) (*trace.Trace, error) {
	w, err := r.withholding()
	if err != nil {
		return nil, err
	}
	left, _, err := w.Left(r.trace, options)
	if err != nil || !w.Marked() {
		return left, err
	}
	if err := r.hold(w, r.trace, left); err != nil {
		return nil, err
	}
	return left, w.SaysSecret()
}

// withholdNames takes what is secret out of what a report does not have from the run that
// it shows: the names of live seams and their code, and a crossing that breaks the contract.
func (r *replayed) withholdNames(report *Report) {
	compiled, err := redacting.Compile(&redact.Rules{Patterns: r.secrets})
	if err != nil || len(r.secrets) == 0 && r.redaction == nil {
		return // wrong rules have made no report
	}
	hide := func(text *string) {
		if r.redaction != nil {
			*text = r.redaction.Text(*text)
		}
		*text = compiled.Text(*text)
	}
	hideAll := func(lists ...[]string) {
		for _, said := range lists {
			for i := range said {
				hide(&said[i])
			}
		}
	}
	hideAll(report.Live, report.Unreached, report.NotCompared)
	if d := report.Divergence; d != nil {
		hide(&d.Place)
		hide(&d.Written)
		hide(&d.Mark)
		hide(&d.Got)
		hide(&d.GoesOn)
		hideAll(d.Callers, d.Also, d.Waiting)
	}
}
