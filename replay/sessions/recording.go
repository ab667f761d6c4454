package sessions

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Recording is what the hosts of one store have left: their journals, which lie in one
// folder, and the traces of the turns, which lie there or below it.
type Recording struct {
	Folder           string
	Journals, Traces []corpus.Source
	// Number is the place among the recordings, from 1.
	Number int

	journals []*Journal // as they were read
	reports  []corpus.JournalReport
	cut      []corpus.Source // of the traces
	broken   map[attemptID]string
}

// Recordings tells journals from traces, by their first lines, and brings together what
// belongs to one store: journals of one folder are read as one, and a trace is of the nearest
// folder above it that has a journal. traces are all that are no journals, whether they belong
// to one or not; what cannot be opened is one of them. Sources are opened, read so far, and
// closed; a source that is opened once only has to give what can Peek, as bufio.Reader does. A
// trace from such a source belongs to no journal: who looked for its turn would take it away.
func Recordings(sources []corpus.Source) (recordings []*Recording, traces []corpus.Source) {
	of := map[string]*Recording{}
	var kept []corpus.Source // of the traces, which can be opened again
	for _, source := range sources {
		if journal, once := looked(source); !journal {
			traces = append(traces, source)
			if !once {
				kept = append(kept, source)
			}
			continue
		}
		folder := folderOf(source.Name)
		if of[folder] == nil {
			of[folder] = &Recording{Folder: folder, Number: len(recordings) + 1}
			recordings = append(recordings, of[folder])
		}
		of[folder].Journals = append(of[folder].Journals, source)
	}
	for _, source := range kept {
		for at := folderOf(source.Name); len(of) > 0; at = path.Dir(at) {
			if of[at] != nil {
				of[at].Traces = append(of[at].Traces, source)
				break
			}
			if at == path.Dir(at) {
				break
			}
		}
	}
	return recordings, traces
}

func folderOf(name string) string { return path.Dir(filepath.ToSlash(name)) }

// looked reports whether a source is a journal, and whether it can be opened once only.
func looked(source corpus.Source) (journal, once bool) {
	content, err := source.Open()
	if err != nil {
		return false, false
	}
	defer content.Close()
	in, once := content.(interface{ Peek(n int) ([]byte, error) })
	if !once {
		in = bufio.NewReaderSize(content, longestHeader)
	}
	return Begins(in) || strings.HasSuffix(source.Name, journalEnding) && beginsLate(in), once
}

// beginsLate reports whether a file has no more than the beginning of a journal's first line:
// its host was killed before that was written.
func beginsLate(in interface{ Peek(n int) ([]byte, error) }) bool {
	begin, err := in.Peek(longestHeader)
	whole := []byte(fmt.Sprintf(`{"adkreplay":%q`, wire.JournalName))
	n := min(len(begin), len(whole))
	return err == io.EOF && bytes.Equal(begin[:n], whole[:n]) && !bytes.Contains(begin, []byte("\n"))
}

// Has reports whether a file of a name is one of the journals.
func (r *Recording) Has(name string) bool {
	return slices.ContainsFunc(r.Journals, func(s corpus.Source) bool { return s.Name == name })
}

// Size is that of all files, in bytes, as far as it is known.
func (r *Recording) Size() (size int64) {
	for _, list := range [][]corpus.Source{r.Journals, r.Traces} {
		for _, source := range list {
			size += source.Size
		}
	}
	return size
}

// Read reads the journals, once, and brings them together. What is wrong with one stands in
// its report; what was read before that is there. One without a footer is no fault where the
// traces show that its host was killed, or is still at work.
func (r *Recording) Read(reading trace.Options) (*Journal, []corpus.JournalReport) {
	if r.reports == nil {
		r.read(reading)
	}
	return Merge(r.journals...), slices.Clone(r.reports)
}

func (r *Recording) read(reading trace.Options) {
	for _, source := range r.Journals {
		report := corpus.JournalReport{Journal: source.Name}
		j, err := readSource(source, reading)
		if j != nil {
			r.journals = append(r.journals, j)
			report.Steps, report.NoFooter = len(j.Steps), err == nil && !j.Sealed
		}
		if err != nil {
			report.Error = safetext.OfFile(source.Name, err)
		}
		r.reports = append(r.reports, report)
	}
	open := slices.IndexFunc(r.reports, func(report corpus.JournalReport) bool { return report.NoFooter })
	if open < 0 {
		return
	}
	var strange string
	if r.cut, strange = r.untold(reading); strange != "" {
		r.reports[open].Error = safetext.Line(r.reports[open].Journal) + ": " + strange
		r.reports[open].NoFooter = false
	}
}

