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

// HostRecorder writes down all that a host does, each in a file of its own: its journal, and
// a trace a turn. It is a probe for session.Config.Agent, and its Step is for
// session.Config.Journal. Like its parts it disturbs nothing.
type HostRecorder struct {
	*replay.Recorder
	name string
	open func(file string) (io.WriteCloser, error)

	mu      sync.Mutex
	turns   int
	file    io.WriteCloser // of the journal; nil before its first step
	journal *Recorder
	failure error // why there is no journal
	closed  bool
	masks   *masks
	refused error // of the options: nothing is recorded
}

const journalEnding = ".journal" + corpus.Ending

// RecordHost makes a recorder for a host of a name, which no other has that writes to the
// same folder. open makes a file: NAME.journal.jsonl, and NAME-1.jsonl and so on in the order
// in which turns begin. options are those of the traces. What their Redact takes out, the
// journal does not say either: names and ids of sessions, deliveries and records, where a
// pattern finds something in them, or a path names the id of a record. What only a path finds
// elsewhere the journal cannot know. With a path that takes out session.seed nothing is
// recorded, and Err says so at once.
//
// What a path finds in a turn is looked for in the later turns of the session, as far as this
// host runs them, unless options say otherwise (replay.RecordOptions.Conversation).
//
// Each host numbers its secrets by itself. So sessions whose names are redacted are not played
// where journals of several processes lie in one folder, which is told.
func RecordHost(name string, open func(file string) (io.WriteCloser, error), options ...replay.RecordOptions) *HostRecorder {
	o := optional.First(options)
	masks, err := newMasks(o.Redact)
	r := recordHost(name, open, masks.of(name), o)
	r.refused = err
	return r
}

// recordHost is RecordHost with masks that others may share.
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

// sessionOf names the session that a turn is of, by its first crossing; empty for none.
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

// Err is why the traces have no footer or were not begun, as of the Recorder, or why nothing
// is recorded.
func (r *HostRecorder) Err() error { return cmp.Or(r.refused, r.Recorder.Err()) }

// Close writes the journal's footer and closes it, when the host has nothing under way. The
// error joins what could not be written, of the traces too. A journal without a step is none.
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
