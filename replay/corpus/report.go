package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/internal/jsonfault"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/shell"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay"
)

// Format is the version of the JSON of a Report. It changes when a
// member changes its meaning or goes; members may be added without.
const Format = 1

// Report is what a verification of many traces found. Its JSON is written
// by WriteJSON and read by ReadReport.
type Report struct {
	// Format is the constant Format.
	Format int `json:"format"`
	// Corpus is all that there was to verify, and Shard the part that this report
	// is on; nil is the whole.
	Corpus Corpus `json:"corpus"`
	Shard  *Shard `json:"shard,omitempty"`
	// Traces are the results, in the order of the sources.
	Traces []*TraceReport `json:"traces"`
	// Causes are the divergences, those of one cause together: the cause that
	// hits most traces first. Changes that hit the same traces are one cause, and
	// a trace may be hit by several.
	Causes []*CauseReport `json:"causes"`
	// Sessions are the results of the sessions whose journals lie among the traces, a folder
	// each, where somebody has played them: package sessions does.
	Sessions []*SessionsReport `json:"sessions,omitempty"`
	// Crossings is how many crossings agreed in all traces; Divergent how many
	// traces diverged, and Unreadable how many could not be read to their end.
	Crossings  int `json:"crossings"`
	Divergent  int `json:"divergences"`
	Unreadable int `json:"unreadable"`
	// UserCode reports whether code other than the engine's ran.
	UserCode bool `json:"userCode"`
	// Error says why not everything was verified that was to be. Where it is
	// set, nothing follows from what is not in the report.
	Error string `json:"error,omitempty"`
}

// Corpus identifies a list of traces.
type Corpus struct {
	// Traces is how many there are.
	Traces int `json:"traces"`
	// SHA256 is of their names and sizes, in order: the shards of one corpus have
	// the same.
	SHA256 string `json:"sha256"`
}

// TraceReport is what was found out about one trace of a corpus.
type TraceReport struct {
	// Trace is the name of its source, and Number the place in the list, from 1.
	Trace  string `json:"trace"`
	Number int    `json:"number"`
	replay.Report
	// Cause is what the divergence has in common with others that have the same
	// cause; nil without a divergence.
	Cause *Cause `json:"cause,omitempty"`
	// Error says why the trace could not be read to its end.
	Error string `json:"error,omitempty"`
	// Edited tells that something changed the trace after it was written, as Error says: what a
	// replay makes otherwise may be what was written into it. False in a report that was read.
	Edited bool `json:"-"`
	// Elapsed is how long the replay took; zero in a report that was read, because no
	// two runs have the same.
	Elapsed time.Duration `json:"-"`

	read string // the SHA-256 of the file that was verified; empty in a report that was read
}

// CauseReport is one cause, and the traces that it hits.
type CauseReport struct {
	// Text is the cause in a line for a person.
	Text string `json:"text"`
	Cause
	// Traces are the names of the traces that it hits, in their order.
	Traces []string `json:"traces"`
	// Apart is what differs in them on its own, and did not come of the cause: who accepts
	// that accepts this too.
	Apart []ApartReport `json:"apart,omitempty"`
	// Ends says how their turns end, where these do not all end as that of the first.
	Ends string `json:"ends,omitempty"`
	// First is the first of them that diverges as Text says.
	First *TraceReport `json:"-"`
}

// ApartReport is what differs on its own in traces that a cause hits.
type ApartReport struct {
	replay.Apart          // of the first of them
	Traces       []string `json:"traces"`
}

func newCorpusReport(sources []Source, shard Shard) *Report {
	r := &Report{Format: Format, Traces: []*TraceReport{}, Causes: []*CauseReport{},
		Corpus: Corpus{Traces: len(sources), SHA256: listDigest(sources)}}
	if shard != (Shard{}) {
		r.Shard = &shard
	}
	return r
}

