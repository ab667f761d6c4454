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

// Format is the version of a Report's JSON. It changes when a member is removed or changes its
// meaning, but not when members are added.
const Format = 1

// Report is the result of verifying many traces. WriteJSON writes it as JSON, and ReadReport reads
// it.
type Report struct {
	// Format is the constant Format.
	Format int `json:"format"`
	// Corpus identifies all traces that there were. Shard is the part that this report covers; nil
	// means all of them.
	Corpus Corpus `json:"corpus"`
	Shard  *Shard `json:"shard,omitempty"`
	// Traces holds the results in the order of the sources.
	Traces []*TraceReport `json:"traces"`
	// Causes groups the divergences by cause, with the cause that affects most traces first.
	// Changes that affect the same traces are one cause. A trace may be affected by several causes.
	Causes []*CauseReport `json:"causes"`
	// Sessions holds the results for sessions whose journals are among the traces, one per folder.
	// It is set if package sessions replayed them.
	Sessions []*SessionsReport `json:"sessions,omitempty"`
	// Crossings is the number of crossings that agreed in all traces. Divergent is the number of
	// traces that diverged, and Unreadable of those that could not be read to their end.
	Crossings  int `json:"crossings"`
	Divergent  int `json:"divergences"`
	Unreadable int `json:"unreadable"`
	// UserCode reports whether any live code was chosen, so that not only the engine ran.
	UserCode bool `json:"userCode"`
	// Error says why some traces were not verified. If it is set, the absence of something in the
	// report means nothing.
	Error string `json:"error,omitempty"`
}

// Corpus identifies a list of traces.
type Corpus struct {
	// Traces is the number of traces.
	Traces int `json:"traces"`
	// SHA256 is a digest of their names and sizes, in order. All shards of a corpus have the same.
	SHA256 string `json:"sha256"`
}

// TraceReport is the result for one trace of a corpus.
type TraceReport struct {
	// Trace is the name of its source. Number is its position in the list, from 1.
	Trace  string `json:"trace"`
	Number int    `json:"number"`
	replay.Report
	// Cause is what the divergence has in common with others of the same cause. It is nil without a
	// divergence.
	Cause *Cause `json:"cause,omitempty"`
	// Error says why the trace could not be read to its end.
	Error string `json:"error,omitempty"`
	// Edited is true if the trace was changed after it was written, as Error says. A divergence may
	// then be due to the edit. It is false in a report that was read.
	Edited bool `json:"-"`
	// Elapsed is how long the replay took. It is zero in a report that was read, because the time
	// differs in every run and is not written.
	Elapsed time.Duration `json:"-"`

	read string // the SHA-256 of the file that was verified; empty in a report that was read
}

// CauseReport is one cause and the traces that it affects.
type CauseReport struct {
	// Text describes the cause in one line.
	Text string `json:"text"`
	Cause
	// Traces holds the names of the affected traces, in their order.
	Traces []string `json:"traces"`
	// Apart lists other differences in these traces, which do not follow from the cause. Accepting
	// the traces accepts these differences too.
	Apart []ApartReport `json:"apart,omitempty"`
	// Ends says how the turns of the traces end, if they do not all end in the same way.
	Ends string `json:"ends,omitempty"`
	// First is the trace whose divergence is shown as an example. It diverges as Text says.
	First *TraceReport `json:"-"`
}

// ApartReport is an independent difference in traces that a cause affects.
type ApartReport struct {
	replay.Apart          // of the first trace that has it
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

// listDigest returns the digest of a list of sources.
func listDigest(sources []Source) string {
	sum := sha256.New()
	for _, s := range sources {
		fmt.Fprintf(sum, "%q %d\n", s.Name, s.Size)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// add adds a trace to the report and its counts.
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

// WriteJSON writes the report as one indented JSON document.
func (r *Report) WriteJSON(w io.Writer) error {
	return safetext.WriteJSON(w, r, "  ")
}

// ReadReport reads a report that WriteJSON wrote. It ignores members that it does not know.
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

// keepLines makes a single line of each text that must be one. A report that was read may have been
// edited.
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

// recount computes everything that follows from the traces again, because a report that was read
// cannot be trusted.
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

// Err returns nil if every trace could be read and agreed. Otherwise it returns an error with the
// text of the report, for go test.
func (r *Report) Err() error {
	if divergent, unreadable := r.OfSessions(); r.Error == "" && r.Divergent+divergent == 0 && r.Unreadable+unreadable == 0 {
		return nil
	}
	return errors.New("replay: " + r.String())
}

// The bounds of what String prints.
const (
	mostNamed   = 3  // names of traces
	mostEntries = 20 // causes, and unreadable traces
	mostLines   = 22 // of one divergence
)

// String describes the report: the counts, what could not be read, and each cause with its first
// divergence.
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

// Summary returns the counts in one line.
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

// DescribeCauses returns a paragraph for each cause, followed by what was not compared. It returns
// "" if there is no cause.
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

// NotComparedLines returns the last lines of a report on causes: what could not be compared with
// the recording in the traces that it names, each thing once.
func (r *Report) NotComparedLines() string {
	var of [][]string
	for _, c := range r.Causes {
		of = append(of, c.First.NotCompared)
	}
	all := replay.Report{NotCompared: wire.JoinedNotes(of...)}
	return safetext.Lines(all.NotComparedLines())
}

// width is the maximum length of a line of a cause, not counting the words before its first line.
// It is four less than the width of the screen that replay.Divergence assumes.
const width = 70

// String describes the cause, the traces that it affects, and the divergence of the first: at most
// 25 lines, which fit on a screen of 80 columns in the output of go test.
func (c *CauseReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", safetext.Wrapped(c.Text, width, "    "))
	fmt.Fprintf(&b, "  in %s\n", safetext.Wrapped(c.hits(), width-len("  in "), "      "))
	first := *c.First.Divergence
	if c.Beside == onceMore { // that text already says which one was answered before
		first.Candidates = nil
	}
	apart := c.isApartSaid()
	first.After = c.afterOfFirst(!apart)
	lines := strings.Split(strings.TrimSuffix(first.Details(), "\n"), "\n")
	shown := min(len(lines), mostLines)
	if len(c.First.Live) > 0 { // the command that shows the rest runs no live code
		shown = len(lines)
	}
	for _, line := range lines[:shown] {
		fmt.Fprintf(&b, "  %s\n", safetext.Line(line)) // a report that was read may hold any text
	}
	if more := len(lines) - shown; more > 0 {
		fmt.Fprintf(&b, "  and %s: %s\n", safetext.Counted(more, "more line"), shell.Adkreplay("verify", shell.FromModule(c.First.Trace)))
	}
	if apart {
		b.WriteString(c.apartLines())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// hits says how many traces the cause affects, and names some, beginning with the first.
func (c *CauseReport) hits() string {
	return namesOf(append([]string{c.First.Trace}, slices.DeleteFunc(slices.Clone(c.Traces), func(name string) bool { return name == c.First.Trace })...))
}

// namesOf returns the number of traces and the names of some.
func namesOf(all []string) string {
	text, names := safetext.Counted(len(all), "trace"), safetext.Each(all, safetext.Bare)
	dir := path.Dir(names[0])
	if elsewhere := func(name string) bool { return path.Dir(name) != dir }; len(names) > 1 && dir != "." && !slices.ContainsFunc(names, elsewhere) {
		text, names = text+" of "+dir, safetext.Each(names, path.Base)
	}
	return text + ": " + safetext.Names(names, mostNamed)
}
