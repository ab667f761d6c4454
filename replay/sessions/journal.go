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
	"slices"
	"sync"

	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Version is that of the journals that this release writes.
const Version = 1

// kindOfFile is what the header of a journal says that it is.
const kindOfFile = "journal"

// header is the first line of a journal.
type header struct {
	Kind     string `json:"adkreplay"`
	Version  int    `json:"version"`
	Contract int    `json:"contract"`
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
}

// Record makes a recorder that writes a journal to w, a write a step.
func Record(w io.Writer) *Recorder { return &Recorder{w: w, sum: sha256.New()} }

// Step writes a step: it is for session.Config.Journal.
func (r *Recorder) Step(s session.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.begin()
	r.line(s)
	r.steps++
}

func (r *Recorder) begin() {
	if !r.begun {
		r.begun = true
		r.line(header{kindOfFile, Version, trace.ContractRevision})
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
}

// maxLine is how many bytes a line has at most.
const maxLine = 16 << 20

// Read reads a journal. Where that fails behind the header, it gives the steps before the
// failure too; one without a footer is not sealed, which is no error.
func Read(r io.Reader) (*Journal, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine)
	sum := sha256.New()
	var j *Journal
	for number := 1; scanner.Scan(); number++ {
		line := scanner.Bytes()
		wrong := func(format string, args ...any) (*Journal, error) {
			return j, fmt.Errorf("sessions: line %d: %s", number, fmt.Sprintf(format, args...))
		}
		if j != nil && j.Sealed {
			return wrong("more follows after the footer")
		}
		if number == 1 {
			var h header
			if json.Unmarshal(line, &h) != nil || h.Kind != kindOfFile {
				return wrong("this is no journal")
			}
			if h.Version != Version {
				return wrong("the journal is of version %d, this release knows %d", h.Version, Version)
			}
			j = &Journal{Contract: h.Contract}
		} else if f := (footer{}); json.Unmarshal(line, &f) == nil && f.End != nil {
			if *f.End != int64(len(j.Steps)) || f.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
				return wrong("the footer is that of another journal")
			}
			j.Sealed = true
		} else if err := j.step(line); err != nil {
			return wrong("%s", err)
		}
		sum.Write(line)
		sum.Write([]byte("\n"))
	}
	if err := scanner.Err(); err != nil {
		return j, fmt.Errorf("sessions: %w", err)
	}
	if j == nil {
		return nil, errors.New("sessions: the journal is empty")
	}
	return j, nil
}

// step reads a line.
func (j *Journal) step(line []byte) error {
	var s session.Step
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return fmt.Errorf("this is no step: %w", err)
	}
	if s.Kind == "" || s.Session == "" {
		return errors.New("this is no step: its kind or its session is missing")
	}
	j.Steps = append(j.Steps, s)
	return nil
}

// Merge brings the journals of hosts together: a session's steps are in order by epoch, and
// within one by their numbers. What was accepted comes before all others, by Seq.
func Merge(journals ...*Journal) *Journal {
	all := &Journal{Sealed: true}
	for _, j := range journals {
		all.Contract = max(all.Contract, j.Contract)
		all.Sealed = all.Sealed && j.Sealed
		all.Steps = append(all.Steps, j.Steps...)
	}
	slices.SortStableFunc(all.Steps, func(a, b session.Step) int {
		order := cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Epoch, b.Epoch))
		if order == 0 && a.Kind == session.StepAccepted && b.Kind == session.StepAccepted {
			return cmp.Compare(a.Seq, b.Seq)
		}
		return cmp.Or(order, cmp.Compare(a.N, b.N))
	})
	return all
}