// listDigest is the digest of a list of sources.
func listDigest(sources []Source) string {
	sum := sha256.New()
	for _, s := range sources {
		fmt.Fprintf(sum, "%q %d\n", s.Name, s.Size)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// add counts a trace in.
func (r *Report) add(t *TraceReport) {
	r.Traces = append(r.Traces, t)
	r.Crossings += t.Crossings
	if t.Divergence != nil {
		r.Divergent++
	}
	if t.Error != "" {
		r.Unreadable++
	}
	r.UserCode = r.UserCode || len(t.Live) > 0
}

// WriteJSON writes the report as one JSON document for programs, which people
// can read too.
func (r *Report) WriteJSON(w io.Writer) error {
	return safetext.WriteJSON(w, r, "  ")
}

// ReadReport reads a report that WriteJSON wrote. Members that it does not
// know are skipped.
func ReadReport(in io.Reader) (*Report, error) {
	r := &Report{}
	decoder := json.NewDecoder(in)
	if err := decoder.Decode(r); err == io.EOF {
		return nil, errors.New("replay: this is no report of a verification: the file is empty")
	} else if err != nil {
		return nil, fmt.Errorf("replay: this is no report of a verification: %w", jsonfault.Of(err))
	}
	if r.Format != Format {
		return nil, fmt.Errorf("replay: this is no report of a verification: its format is %d, and this version reads %d", r.Format, Format)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("replay: this is no report of a verification: there is more behind the document")
	}
	if err := r.recount(); err != nil {
		return nil, err
	}
	return r, nil
}

// keepLines keeps on its line what is one in the report of a trace: somebody may have edited it.
func (t *TraceReport) keepLines() {
	if d := t.Divergence; d != nil {
		for _, text := range []*string{&d.Trace, &d.Seam, &d.Expected, &d.Got, &d.GoesOn, &d.Place, &d.Written, &d.Mark, &d.Dialed} {
			*text = safetext.Line(*text)
		}
		for _, all := range [][]string{d.Also, d.Before, d.Callers} {
			for i := range all {
				all[i] = safetext.Line(all[i])
			}
		}
	}
}

// recount derives what follows from the traces: a report says it, and need not
// be believed.
func (r *Report) recount() error {
	traces := r.Traces
	r.Traces, r.Crossings, r.Divergent, r.Unreadable, r.UserCode = []*TraceReport{}, 0, 0, 0, false
	for i, t := range traces {
		if t == nil || t.Number < 1 || t.Number > r.Corpus.Traces || i > 0 && t.Number <= traces[i-1].Number {
			return fmt.Errorf("replay: trace %d of the report has no number between those beside it and %d", i+1, r.Corpus.Traces)
		}
		if t.Divergence != nil && t.Cause == nil {
			return fmt.Errorf("replay: %s: the report has a divergence without a cause", safetext.Line(t.Trace))
		}
		t.keepLines()
		r.add(t)
	}
	if slices.Contains(r.Sessions, nil) {
		return errors.New("replay: the report has a folder of sessions that is null")
	}
	r.group()
	return nil
}

// Err is nil where every trace could be read and was the same, and otherwise an
// error whose text is the report: for go test.
func (r *Report) Err() error {
	if divergent, unreadable := r.OfSessions(); r.Error == "" && r.Divergent+divergent == 0 && r.Unreadable+unreadable == 0 {
		return nil
	}
	return errors.New("replay: " + r.String())
}

// The bounds of what String shows.
const (
	mostNamed   = 3  // names of traces
	mostEntries = 20 // causes, and unreadable traces
	mostLines   = 22 // of one divergence
)

// String is the report for a person: the counts, what could not be read, and
// each cause with the first divergence that it made.
func (r *Report) String() string {
	var b strings.Builder
	b.WriteString(r.Summary() + "\n")
	if r.Error != "" {
		fmt.Fprintf(&b, "%s\n", safetext.Bare(r.Error))
	}
	unreadable := 0
	for _, t := range r.Traces {
		if t.Error == "" {
			continue
		}
		if unreadable++; unreadable <= mostEntries {
			fmt.Fprintf(&b, "unreadable %s\n", safetext.Bare(t.Error))
		}
	}
	if more := unreadable - mostEntries; more > 0 {
		fmt.Fprintf(&b, "and %d more that could not be read\n", more)
	}
	b.WriteString(r.sessionLines())
	b.WriteString(r.DescribeCauses())
	return b.String()
}

// Summary is the counts in a line.
func (r *Report) Summary() string {
	text := fmt.Sprintf("%s, %s, %s", safetext.Counted(len(r.Traces), "trace"), safetext.Counted(r.Crossings, "crossing"), safetext.Counted(r.Divergent, "divergence"))
	if r.Unreadable > 0 {
		text += fmt.Sprintf(", %d unreadable", r.Unreadable)
	}
	if r.Shard != nil {
		text = fmt.Sprintf("shard %s of %s: %s", r.Shard, safetext.Counted(r.Corpus.Traces, "trace"), text)
	}
	return text
}

// DescribeCauses is a paragraph for each cause, and behind them what was not compared;
// nothing where there is no cause.
func (r *Report) DescribeCauses() string {
	var b strings.Builder
	for i, c := range r.Causes {
		if i == mostEntries {
			fmt.Fprintf(&b, "and %d more causes, which hit no more traces each: the JSON has them\n", len(r.Causes)-i)
			break
		}
		fmt.Fprintf(&b, "cause %d of %d: %s\n", i+1, len(r.Causes), c)
	}
	return b.String() + r.NotComparedLines()
}

// NotComparedLines are the last lines of a report on causes: what could not be held
// against the recording in the traces that they name, each thing once.
func (r *Report) NotComparedLines() string {
	var of [][]string
	for _, c := range r.Causes {
		of = append(of, c.First.NotCompared)
	}
	all := replay.Report{NotCompared: wire.JoinedNotes(of...)}
	return safetext.Lines(all.NotComparedLines())
}

// width is how long a line of a cause is, at most, but for what stands before the first:
// four less than the screen that replay.Divergence counts with.
const width = 70

// String is the cause, the traces that it hits, and the divergence of the first: at most
// 25 lines, which fit on a screen of 80 columns in the output of go test.
func (c *CauseReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", safetext.Wrapped(c.Text, width, "    "))
	fmt.Fprintf(&b, "  in %s\n", safetext.Wrapped(c.hits(), width-len("  in "), "      "))
	first := *c.First.Divergence
	if c.Beside == onceMore { // which of them answered before is said with that
		first.Candidates = nil
	}
	apart := c.isApartSaid()
	first.After = c.afterOfFirst(!apart)
	lines := strings.Split(strings.TrimSuffix(first.Details(), "\n"), "\n")
	shown := min(len(lines), mostLines)
	if len(c.First.Live) > 0 { // verify, which shows the rest, runs no code of theirs
		shown = len(lines)
	}
	for _, line := range lines[:shown] {
		fmt.Fprintf(&b, "  %s\n", safetext.Line(line)) // a report that was read may hold anything
	}
	if more := len(lines) - shown; more > 0 {
		fmt.Fprintf(&b, "  and %s: %s\n", safetext.Counted(more, "more line"), shell.Adkreplay("verify", shell.FromModule(c.First.Trace)))
	}
	if apart {
		b.WriteString(c.apartLines())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// hits counts the traces that a cause hits, and names the first.
func (c *CauseReport) hits() string {
	return namesOf(append([]string{c.First.Trace}, slices.DeleteFunc(slices.Clone(c.Traces), func(name string) bool { return name == c.First.Trace })...))
}

// namesOf counts traces, and names some.
func namesOf(all []string) string {
	text, names := safetext.Counted(len(all), "trace"), safetext.Each(all, safetext.Bare)
	dir := path.Dir(names[0])
	if elsewhere := func(name string) bool { return path.Dir(name) != dir }; len(names) > 1 && dir != "." && !slices.ContainsFunc(names, elsewhere) {
		text, names = text+" of "+dir, safetext.Each(names, path.Base)
	}
	return text + ": " + safetext.Names(names, mostNamed)
}
