package sessions

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/internal/jsonfault"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Version is that of the journals that this release writes.
const Version = 1

// header is the first line of a journal.
type header struct {
	Kind     string `json:"adkreplay"`
	Version  int    `json:"version"`
	Contract int    `json:"contract"`
	// Numbering names whose numbers placeholders have, where secrets are taken out.
	Numbering string `json:"numbering,omitempty"`
}

// footer is the last one.
type footer struct {
	End    *int64 `json:"end"`
	SHA256 string `json:"sha256"`
}

// Recorder writes a journal. One that cannot be written disturbs nothing: Err says why.
type Recorder struct {
	mu    sync.Mutex
	w     io.Writer
	sum   hash.Hash
	steps int64
	begun bool
	over  bool
	err   error
	masks *masks
}

// Record makes a recorder that writes a journal to w, a write a step, with the names and ids that
// it is told: RecordHost takes out of them what rules say.
func Record(w io.Writer) *Recorder { return &Recorder{w: w, sum: sha256.New()} }

// Step writes a step: it is for session.Config.Journal.
func (r *Recorder) Step(s session.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.begin()
	r.line(r.masks.step(s))
	r.steps++
}

func (r *Recorder) begin() {
	if !r.begun {
		r.begun = true
		h := header{Kind: wire.JournalName, Version: Version, Contract: trace.ContractRevision}
		if r.masks != nil {
			h.Numbering = r.masks.numbering
		}
		r.line(h)
	}
}

// line writes a line, unless an earlier one could not be written.
func (r *Recorder) line(value any) {
	if r.err != nil {
		return
	}
	text, err := json.Marshal(value)
	if err == nil {
		text = append(text, '\n')
		r.sum.Write(text)
		_, err = r.w.Write(text)
	}
	r.err = err
}

// Close writes the footer. Steps that come later are not written. It gives the first error
// of writing, as Err does.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.begin()
		steps := r.steps
		r.line(footer{&steps, hex.EncodeToString(r.sum.Sum(nil))})
		r.over = true
	}
	return r.err
}

// Err is why the journal could not be written to its end so far, or nil.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Journal is a journal that was read.
type Journal struct {
	// Contract is the revision of the engine's contract that it was written under.
	Contract int
	Steps    []session.Step
	// Sealed reports whether it is whole.
	Sealed bool

	places []place  // of the steps, where they were read
	open   []string // the files that are not sealed, where they were read
}

// place is where a step stands.
type place struct {
	file string
	line int
	// numbering is whose numbers the placeholders of the file have.
	numbering string
}

// placeOf is where a step stands, by its place among all; the zero place of one that was not
// read.
func (j *Journal) placeOf(step int) place {
	if step < len(j.places) {
		return j.places[step]
	}
	return place{}
}

// FormatError says why a file cannot be read as a journal: where, what, and what would be
// right.
type FormatError struct {
	// File is trace.Options.File.
	File string
	// Line is the number of the line, from 1.
	Line int
	// Fault is the kind of the failure, one of a trace's.
	Fault trace.Fault
	// Reason says what is wrong.
	Reason string
}

// Error is the place, the fault and the reason.
func (e *FormatError) Error() string {
	place := "line " + strconv.Itoa(e.Line)
	if e.File != "" {
		place = safetext.Line(e.File) + ":" + strconv.Itoa(e.Line)
	}
	return fmt.Sprintf("replay: %s: %s: %s", place, e.Fault.Of("journal"), e.Reason)
}

// Begins reports whether a file says in its first line that it is a journal, whatever its
// name. It takes nothing from in, and tells nothing of a file that is compressed.
func Begins(in interface{ Peek(n int) ([]byte, error) }) bool {
	begin, _ := in.Peek(longestHeader)
	line, _, ended := bytes.Cut(begin, []byte("\n"))
	var h header
	return ended && json.Unmarshal(line, &h) == nil && h.Kind == wire.JournalName
}

// longestHeader is how many bytes the first line of a journal has at most.
const longestHeader = 4 << 10

