package replay

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
)

// The members of a footer that a redacted trace has.
const (
	memberRedacted    = "redacted"
	memberUnvalidated = "unvalidated"
)

// maxHeld is how many bytes of lines wait at most for the rest of what may be a
// secret.
const maxHeld = 4 << 20

// redactingWriter writes a redacted trace (see Redaction). A crossing becomes a
// line as it was told; the line waits while a stream in it is undecided; then it
// is redacted, read back, completed with what follows from its inputs, and
// written. So nothing of a Crossing is kept, and what is written can be read.
type redactingWriter struct {
	redactor *redactor
	out      *Writer
	begun    bool
	err      error

	lines  *encoder // as they were told
	reader *decoder // as they are redacted
	told   *Fold
	wrote  *Fold

	held        []*toldLine
	heldBytes   int
	streams     map[streamKey]*redactStream
	unvalidated int
}

// toldLine is a line that was told and is not written yet.
type toldLine struct {
	line []byte
	// stream is the stream that the line's delta belongs to, and where; nil for
	// other lines. whole tells that the line says the text so far as well.
	stream   *redactStream
	from, to int
	whole    bool
	// derived tells that what the engine says on the line followed from the
	// crossings before, so that it must follow from the redacted ones. op is the
	// execution that it belongs to.
	derived bool
	op      int
	// verdict is what an executed tool said of its arguments, if it was asked.
	verdict string
	judged  bool
}

// streamKey tells the streams of a run apart.
type streamKey struct {
	dispatch int // the call that runs the loop; 0 for what user code emits
	kind     adk.Kind
	id       string
	refused  bool
}

// path is where the deltas of a stream stand on their lines.
func (k streamKey) path() []string {
	if k.kind == adk.KindEmitMessage || k.kind == adk.KindEmitThought {
		return []string{"payload", eventDelta}
	}
	return []string{eventDelta}
}

// newRedactingWriter writes the redacted trace of a run to w, without what rules find.
// Its methods are those of a Writer of traces.
func newRedactingWriter(w io.Writer, h Header, rules *redactionRules, options Options) *redactingWriter {
	known, err := newSentinels(options.Sentinels)
	r := &redactingWriter{
		redactor: newRedactor(rules), err: err,
		lines: newEncoder(known), reader: newDecoder(known), told: NewFold(), wrote: NewFold(),
		streams: map[streamKey]*redactStream{},
	}
	h.Info = r.redactor.info(h.Info)
	r.out = NewWriter(w, h, options)
	return r
}

// info redacts the names that people gave to seams.
func (r *redactor) info(info adk.RunInfo) adk.RunInfo {
	info.Executor = r.text(info.Executor)
	for _, p := range pipelines(&info) {
		names := make([]string, len(*p.names))
		for i, name := range *p.names {
			names[i] = r.text(name)
		}
		*p.names = names
	}
	return info
}

// Write takes a crossing in, and writes what can be written.
func (r *redactingWriter) Write(c *adk.Crossing) error {
	if r.err == nil {
		r.err = r.take(c)
	}
	return r.err
}

func (r *redactingWriter) take(c *adk.Crossing) error {
	if !r.begun {
		r.begun, r.lines.last, r.reader.last = true, c.At, c.At
	}
	if err := r.lines.crossing(c, nil); err != nil {
		return fmt.Errorf("replay: writing crossing %d of a trace: %w", c.Seq, err)
	}
	h := &toldLine{line: bytes.Clone(r.lines.out[:len(r.lines.out)-1])}
	r.explain(h, c)
	r.stream(h, c)
	r.held = append(r.held, h)
	r.heldBytes += len(h.line)
	if err := r.release(); err != nil || len(r.held) == 0 {
		return err
	}
	return r.redactor.learn(h.line, h.stream != nil)
}

// explain notes what of a crossing follows from those before it.
func (r *redactingWriter) explain(h *toldLine, c *adk.Crossing) {
	switch {
	case c.Kind == adk.KindSight:
		h.derived = r.told.Check(c) == nil
	case c.Kind == adk.KindToolCallEvent:
		h.derived = r.told.CheckPayload(c) == nil
	case c.Kind == adk.KindToolExecutionStart:
		if call := r.told.calls[c.Call]; call != nil {
			h.derived = r.told.CheckPayload(c) == nil
			h.op = call.opOf(call.executionFor(c))
		}
	case c.Kind == adk.KindExecute && c.Phase == adk.Begin:
		tool, _ := c.Record.(*adk.Tool)
		h.verdict, h.judged = verdict(tool, c.Args)
	}
	_ = r.told.Apply(c) // what no engine tells is written as it was told
	if c.Kind == adk.KindCall && c.Seam.Label == adk.LabelTool {
		if call := r.told.calls[c.Call]; call != nil {
			h.op = call.opHandledBy(c.ID)
			h.derived = h.op != 0
		}
	}
}

// opOf is the number of the operation that an execution is of, 0 for none.
func (c *foldCall) opOf(e *foldExecution) int {
	for _, op := range c.executes {
		if &op.execution == e {
			return op.number
		}
	}
	return 0
}

// opHandledBy is the number of the execution whose handler is a call.
func (c *foldCall) opHandledBy(call int) int {
	for _, op := range c.executes {
		if h := op.execution.handler; h != nil && h.id == call {
			return op.number
		}
	}
	return 0
}