func readSource(source corpus.Source, reading trace.Options) (*Journal, error) {
	reading.File = source.Name
	content, err := source.Open()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	j, err := Read(content, reading)
	if format, ok := errors.AsType[*FormatError](err); ok && format.Fault == trace.FaultTruncated && format.Line == 1 { // named as one, and not begun
		return &Journal{open: []string{source.Name}}, nil
	}
	return j, err
}

// Turns are the traces by the ids of their turns, as the journals say them. One that tells no
// turn is none, and neither are those of which redaction has left the same.
func (r *Recording) Turns(reading trace.Options) map[string]corpus.Source {
	r.Read(reading)
	told := r.told()
	turns, twice := map[string]corpus.Source{}, map[string]bool{}
	for _, source := range r.Traces {
		id := turnOf(source, reading)
		if isMasked(id) {
			id = told.turn(id)
			twice[id] = twice[id] || turns[id].Open != nil // nobody knows which of them it is
		}
		if _, has := turns[id]; !has && id != "" {
			turns[id] = source
		}
	}
	maps.DeleteFunc(turns, func(id string, _ corpus.Source) bool { return twice[id] })
	return turns
}

// mostBefore is how many crossings a trace has before its turn is told, and more.
const mostBefore = 8

// turnOf is the id of the turn of a trace; empty where it tells none.
func turnOf(source corpus.Source, reading trace.Options) string {
	content, err := source.Open()
	if err != nil {
		return ""
	}
	defer content.Close()
	r, err := trace.NewReader(content, reading)
	fold := state.New()
	for n := 0; err == nil && n < mostBefore && fold.TurnID == ""; n++ {
		var line *trace.Line
		if line, err = r.Next(); err == nil {
			err = fold.Apply(&line.Crossing)
		}
	}
	return fold.TurnID
}

// Verify plays the journals with the traces of their turns, as the function Verify does. Of
// the options Open is not used, and Replayed is asked for the name of a trace. The error is
// that of ctx.
func (r *Recording) Verify(ctx context.Context, o Options) (*corpus.SessionsReport, error) {
	result := &corpus.SessionsReport{Folder: r.Folder, Number: r.Number}
	var journal *Journal
	journal, result.Journals = r.Read(o.Reading)
	turns := r.Turns(o.Reading)
	replayed := o.Replayed
	o.Replayed = nil
	if replayed != nil {
		o.Replayed = func(turn string) *replay.Report { return replayed(turns[turn].Name) }
	}
	o.Open = func(turn string) (io.ReadCloser, error) {
		if source, has := turns[turn]; has {
			return source.Open()
		}
		return nil, nil
	}
	report, err := Verify(ctx, journal, o)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	result.Sessions, result.Attempts, result.Commits = report.Sessions, report.Attempts, report.Commits
	result.Untraced = report.Untraced
	for _, source := range r.cut {
		report.NotCompared = append(report.NotCompared, "trace "+source.Name+", which ends where its host was killed, or still is at work")
	}
	result.NotCompared = inShort(report.NotCompared)
	for _, d := range report.Divergences {
		result.Divergences = append(result.Divergences, corpus.SessionDivergence{Class: string(d.Class), Tenant: d.Delivery.Tenant, Session: d.Delivery.Session,
			Delivery: d.Delivery.Delivery, Attempt: d.Attempt, Journal: d.Journal, Line: d.Line, Turn: d.TurnID, Trace: turns[d.TurnID].Name, Text: d.line(turns[d.TurnID].Name)})
	}
	for _, one := range unjoined(err) {
		result.Errors = append(result.Errors, safetext.WithoutPackage(one).Error())
	}
	return result, nil
}

// line is the divergence in a line, with where to read more of it.
func (d *Divergence) line(of string) string {
	text := d.summary()
	if d.Class == Turn && of != "" {
		text += ", in " + safetext.Line(of)
	}
	return text
}

// unjoined are the errors that one joins.
func unjoined(err error) []error {
	var all interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &all):
		return all.Unwrap()
	}
	return []error{err}
}

// mostListed is how many turns without a trace are named.
const mostListed = 3

// inShort has many turns without a trace in one line.
func inShort(notCompared []string) (short []string) {
	var turns []string
	for _, what := range notCompared {
		if turn, ok := strings.CutSuffix(what, noTrace); ok {
			turns = append(turns, strings.TrimPrefix(turn, "turn "))
		} else {
			short = append(short, what)
		}
	}
	switch n := len(turns); {
	case n > mostListed:
		short = append(short, fmt.Sprintf("turns %s and %d more, which have no traces", strings.Join(turns[:mostListed], ", "), n-mostListed))
	case n > 1:
		short = append(short, fmt.Sprintf("turns %s, which have no traces", strings.Join(turns, ", ")))
	case n == 1:
		short = append(short, "turn "+turns[0]+noTrace)
	}
	return short
}
