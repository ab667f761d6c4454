package golden

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/adkreplay/adkreplay/replay"
)

// Traces verifies the recorded turns in a folder, relative to the test's: every
// file below it whose name ends in .jsonl. live gives the live seams for each, by
// its path, as for replay.VerifyAll; nil scripts every seam. The check fails with
// the report, in which one cause is one entry.
//
// With -update and a reason in ADKREPLAY_REASON, what diverges is accepted: the
// trace is what today's code makes of the recorded turn, and the reason is kept
// beside it. See replay.Rerecord for what cannot be accepted; that fails the
// check, and keeps nothing else from being accepted.
func Traces(t TB, dir string, live func(name string) replay.Live, options ...replay.CorpusOptions) {
	t.Helper()
	c := corpusCheck{t: t, dir: dir, live: live}
	if len(options) > 0 {
		c.options = options[0]
	}
	c.verify(context.Background())
}

// corpusCheck is a check of many traces under way.
type corpusCheck struct {
	t       TB
	dir     string
	live    func(name string) replay.Live
	options replay.CorpusOptions
}

func (c corpusCheck) verify(ctx context.Context) {
	c.t.Helper()
	sources, err := replay.Sources(os.DirFS(c.dir))
	if err != nil {
		c.fail("%s: %v", c.dir, err)
		return
	}
	for i := range sources { // whichever shard this is, it is of all of them
		sources[i].Name = filepath.Join(c.dir, filepath.FromSlash(sources[i].Name))
		Claim(c.t, sources[i].Name)
	}
	report, err := replay.VerifyAll(ctx, sources, c.live, c.options)
	switch {
	case err != nil:
		c.fail("%v", err)
	case report.Err() == nil:
	case !updating() || report.Divergent == 0:
		c.t.Errorf("golden: %s: %s%s", c.dir, report, c.advice(report))
	case replay.InCI(os.Getenv):
		c.fail("%s", refusedInCI)
	default:
		c.accept(ctx, report)
	}
}

// accept accepts what diverged, and fails for what cannot be accepted.
func (c corpusCheck) accept(ctx context.Context, report *replay.CorpusReport) {
	c.t.Helper()
	acceptance := acceptance(c.t, c.dir+": "+report.String())
	if acceptance == nil {
		return
	}
	for _, result := range report.Accept(ctx, acceptance, c.live, c.options.Reading) {
		if result.Refused != nil {
			c.t.Errorf("golden: %s is not accepted: %s", result.Trace, strings.TrimPrefix(result.Refused.Error(), "replay: "))
		}
	}
	if report.Unreadable > 0 {
		c.t.Errorf("golden: %s: %d traces could not be read", c.dir, report.Unreadable)
	}
}

// advice says how to accept what diverged.
func (c corpusCheck) advice(report *replay.CorpusReport) string {
	if report.Divergent == 0 {
		return ""
	}
	return "If this is as it should be, this accepts it:\n  " + withReason(c.t)
}

func (c corpusCheck) fail(format string, args ...any) {
	c.t.Helper()
	check{t: c.t}.fail(format, args...)
}