// stream adds the delta of a crossing to its stream, and ends the streams that
// the crossing ends.
func (r *redactingWriter) stream(h *toldLine, c *adk.Crossing) {
	key := streamKey{kind: c.Kind, id: c.Name, refused: c.Err != nil}
	switch c.Kind {
	case adk.KindReportMessage, adk.KindReportThought:
		if call := r.told.calls[c.Call]; call != nil && call.dispatch != nil {
			key.dispatch = call.dispatch.call.id
		}
		r.delta(h, key, c.Text, c.Flag)
	case adk.KindEmitMessage, adk.KindEmitThought:
		if u, ok := streamUpdate(c.Payload); ok && c.Phase == adk.Begin {
			key.id, key.refused = u.ID, false
			r.delta(h, key, u.Delta, u.Complete)
			h.whole = u.Full == h.stream.text.String()
		}
	case adk.KindDispatchEnd:
		r.endStreams(func(key streamKey) bool { return key.dispatch == c.Call })
	case adk.KindReturn:
		if c.ID == runCall {
			r.endStreams(func(streamKey) bool { return true })
		}
	}
}

func streamUpdate(payload any) (adk.StreamUpdate, bool) {
	switch event := payload.(type) {
	case adk.MessageEvent:
		return adk.StreamUpdate(event), true
	case adk.ThoughtEvent:
		return adk.StreamUpdate(event), true
	}
	return adk.StreamUpdate{}, false
}

func (r *redactingWriter) delta(h *toldLine, key streamKey, delta string, last bool) {
	s := r.streams[key]
	if s == nil {
		s = newRedactStream(r.redactor, key.path()...)
		r.streams[key] = s
	}
	h.stream = s
	h.from, h.to = s.add(delta, last && !key.refused)
	if s.over {
		delete(r.streams, key) // what comes under its id is another
	}
}

func (r *redactingWriter) endStreams(which func(streamKey) bool) {
	for key, s := range r.streams { // in any order: each is decided by itself
		if which(key) {
			s.end()
			delete(r.streams, key)
		}
	}
}

// release writes the lines that wait for nothing more.
func (r *redactingWriter) release() error {
	for len(r.held) > 0 {
		h := r.held[0]
		if s := h.stream; s != nil && h.to > s.decided {
			if r.heldBytes <= maxHeld {
				return nil
			}
			s.close()
		}
		r.held = r.held[1:]
		r.heldBytes -= len(h.line)
		if err := r.write(h); err != nil {
			return err
		}
	}
	return nil
}

// write writes a line that is decided.
func (r *redactingWriter) write(h *toldLine) error {
	line, err := r.redactor.line(h.line, h.stream != nil)
	if err == nil {
		err = r.reader.scan(line)
	}
	var l Line
	if err == nil {
		l.Extra, err = r.reader.crossing(&l.Crossing)
	}
	if err != nil {
		return fmt.Errorf("replay: crossing %d cannot be redacted: %w", r.reader.seq+1, err)
	}
	c := &l.Crossing
	if c.Seam.Label != adk.LabelStorage { // whose names are the format's
		c.Seam.Name = r.redactor.text(c.Seam.Name)
	}
	r.deltas(h, c)
	r.derive(h, c)
	_ = r.wrote.Apply(c)
	return r.out.Write(c)
}

// deltas puts in what of a stream is written on a line.
func (r *redactingWriter) deltas(h *toldLine, c *adk.Crossing) {
	s := h.stream
	if s == nil {
		return
	}
	switch event := c.Payload.(type) {
	case adk.MessageEvent:
		event.Delta, event.Full = s.between(h.from, h.to), r.full(h, event.Full)
		c.Payload = event
	case adk.ThoughtEvent:
		event.Delta, event.Full = s.between(h.from, h.to), r.full(h, event.Full)
		c.Payload = event
	default:
		c.Text = s.between(h.from, h.to)
	}
}

// full is what is written of the text so far that user code emitted.
func (r *redactingWriter) full(h *toldLine, text string) string {
	if kind := r.redactor.rules.kindOf([]string{"payload", eventFull}); kind != "" && text != "" {
		return r.redactor.placeholder(kind, text)
	}
	if h.whole {
		return h.stream.upTo(h.to)
	}
	return r.redactor.text(text)
}

// derive makes anew what the engine made of inputs that may be redacted now.
func (r *redactingWriter) derive(h *toldLine, c *adk.Crossing) {
	if h.judged {
		tool, _ := c.Record.(*adk.Tool)
		variant, unvalidated := asJudged(tool, c.Args, r.redactor.uncounted(h.verdict))
		if unvalidated {
			c.Record = variant
			r.unvalidated++
		}
	}
	if !h.derived {
		return
	}
	switch c.Kind {
	case adk.KindSight:
		c.Digest = r.wrote.Sight(c.Call).Digest()
	case adk.KindToolCallEvent:
		if e, ok := r.wrote.Payload(c).(adk.ToolCallEvent); ok {
			c.Key = e.Checksum
		}
	case adk.KindToolExecutionStart:
		if op := r.wrote.ops[h.op]; op != nil {
			c.Key = op.execution.callID
		}
	case adk.KindCall:
		if op := r.wrote.ops[h.op]; op != nil && op.execution.tool != nil {
			if validated, err := op.execution.tool.Validate(op.execution.args); err == nil {
				c.Args = validated
			}
		}
	}
}

// Close writes what waits still, and the footer.
func (r *redactingWriter) Close() error {
	if r.err != nil {
		return r.err
	}
	r.endStreams(func(streamKey) bool { return true })
	if r.err = r.release(); r.err != nil {
		return r.err
	}
	extra := []Member{{Name: memberRedacted, Value: strconv.AppendInt(nil, int64(r.redactor.count), 10), Before: memberSHA256}}
	if r.unvalidated > 0 {
		extra = append(extra, Member{Name: memberUnvalidated, Value: strconv.AppendInt(nil, int64(r.unvalidated), 10), Before: memberSHA256})
	}
	r.err = errClosed
	return r.out.close(extra)
}
