package page

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Page is the content of a page.
type Page struct {
	// Title is the title of the page.
	Title string
	// Sources are the traces, in the order of the list.
	Sources []Source
	// Recordings are the journals of sessions, whose traces are among the sources.
	Recordings []*sessions.Recording
	// Verified and Explored are what the commands verify and explore print as JSON, or nil.
	Verified, Explored any
	// Watched says that the file is rewritten while its user works. Browsers then reload it while
	// it is in the background, and when it comes to the front.
	Watched bool
	// Reading applies to each trace. Its File is ignored: errors name the source.
	Reading trace.Options
	// MostBytes is the largest total size of the traces in the file. Traces beyond it are only
	// listed, except that the first trace is always included. Zero means DefaultMostBytes.
	MostBytes int64
}

// DefaultMostBytes is the usual largest total size of the traces in a file. Browsers open such a
// file without delay, and it can be mailed.
const DefaultMostBytes = 24 << 20

// Source is a trace to show.
type Source struct {
	// Name identifies the trace.
	Name string
	// Open opens the trace. It is called at most once. If it is nil, the trace is only listed.
	Open func() (io.ReadCloser, error)
}

// contents is one JSON document that describes the page.
type contents struct {
	Title string `json:"title"`
	Written
	Verified any  `json:"verified,omitempty"`
	Explored any  `json:"explored,omitempty"`
	Watched  bool `json:"watched,omitempty"`
}

// Entry describes a trace in the list.
type Entry struct {
	Name      string        `json:"name"`
	Crossings int           `json:"crossings"`
	Elapsed   time.Duration `json:"elapsed"` // in nanoseconds
	// Status is how its last dispatch ended, and Errors is the number of error events.
	Status string `json:"status,omitempty"`
	Errors int    `json:"errors,omitempty"`
	// Fault says why the trace is incomplete.
	Fault string `json:"fault,omitempty"`
	// Held says that its lines are in the page.
	Held bool `json:"held,omitempty"`
}

// Written says what was written, in the order of the page's sources and recordings.
type Written struct {
	Traces   []Entry   `json:"traces"`
	Sessions []Journal `json:"sessions,omitempty"`
}

