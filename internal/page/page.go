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

// Page is what one file shows.
type Page struct {
	// Title says what it is of.
	Title string
	// Sources are the traces, in the order in which they are listed.
	Sources []Source
	// Recordings are the journals of sessions, whose traces are among the sources.
	Recordings []*sessions.Recording
	// Verified and Explored are what the commands verify and explore print as JSON; nil
	// where there is none.
	Verified, Explored any
	// Watched tells that the file is written again while one works: browsers then load it again
	// while somebody looks elsewhere, and when it comes into view.
	Watched bool
	// Reading is how the traces are read. Its File is not used: errors name the source.
	Reading trace.Options
	// MostBytes is how large the traces in the file may get together: those that come
	// behind are listed, and not held. Zero is DefaultMostBytes. The first one is held.
	MostBytes int64
}

// DefaultMostBytes is how large the traces in a file get together: browsers open it at once,
// and mail takes it.
const DefaultMostBytes = 24 << 20

// Source is a trace to be shown.
type Source struct {
	// Name says which trace it is.
	Name string
	// Open opens it. It is called once. Nil has the trace listed alone.
	Open func() (io.ReadCloser, error)
}

// contents is what a page knows of itself: one JSON document beside the traces.
type contents struct {
	Title string `json:"title"`
	Written
	Verified any  `json:"verified,omitempty"`
	Explored any  `json:"explored,omitempty"`
	Watched  bool `json:"watched,omitempty"`
}

// Entry is what the list of traces says of one.
type Entry struct {
	Name      string        `json:"name"`
	Crossings int           `json:"crossings"`
	Elapsed   time.Duration `json:"elapsed"` // in nanoseconds
	// Status is how its last dispatch ended, and Errors how many error events there are.
	Status string `json:"status,omitempty"`
	Errors int    `json:"errors,omitempty"`
	// Fault says why there is no more of it.
	Fault string `json:"fault,omitempty"`
	// Held tells that its lines are in the page.
	Held bool `json:"held,omitempty"`
}

// Written is what became of what a page is of, in its order.
type Written struct {
	Traces   []Entry   `json:"traces"`
	Sessions []Journal `json:"sessions,omitempty"`
}

// Write writes the page. What cannot be read, or breaks off, is shown as far as it goes and
// says why it ends. The error is that of w, or of a source that somebody cancelled: then
// there is no page.
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

// Journal is what the list says of the journals of a folder.
type Journal struct {
	Folder string `json:"folder"`
	// Sessions are how many there are, and Steps how many were told of them.
	Sessions int `json:"sessions"`
	Steps    int `json:"steps"`
	// Faults say why there is no more of them.
	Faults []string `json:"faults,omitempty"`
	// Notes say what hosts have not ended.
	Notes []string `json:"notes,omitempty"`
	// Held tells that the steps are in the page.
	Held bool `json:"held,omitempty"`
}

// embedJournal writes the steps of the journals of a folder into an element of their own,
// as adkreplay show prints them as JSON, where they are to be held.
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
		_ = encoder.Encode(step) // its members are texts and numbers
	}
	one.Sessions = len(met)
	if held {
		out.text(`<script type="application/x-adkreplay-journal" id="journal-` + strconv.Itoa(number) + `">` + packedText(lines.String()) + "</script>\n")
	}
	return one
}

// embed writes the lines of a trace into an element of their own, and notes what they say
// on the whole.
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

// linesVersion is the version of the format in which a page holds traces: the one that the
// scripts read.
const linesVersion = 5

// copyLines writes the lines of a trace in the format of pages, and notes what the list says
// of them. The error says why there are no more.
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
				_ = w.Close() // for the header, which is written with what follows it
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

// counter counts what is written and remembers what went wrong.
type counter struct {
	w   *bufio.Writer
	n   int64
	err error
}

// Write writes unless that failed before.
func (c *counter) Write(text []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(text)
	c.n, c.err = c.n+int64(n), err
	return n, err
}

func (c *counter) text(text string) { _, _ = c.Write([]byte(text)) } // it remembers