// Read reads a journal, within the limits of options for a line, for the steps, which count
// as crossings do, and for what is held. What is wrong with it is a *FormatError; where that
// is behind the header, Read gives the steps before it too. One without a footer is not
// sealed, which is no error, and neither is a last step that ends in the middle: its host was
// killed, or may still write it. But no step is missing before that.
func Read(r io.Reader, options ...trace.Options) (*Journal, error) {
	in := &reader{lines: bufio.NewReaderSize(r, 16<<10), options: optional.First(options), sum: sha256.New()}
	if err := in.header(); err != nil {
		return nil, err
	}
	for {
		line, err := in.next()
		if err == nil && len(line) > 0 {
			err = in.take(line)
		}
		if err == nil && len(line) == 0 {
			err = in.end()
		}
		if err != nil || len(line) == 0 {
			return in.journal, err
		}
	}
}

// reader reads one journal.
type reader struct {
	lines   *bufio.Reader
	options trace.Options
	number  int // of the line that was read last
	held    int64
	sum     hash.Hash
	journal *Journal

	numbering string
}

// end is at the end of the file. What no footer vouches for has the numbers of its steps.
func (r *reader) end() error {
	j := r.journal
	if j.Sealed {
		return nil
	}
	if r.options.File != "" {
		j.open = []string{r.options.File}
	}
	last := map[string]int64{}
	for i, s := range j.Steps {
		if s.N != last[s.Host]+1 && s.N != 1 {
			r.number = j.placeOf(i).line
			return r.fail(trace.FaultCount, "steps are missing: %d of host %.64q follows on %d, and there is no footer", s.N, s.Host, last[s.Host])
		}
		last[s.Host] = s.N
	}
	return nil
}

func (r *reader) fail(fault trace.Fault, format string, args ...any) error {
	return &FormatError{File: r.options.File, Line: r.number, Fault: fault, Reason: fmt.Sprintf(format, args...)}
}

// next is the next line without its end; empty at the end of the file.
func (r *reader) next() ([]byte, error) {
	r.number++
	most, beyond := r.options.Bound("line")
	var line []byte
	for {
		piece, err := r.lines.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case int64(len(line)) > most:
			return nil, r.fail(trace.FaultTooLarge, "%s", beyond)
		case err == nil && len(line) == 1:
			return nil, r.fail(trace.FaultMalformed, "the line is empty")
		case err == nil:
			return line[:len(line)-1], nil
		case err == io.EOF && r.journal != nil && !r.journal.Sealed && isBegun(line):
			return nil, nil
		case err == io.EOF && len(line) > 0:
			return nil, r.fail(trace.FaultTruncated, "the line has no end: the file was cut short within it")
		case err == io.EOF:
			return nil, nil
		case err != bufio.ErrBufferFull:
			return nil, fmt.Errorf("replay: reading line %d of a journal: %w", r.number, err)
		}
	}
}

// isBegun reports whether a text is the beginning of a line that its writer did not end.
func isBegun(text []byte) bool {
	var line json.RawMessage
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&line)
	return bytes.HasPrefix(text, []byte("{")) && (err == nil || errors.Is(err, io.ErrUnexpectedEOF))
}

// header reads the first line.
func (r *reader) header() error {
	line, err := r.next()
	var h header
	switch {
	case err != nil:
		return err
	case len(line) == 0:
		return r.fail(trace.FaultTruncated, "it is empty")
	case wire.Conflict(line) != "":
		return r.fail(trace.FaultMalformed, "%s", wire.Conflict(line))
	case json.Unmarshal(line, &h) != nil || h.Kind != wire.JournalName:
		return r.fail(trace.FaultForeign, `want a header that begins {"adkreplay":%q,"version":%d`, wire.JournalName, Version)
	case h.Version != Version:
		return r.fail(trace.FaultVersion, "the journal's version is %d: this program reads %d; a newer adkreplay may read it", h.Version, Version)
	}
	r.journal = &Journal{Contract: h.Contract}
	r.numbering = h.Numbering
	r.add(line)
	return nil
}

