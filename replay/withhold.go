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

// Where a recording is redacted, live code says again what was removed from it. This file removes
// it from the new run as well, before the run is compared with the recording, so that no report can
// print it. What differs still differs, because what is withheld gets a kind of its own.

// hides reports whether the new run may say something that the recording's redaction hides.
func (l Live) hides() bool { return l.any() && (l.Redact != nil || !l.unredacted) }

// isClear reports whether nothing was removed from a recording. A recording that breaks off does
// not say.
func isClear(recorded *trace.Trace) bool {
	return recorded.Sealed && len(wire.RedactedNote(recorded.FooterExtra)) == 0
}

// withheld is the new run without what the recording's redaction hides; the run itself if it hides
// nothing.
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

// withholding prepares the removal by reading the recording.
func (r *replayed) withholding() (*withhold.Run, error) {
	return withhold.New(wire.Apart{Sentinels: r.known.Sentinels}, r.want.Lines, r.live.Turn, r.live.Redact, r.outcome.Own)
}

// hold compares a new run with the recording, to find what is in the place of its placeholders.
// left is what the rules have left of the run.
func (r *replayed) hold(w *withhold.Run, run, left *trace.Trace) error {
	made := r.comparison // a copy: the comparison is made again without the secrets
	made.compare()
	return w.Hold(made.counterparts, calls.Crossings(r.outcome.IDs.Apply(run.Lines())), calls.Crossings(r.outcome.IDs.Apply(left.Lines())))
}

// unsecret is the new run after redaction by the rules. It is an error if the run still says
// something for which the recording has a placeholder, or may say it in other words.
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

// withholdNames removes secrets from those parts of a report that do not come from the run that it
// shows: the names of live seams, places in code, and a crossing that breaks the contract.
func (r *replayed) withholdNames(report *Report) {
	compiled, err := redacting.Compile(&redact.Rules{Patterns: r.secrets})
	if err != nil || len(r.secrets) == 0 && r.redaction == nil {
		return // wrong rules have been reported before
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
