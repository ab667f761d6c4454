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

// Version is the version of the journals that this release writes.
const Version = 1

// header is the first line of a journal.
type header struct {
	Kind     string `json:"adkreplay"`
	Version  int    `json:"version"`
	Contract int    `json:"contract"`
	// Numbering identifies who numbered the placeholders, if the journal is redacted.
	Numbering string `json:"numbering,omitempty"`
}

// footer is the last line of a journal.
type footer struct {
	End    *int64 `json:"end"`
	SHA256 string `json:"sha256"`
}

// Recorder writes a journal. A failure to write does not disturb the host: Err returns it.
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

// Record returns a recorder that writes a journal to w, one write per step. It writes names and ids
// as they are; RecordHost redacts them.
func Record(w io.Writer) *Recorder { return &Recorder{w: w, sum: sha256.New()} }

// Step writes a step. It is for session.Config.Journal.
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

// line writes a line, unless an earlier write failed.
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

// Close writes the footer. Later steps are ignored. Close returns the first error of writing, as
// Err does.
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

// Err returns why the journal could not be written completely so far, or nil.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Journal is a journal that was read.
type Journal struct {
	// Contract is the revision of the engine's contract under which the journal was written.
	Contract int
	Steps    []session.Step
	// Sealed reports whether the journal is complete.
	Sealed bool

	places []place  // of the steps, if they were read
	open   []string // the files without a footer, if they were read
}

// place is the position of a step.
type place struct {
	file string
	line int
	// numbering identifies who numbered the placeholders of the file.
	numbering string
}

// placeOf returns the place of the step with the given index, or the zero place if it was not read.
func (j *Journal) placeOf(step int) place {
	if step < len(j.places) {
		return j.places[step]
	}
	return place{}
}

// FormatError says why a file cannot be read as a journal.
type FormatError struct {
	// File is trace.Options.File.
	File string
	// Line is the number of the line, from 1.
	Line int
	// Fault is the kind of failure, one of those of traces.
	Fault trace.Fault
	// Reason says what is wrong.
	Reason string
}

// Error returns the position, the fault and the reason.
func (e *FormatError) Error() string {
	place := "line " + strconv.Itoa(e.Line)
	if e.File != "" {
		place = safetext.Line(e.File) + ":" + strconv.Itoa(e.Line)
	}
	return fmt.Sprintf("replay: %s: %s: %s", place, e.Fault.Of("journal"), e.Reason)
}

// Begins reports whether the first line of a file says that it is a journal, whatever the file's
// name. It consumes nothing of in. It returns false for a compressed file.
func Begins(in interface{ Peek(n int) ([]byte, error) }) bool {
	begin, _ := in.Peek(longestHeader)
	line, _, ended := bytes.Cut(begin, []byte("\n"))
	var h header
	return ended && json.Unmarshal(line, &h) == nil && h.Kind == wire.JournalName
}

// longestHeader is the maximum length of a journal's first line, in bytes.
const longestHeader = 4 << 10

// Read reads a journal within the limits of the options: for a line, for the steps, which count as
// crossings, and for memory. A fault of the journal is a *FormatError; if it is after the header,
// Read also returns the steps before it. A journal without a footer is not sealed, which is no
// error. An incomplete last step is no error either, because its host may have been killed, or may
// still be writing. But if a step is missing before that, it is an error.
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
	number  int // of the last line read
	held    int64
	sum     hash.Hash
	journal *Journal

	numbering string
}

// end handles the end of the file. If there is no footer, it checks the numbers of the steps
// instead.
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

// next returns the next line without its line end. It returns an empty line at the end of the file.
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

// isBegun reports whether a text is the beginning of a line that its writer did not finish.
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

// take handles a line after the header.
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

// stepMemory is the memory of a step without its texts.
var stepMemory = int64(reflect.TypeFor[session.Step]().Size() + reflect.TypeFor[place]().Size())

// stepOf parses a line.
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

// Merge joins the journals of hosts. The steps of each session are ordered by epoch, and within an
// epoch by their numbers. Acceptances have no epoch, so they come first, ordered by Seq.
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

// inSession compares the positions of steps in their session. Hosts of earlier releases wrote the
// erasure of a session without an epoch; such a step comes last.
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
