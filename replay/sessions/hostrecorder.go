package sessions

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
)

// HostRecorder records everything that a host does in separate files: its journal, and one trace
// per turn. It is a probe for session.Config.Agent, and its Step is for session.Config.Journal.
// Failures do not disturb the host.
type HostRecorder struct {
	*replay.Recorder
	name string
	open func(file string) (io.WriteCloser, error)

	mu      sync.Mutex
	turns   int
	file    io.WriteCloser // the journal's file; nil before the first step
	journal *Recorder
	failure error // why there is no journal
	closed  bool
	masks   *masks
	refused error // error of the options; then nothing is recorded
}

const journalEnding = ".journal" + corpus.Ending

// RecordHost returns a recorder for the host with the given name. No other host that writes to the
// same folder may have that name. open creates a file: NAME.journal.jsonl for the journal, and
// NAME-1.jsonl and so on for the traces, in the order in which turns begin. options are those of
// the traces.
//
// What their Redact removes from the traces, it also removes from the journal: names and ids of
// sessions, deliveries and records, if a pattern matches in them, or if a path names the id of a
// record. The journal cannot know secrets that a path finds elsewhere. If a path removes
// session.seed, nothing is recorded, and Err says so immediately.
//
// What a path finds in a turn is also looked for in later turns of the session that this host runs,
// unless the options say otherwise (replay.RecordOptions.Conversation).
//
// Each host numbers its secrets independently. So if one folder has journals of several processes,
// sessions with redacted names are not replayed, and the report says so.
func RecordHost(name string, open func(file string) (io.WriteCloser, error), options ...replay.RecordOptions) *HostRecorder {
	o := optional.First(options)
	masks, err := newMasks(o.Redact)
	r := recordHost(name, open, masks.of(name), o)
	r.refused = err
	return r
}

// recordHost is RecordHost with masks that several hosts may share.
func recordHost(name string, open func(file string) (io.WriteCloser, error), masks *masks, o replay.RecordOptions) *HostRecorder {
	if o.Conversation == nil {
		o.Conversation = sessionOf
	}
	r := &HostRecorder{name: name, open: open, masks: masks}
	r.Recorder = replay.RecordEach(func(adk.RunInfo) (io.WriteCloser, error) {
		if r.refused != nil {
			return nil, r.refused
		}
		r.mu.Lock()
		r.turns++
		file := fmt.Sprintf("%s-%d%s", name, r.turns, corpus.Ending)
		r.mu.Unlock()
		return open(file)
	}, o)
	return r
}

// sessionOf returns the session that a turn belongs to, according to its first crossing, or "".
func sessionOf(first *adk.Crossing) string {
	stash, _ := first.Value.(map[string]any)
	seed, ok := seedIn(stash)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%q", []string{seed.Tenant, seed.Session})
}

// Step writes a step of the journal.
func (r *HostRecorder) Step(s session.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.refused != nil {
		return
	}
	if r.journal == nil && r.failure == nil {
		if r.file, r.failure = r.open(r.name + journalEnding); r.failure == nil {
			r.journal = Record(r.file)
			r.journal.masks = r.masks
		}
	}
	if r.journal != nil {
		r.journal.Step(s)
	}
}

// Err returns why nothing is recorded, or why traces have no footer or were not begun, as the
// Recorder's Err does.
func (r *HostRecorder) Err() error { return cmp.Or(r.refused, r.Recorder.Err()) }

// Close writes the journal's footer and closes the journal. Call it when the host has nothing in
// progress. The error joins all failures to write, including those of the traces. Without a step,
// there is no journal.
func (r *HostRecorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := errors.Join(r.Err(), r.failure)
	if r.journal != nil && !r.closed {
		err = errors.Join(err, r.journal.Close(), r.file.Close())
	}
	r.closed = true
	return err
}
