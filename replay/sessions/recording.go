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

// Recording is what the hosts of one store left: their journals, which are in one folder, and the
// traces of the turns, which are in that folder or below it.
type Recording struct {
	Folder           string
	Journals, Traces []corpus.Source
	// Number is the position among the recordings, from 1.
	Number int

	journals []*Journal // as read
	reports  []corpus.JournalReport
	cut      []corpus.Source // traces that end where their host was killed
	broken   map[attemptID]string
}

// Recordings separates journals from traces, by their first lines, and groups them by store. The
// journals of one folder are one recording, and a trace belongs to the nearest folder above it that
// has a journal. The result traces has every source that is not a journal, whether or not it
// belongs to a recording, including sources that cannot be opened. Recordings opens the sources,
// reads their beginnings, and closes them. If a source can be opened only once, its content must
// have a method Peek, as bufio.Reader does. A trace from such a source belongs to no recording,
// because reading the id of its turn would use it up.
func Recordings(sources []corpus.Source) (recordings []*Recording, traces []corpus.Source) {
	of := map[string]*Recording{}
	var kept []corpus.Source // those of the traces that can be opened again
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

// looked reports whether a source is a journal, and whether it can be opened only once.
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

// beginsLate reports whether a file has only the beginning of a journal's first line, because its
// host was killed while writing it.
func beginsLate(in interface{ Peek(n int) ([]byte, error) }) bool {
	begin, err := in.Peek(longestHeader)
	whole := []byte(fmt.Sprintf(`{"adkreplay":%q`, wire.JournalName))
	n := min(len(begin), len(whole))
	return err == io.EOF && bytes.Equal(begin[:n], whole[:n]) && !bytes.Contains(begin, []byte("\n"))
}

// Has reports whether one of the journals has the given name.
func (r *Recording) Has(name string) bool {
	return slices.ContainsFunc(r.Journals, func(s corpus.Source) bool { return s.Name == name })
}

// Size returns the size of all files in bytes, as far as it is known.
func (r *Recording) Size() (size int64) {
	for _, list := range [][]corpus.Source{r.Journals, r.Traces} {
		for _, source := range list {
			size += source.Size
		}
	}
	return size
}

// Read reads the journals, once, and merges them. If a journal has a fault, its report says so, and
// the result has what was read before it. A journal without a footer is not faulty if the traces
// fit a host that was killed, or that is still running.
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
	if format, ok := errors.AsType[*FormatError](err); ok && format.Fault == trace.FaultTruncated && format.Line == 1 { // named as a journal, but not begun
		return &Journal{open: []string{source.Name}}, nil
	}
	return j, err
}

// Turns returns the traces by the ids of their turns, as the journals write them. It leaves out
// traces without a turn, and turns whose redacted ids cannot be distinguished.
func (r *Recording) Turns(reading trace.Options) map[string]corpus.Source {
	r.Read(reading)
	told := r.told()
	turns, twice := map[string]corpus.Source{}, map[string]bool{}
	for _, source := range r.Traces {
		id := turnOf(source, reading)
		if isMasked(id) {
			id = told.turn(id)
			twice[id] = twice[id] || turns[id].Open != nil // it is unknown which of them is the turn's
		}
		if _, has := turns[id]; !has && id != "" {
			turns[id] = source
		}
	}
	maps.DeleteFunc(turns, func(id string, _ corpus.Source) bool { return twice[id] })
	return turns
}

// mostBefore is more crossings than a trace has before its turn starts.
const mostBefore = 8

// turnOf returns the id of the turn of a trace, or "" if the trace has none.
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

// Verify replays the journals with the traces of their turns, as the function Verify does. Of the
// options, Open is not used, and Replayed is called with the name of a trace. The error is that of
// ctx.
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

// line describes the divergence in one line, with the name of the trace.
func (d *Divergence) line(of string) string {
	text := d.summary()
	if d.Class == Turn && of != "" {
		text += ", in " + safetext.Line(of)
	}
	return text
}

// unjoined returns the errors that err joins.
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

// inShort joins the notes on turns without a trace into one line.
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