func (r *reader) add(line []byte) {
	r.sum.Write(line)
	r.sum.Write([]byte("\n"))
}

// take takes a line behind the header.
func (r *reader) take(line []byte) error {
	j := r.journal
	if j.Sealed {
		return r.fail(trace.FaultMalformed, "more follows after the footer, which ends a journal")
	}
	var f footer
	if json.Unmarshal(line, &f) == nil && f.End != nil {
		switch {
		case *f.End != int64(len(j.Steps)):
			return r.fail(trace.FaultCount, "the footer is that of another journal: it counts %d steps, and there are %d", *f.End, len(j.Steps))
		case f.SHA256 != hex.EncodeToString(r.sum.Sum(nil)):
			return r.fail(trace.FaultDigest, "%s", wire.CheckedOut(line, "the footer is that of another journal: something changed the lines above after they were written"))
		}
		j.Sealed = true
		return nil
	}
	step, err := stepOf(line)
	switch {
	case err != nil && wire.Conflict(line) != "":
		return r.fail(trace.FaultMalformed, "%s", wire.Conflict(line))
	case err != nil:
		return r.fail(trace.FaultMalformed, "this is no step: %s", err)
	}
	j.Steps, j.places = append(j.Steps, step), append(j.places, place{r.options.File, r.number, r.numbering})
	r.held += int64(len(line)) + stepMemory
	r.add(line)
	if most, beyond := r.options.Bound("crossings"); int64(len(j.Steps)) > most {
		return r.fail(trace.FaultTooLarge, "%s", beyond)
	}
	if most, beyond := r.options.Bound("memory"); r.held > most {
		return r.fail(trace.FaultTooLarge, "%s", beyond)
	}
	return nil
}

// stepMemory is what a step takes that is held, but for its texts.
var stepMemory = int64(reflect.TypeFor[session.Step]().Size() + reflect.TypeFor[place]().Size())

// stepOf reads a line.
func stepOf(line []byte) (s session.Step, err error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&s)
	if _, more := decoder.Token(); err == nil && more != io.EOF {
		err = errors.New("there is more behind the object")
	}
	switch {
	case err != nil:
		return s, jsonfault.Of(err)
	case s.Kind == "" || s.Session == "":
		return s, errors.New("its kind or its session is missing")
	case !slices.Contains(session.StepKinds(), s.Kind):
		return s, fmt.Errorf("there is no kind %.32q", s.Kind)
	}
	return s, nil
}

// Merge brings the journals of hosts together: a session's steps are in order by epoch, and
// within one by their numbers. What was accepted comes before all others, by Seq.
func Merge(journals ...*Journal) *Journal {
	all := &Journal{Sealed: true}
	type told struct {
		session.Step
		place
	}
	var steps []told
	for _, j := range journals {
		all.Contract = max(all.Contract, j.Contract)
		all.Sealed = all.Sealed && j.Sealed
		all.open = append(all.open, j.open...)
		for i, s := range j.Steps {
			steps = append(steps, told{s, j.placeOf(i)})
		}
	}
	slices.SortStableFunc(steps, func(a, b told) int { return inSession(a.Step, b.Step) })
	for _, s := range steps {
		all.Steps, all.places = append(all.Steps, s.Step), append(all.places, s.place)
	}
	return all
}

// inSession compares steps by their places in their session. Hosts of earlier releases tell that
// one was erased without an epoch: nothing of it comes after that.
func inSession(a, b session.Step) int {
	epoch := func(s session.Step) int64 {
		if s.Kind == session.StepErased && s.Epoch == 0 {
			return math.MaxInt64
		}
		return s.Epoch
	}
	accepted := func(s session.Step) int64 {
		if s.Kind == session.StepAccepted {
			return s.Seq
		}
		return math.MaxInt64
	}
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Session, b.Session), cmp.Compare(epoch(a), epoch(b)),
		cmp.Compare(accepted(a), accepted(b)), cmp.Compare(a.N, b.N), cmp.Compare(a.Host, b.Host))
}