// Write writes the page. A source that cannot be read, or breaks off, is shown as far as it goes,
// with the reason. The error is that of w, or of a source that was cancelled; then there is no
// valid page.
func (p *Page) Write(w io.Writer) (Written, error) {
	out := &counter{w: bufio.NewWriterSize(w, 64<<10)}
	all := contents{Title: p.Title, Verified: p.Verified, Explored: p.Explored, Watched: p.Watched, Written: Written{Traces: []Entry{}}}
	out.text(head(safetext.Line(p.Title)))
	begin, most := out.n, cmp.Or(p.MostBytes, DefaultMostBytes)
	for i, recording := range p.Recordings {
		all.Sessions = append(all.Sessions, p.embedJournal(out, i, recording, i == 0 || out.n-begin < most))
	}
	for i, source := range p.Sources {
		one := Entry{Name: source.Name}
		if source.Open != nil && (i == 0 || out.n-begin < most) {
			p.embed(out, i, source, &one)
		}
		all.Traces = append(all.Traces, one)
		if out.err != nil {
			return all.Written, out.err
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return all.Written, fmt.Errorf("page: %w", err)
	}
	out.text(`<script type="application/x-adkreplay-contents" id="contents">` + packedText(string(text)) + "</script>\n" + tail)
	if out.err == nil {
		out.err = out.w.Flush()
	}
	return all.Written, out.err
}

// Journal describes the journals of a folder in the list.
type Journal struct {
	Folder string `json:"folder"`
	// Sessions is the number of sessions, and Steps the number of their steps.
	Sessions int `json:"sessions"`
	Steps    int `json:"steps"`
	// Faults say why the journals are incomplete.
	Faults []string `json:"faults,omitempty"`
	// Notes say which hosts did not end their journals.
	Notes []string `json:"notes,omitempty"`
	// Held says that the steps are in the page.
	Held bool `json:"held,omitempty"`
}

// embedJournal writes the steps of the journals of a folder into an element, in the form of
// adkreplay show --json, if held is set.
func (p *Page) embedJournal(out *counter, number int, recording *sessions.Recording, held bool) Journal {
	turns, brokenOff := recording.Turns(p.Reading), recording.BrokenOff(p.Reading)
	journal, reports := recording.Read(p.Reading)
	one := Journal{Folder: recording.Folder, Held: held}
	for _, report := range reports {
		if report.Error != "" {
			one.Faults = append(one.Faults, safetext.Line(report.Error))
		} else if note := report.Note(); note != "" {
			one.Notes = append(one.Notes, note)
		}
	}
	var lines bytes.Buffer
	encoder, met := json.NewEncoder(&lines), map[session.SessionID]bool{}
	encoder.SetEscapeHTML(false) // it is packed
	for step := range journal.Story(func(turn string) string { return turns[turn].Name }) {
		met[step.SessionID] = true
		one.Steps++
		if name := brokenOff(step.Step); name != "" {
			step.Trace = name
		}
		_ = encoder.Encode(step) // cannot fail: its members are texts and numbers
	}
	one.Sessions = len(met)
	if held {
		out.text(`<script type="application/x-adkreplay-journal" id="journal-` + strconv.Itoa(number) + `">` + packedText(lines.String()) + "</script>\n")
	}
	return one
}

// embed writes the lines of a trace into an element, and records in one what they say about the
// whole trace.
func (p *Page) embed(out *counter, number int, source Source, one *Entry) {
	content, err := source.Open()
	if err != nil {
		one.Fault = safetext.OfFile(source.Name, err)
		return
	}
	defer content.Close()
	options := p.Reading
	options.File = source.Name
	r, err := trace.NewReader(content, options)
	if err != nil {
		one.Fault = safetext.OfFile(source.Name, err)
		return
	}
	one.Held = true
	out.text(`<script type="application/x-adkreplay-trace" id="trace-` + strconv.Itoa(number) + `">`)
	packed := newPacker(out)
	err = copyLines(packed, r, one)
	if closed := packed.Close(); err == nil {
		err = closed
	}
	out.text("</script>\n")
	if err != nil && out.err == nil {
		one.Fault = safetext.OfFile(source.Name, err)
	}
	if errors.Is(err, context.Canceled) {
		out.err = err
	}
}

// linesVersion is the version of the format of the traces in a page, which the scripts read.
const linesVersion = 5

// copyLines writes the lines of a trace in the format of pages, and records what the list shows.
// The error says why the trace is incomplete.
func copyLines(out io.Writer, r *trace.Reader, one *Entry) error {
	header := r.Header()
	header.Version = linesVersion
	w := trace.NewWriter(out, header, r.Options())
	for {
		line, err := r.Next()
		if err == io.EOF {
			return w.CloseWith(r.Footer())
		}
		if err != nil {
			if one.Crossings == 0 {
				_ = w.Close() // writes the header, which is otherwise written with the first line
			}
			return err
		}
		if err := w.WriteLine(line); err != nil {
			return err
		}
		one.note(&line.Crossing, header.Start)
	}
}

func (e *Entry) note(x *adk.Crossing, start time.Time) {
	e.Crossings++
	e.Elapsed = x.At.Sub(start)
	switch {
	case wire.EndsDispatch(x):
		e.Status = x.Status
	case wire.TellsError(x):
		e.Errors++
	}
}

// counter counts the bytes that are written, and remembers the first error.
type counter struct {
	w   *bufio.Writer
	n   int64
	err error
}

// Write writes unless an earlier write failed.
func (c *counter) Write(text []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(text)
	c.n, c.err = c.n+int64(n), err
	return n, err
}

func (c *counter) text(text string) { _, _ = c.Write([]byte(text)) } // the counter remembers the error
