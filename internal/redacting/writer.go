package redacting

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// maxHeld is how many bytes of lines may wait for the rest of what may be a secret.
const maxHeld = 4 << 20

// Writer writes a redacted trace (see redact.Rules). A crossing becomes a line at once, so nothing
// of the Crossing is kept. The line waits while a stream in it is undecided. Then it is redacted,
// read back, completed with what follows from its inputs, and written. So whatever is written can
// be read.
type Writer struct {
	redactor *redactor
	among    *Conversations       // whose conversation the run may join; nil once that is decided, or for none
	open     func() *trace.Writer // writes the header
	out      *trace.Writer        // nil before the first crossing
	begun    bool
	err      error

	lines  *wire.Encoder // encodes the original lines
	reader *wire.Decoder // decodes the redacted lines
	told   *state.Fold
	wrote  *state.Fold

	held        []*toldLine
	heldBytes   int
	streams     map[streamKey]*redactStream
	asks        map[int]*pieceStreams
	unvalidated int
}

// toldLine is a line that is not written yet.
type toldLine struct {
	line []byte
	// stream is the stream that the line's delta belongs to, and from and to are its range there;
	// stream is nil for other lines. whole says that the line also has the text so far.
	stream   *redactStream
	from, to int
	whole    bool
	// pieces are the texts of a piece of an answer, in order.
	pieces []pieceText
	// names and sums are what namesIn and sumsIn return for the original crossing.
	names, sums []string
	// derived says that what the engine recorded on the line followed from the crossings before it,
	// so that it must also follow from the redacted ones. op is the execution that the line belongs
	// to.
	derived bool
	op      int
	// verdict is what an executed tool's schema said of its arguments, if judged is set.
	verdict string
	judged  bool
}

// streamKey identifies a stream of a run.
type streamKey struct {
	dispatch int // the call that runs the loop; 0 for what user code emits
	kind     adk.Kind
	id       string
	refused  bool
}

// path returns the path of the deltas of a stream on their lines.
func (k streamKey) path() []string {
	if k.kind.Emits() {
		return []string{"payload", wire.EventDelta}
	}
	return []string{wire.EventDelta}
}

// NewWriter returns a writer that writes the redacted trace of a run to w. It has the methods of a
// trace.Writer.
func NewWriter(w io.Writer, h trace.Header, rules *Compiled, options trace.Options) *Writer {
	return NewWriterIn(nil, w, h, rules, options)
}

// NewWriterIn is like NewWriter, for a run that may belong to one of some conversations.
func NewWriterIn(among *Conversations, w io.Writer, h trace.Header, rules *Compiled, options trace.Options) *Writer {
	known, err := wire.NewSentinels(options.Sentinels, options.ErrorTypes)
	r := &Writer{
		redactor: newRedactor(rules), among: among, err: err,
		lines: wire.NewEncoder(known), reader: wire.NewDecoder(known), told: state.New(), wrote: state.New(),
		streams: map[streamKey]*redactStream{}, asks: map[int]*pieceStreams{},
	}
	r.open = func() *trace.Writer {
		h.Info = r.redactor.info(h.Info)
		return trace.NewWriter(w, h, options)
	}
	return r
}

// Text redacts a text that is not in the run. It removes what the rules find in the text and what
// was found in the run so far.
func (r *Writer) Text(text string) string { return r.redactor.uncounted(text) }

// Carry says that the run has placeholders already; they are kept and counted.
func (r *Writer) Carry() { r.redactor.carries = true }

// Instead writes recorded wherever the text said occurs. said is an encoded placeholder that the
// run carries; recorded is the encoding of the secret itself as it was recorded.
func (r *Writer) Instead(said, recorded string) {
	r.redactor.numbered[said] = recorded
	r.redactor.hunt(kindEncoded, said)
}

// kindEncoded is the kind of the texts that Instead looks for. Their placeholders have their own
// kinds.
const kindEncoded = "encoded"

// info redacts the names that people gave to seams.
func (r *redactor) info(info adk.RunInfo) adk.RunInfo {
	for _, n := range wire.Named(&info) {
		names := n.All()
		for i := range names {
			names[i] = r.name(names[i])
		}
		n.Put(names)
	}
	return info
}

// Write takes in a crossing, and writes the lines that are ready.
func (r *Writer) Write(c *adk.Crossing) error {
	if r.err == nil {
		r.err = r.take(c)
	}
	return r.err
}

func (r *Writer) take(c *adk.Crossing) error {
	if !r.begun {
		r.begun, r.lines.Last, r.reader.Last = true, c.At, c.At
	}
	if r.among != nil && c.Kind.Class() == adk.ClassCall { // a cancel may come before it
		r.redactor.join(r.among.begun(c))
		r.among = nil
	}
	if err := r.lines.Crossing(c, nil); err != nil {
		return fmt.Errorf("replay: writing crossing %d of a trace: %w", c.Seq, err)
	}
	h := &toldLine{line: bytes.Clone(r.lines.Out[:len(r.lines.Out)-1]), names: namesIn(c), sums: sumsIn(c)}
	if err := r.begin(h); err != nil {
		return err
	}
	r.explain(h, c)
	if err := r.stream(h, c); err != nil {
		return fmt.Errorf("replay: crossing %d cannot be redacted: %w", c.Seq, err)
	}
	r.held = append(r.held, h)
	r.heldBytes += len(h.line)
	if err := r.release(); err != nil || len(r.held) == 0 {
		return err
	}
	return r.redactor.learn(h.line, h.stream != nil)
}

// begin writes the header of the trace when the first crossing has come, so that the names of seams
// are also redacted by what paths find in the run's inputs.
func (r *Writer) begin(first *toldLine) error {
	if r.out != nil {
		return nil
	}
	if first != nil {
		if err := r.redactor.learn(first.line, false); err != nil {
			return fmt.Errorf("replay: crossing 1 cannot be redacted: %w", err)
		}
	}
	r.out = r.open()
	return nil
}

// recordsIn returns the records of a crossing.
func recordsIn(c *adk.Crossing) []adk.Record {
	if c.Record == nil {
		return c.Records
	}
	return append([]adk.Record{c.Record}, c.Records...)
}

// namesIn returns the names that a crossing gives to later seams: those of tools and of a strand.
func namesIn(c *adk.Crossing) (names []string) {
	if c.Kind.LeadsTo() == adk.LabelStrand {
		names = append(names, c.Name)
	}
	for _, record := range recordsIn(c) {
		if tool, ok := record.(*adk.Tool); ok && tool != nil {
			names = append(names, tool.Name())
		}
	}
	return names
}

// sumsIn returns the checksums of the tool calls in a crossing. Texts may contain them, and the
// checksum of short or few arguments can be guessed.
func sumsIn(c *adk.Crossing) (sums []string) {
	if tool, ok := c.Record.(*adk.Tool); ok && tool != nil && wire.RunsTool(c) {
		if args, err := canonical.Object(c.Args); err == nil {
			if sum, err := canonical.Checksum(tool.Name(), args); err == nil {
				sums = append(sums, sum)
			}
		}
	}
	for _, record := range recordsIn(c) {
		if call, ok := record.(*adk.ToolCall); ok && call != nil {
			sums = append(sums, call.Checksum())
		}
	}
	return sums
}

// explain records what on a line follows from the crossings before it.
func (r *Writer) explain(h *toldLine, c *adk.Crossing) {
	switch {
	case c.Kind.Uses(adk.FieldDigest):
		h.derived = r.told.Check(c) == nil
	case c.Kind.Names(adk.Checksum):
		h.derived = r.told.CheckPayload(c) == nil
		if call := r.told.Calls[c.Call]; call != nil {
			h.op = call.OpOf(call.ExecutionFor(c))
		}
	case wire.RunsTool(c):
		tool, _ := c.Record.(*adk.Tool)
		h.verdict, h.judged = verdict(tool, c.Args)
	}
	_ = r.told.Apply(c) // a line that no engine may record is written as it is
	if c.Kind == adk.KindCall && c.Seam.Label == adk.LabelTool {
		if call := r.told.Calls[c.Call]; call != nil {
			h.op = call.OpHandledBy(c.ID)
			h.derived = h.op != 0
		}
	}
}

// stream adds the delta of a crossing to its stream, and ends the streams that the crossing ends.
func (r *Writer) stream(h *toldLine, c *adk.Crossing) error {
	key := streamKey{kind: c.Kind, id: c.Name, refused: c.Err != nil}
	switch {
	case wire.ReportsText(c):
		if call := r.told.Calls[c.Call]; call != nil && call.Dispatch != nil {
			key.dispatch = call.Dispatch.Call.ID
		}
		r.delta(h, key, c.Text, c.Flag)
	case c.Kind.Emits() && c.Phase == adk.Begin:
		if u, ok := streamUpdate(c.Payload); ok {
			key.id, key.refused = u.ID, false
			r.delta(h, key, u.Delta, u.Complete)
			h.whole = u.Full == h.stream.Text.String()
		}
	case wire.IsPiece(c):
		return r.pieces(h, c)
	case wire.EndsAsk(c):
		r.endPieces(c.Op)
	case wire.EndsDispatch(c):
		r.endStreams(func(key streamKey) bool { return key.dispatch == c.Call })
	case c.Kind == adk.KindReturn && c.ID == calls.RunCall:
		r.endAll()
	}
	return nil
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

func (r *Writer) delta(h *toldLine, key streamKey, delta string, last bool) {
	s := r.streams[key]
	if s == nil {
		s = newRedactStream(r.redactor, key.path()...)
		r.streams[key] = s
	}
	h.stream = s
	h.from, h.to = s.Add(delta, last && !key.refused)
	if s.over {
		delete(r.streams, key) // a later delta with the same id begins a new stream
	}
}

func (r *Writer) endStreams(which func(streamKey) bool) {
	for key, s := range r.streams { // the order does not matter: each stream is independent
		if which(key) {
			s.End()
			delete(r.streams, key)
		}
	}
}

// endAll ends all streams.
func (r *Writer) endAll() {
	r.endStreams(func(streamKey) bool { return true })
	for op := range r.asks {
		r.endPieces(op)
	}
}

// undecided returns the streams that a line waits for.
func (h *toldLine) undecided() (streams []*redactStream) {
	if h.stream != nil && h.to > h.stream.decided {
		streams = append(streams, h.stream)
	}
	for _, p := range h.pieces {
		if p.to > p.stream.decided {
			streams = append(streams, p.stream)
		}
	}
	return streams
}

// release writes the lines at the front that wait for nothing. If too many bytes wait, it closes
// the streams that the first line waits for.
func (r *Writer) release() error {
	for len(r.held) > 0 {
		h := r.held[0]
		if waits := h.undecided(); len(waits) > 0 {
			if r.heldBytes <= maxHeld {
				return nil
			}
			for _, s := range waits {
				s.close()
			}
		}
		r.held = r.held[1:]
		r.heldBytes -= len(h.line)
		if err := r.write(h); err != nil {
			return err
		}
	}
	return nil
}

// write redacts and writes a line that is decided.
func (r *Writer) write(h *toldLine) error {
	line, err := r.redactor.Line(h.line, h.stream != nil, h.pieces...)
	if err == nil {
		err = r.reader.Scan(line)
	}
	var l trace.Line
	if err == nil {
		l.Extra, err = r.reader.Crossing(&l.Crossing)
	}
	if err != nil {
		return fmt.Errorf("replay: crossing %d cannot be redacted: %w", r.reader.Seq+1, err)
	}
	c := &l.Crossing
	if c.Seam.Label != adk.LabelStorage { // the names of storages belong to the format
		c.Seam.Name = r.redactor.name(c.Seam.Name)
	}
	if written := namesIn(c); len(written) == len(h.names) {
		for i, name := range h.names {
			r.redactor.nameAs(name, written[i])
		}
	}
	if written := sumsIn(c); len(written) == len(h.sums) {
		for i, sum := range h.sums {
			r.redactor.sumAs(sum, written[i])
		}
	}
	r.deltas(h, c)
	r.derive(h, c)
	_ = r.wrote.Apply(c)
	return r.out.Write(c)
}

// deltas sets the redacted delta of a line.
func (r *Writer) deltas(h *toldLine, c *adk.Crossing) {
	s := h.stream
	if s == nil {
		return
	}
	switch event := c.Payload.(type) {
	case adk.MessageEvent:
		event.Delta, event.Full = s.Between(h.from, h.to), r.full(h, event.Full)
		c.Payload = event
	case adk.ThoughtEvent:
		event.Delta, event.Full = s.Between(h.from, h.to), r.full(h, event.Full)
		c.Payload = event
	default:
		c.Text = s.Between(h.from, h.to)
	}
}

// full returns the redacted text so far of an event that user code emitted.
func (r *Writer) full(h *toldLine, text string) string {
	if kind := r.redactor.rules.kindOf([]string{"payload", wire.EventFull}); kind != "" && text != "" {
		return r.redactor.placeholder(kind, text)
	}
	if h.whole {
		return h.stream.UpTo(h.to)
	}
	return r.redactor.textAt(nil, text)
}

// derive recomputes what the engine computed from inputs that may be redacted now.
func (r *Writer) derive(h *toldLine, c *adk.Crossing) {
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
	switch {
	case c.Kind.Uses(adk.FieldDigest):
		c.Digest = r.wrote.Digest(c.Call)
	case wire.ToolBegins(c):
		if op := r.wrote.Ops[h.op]; op != nil {
			c.Key = op.Execution.CallID
		}
	case c.Kind.Names(adk.Checksum):
		if e, ok := r.wrote.Payload(c).(adk.ToolCallEvent); ok {
			c.Key = e.Checksum
		}
	case c.Kind == adk.KindCall:
		if op := r.wrote.Ops[h.op]; op != nil && op.Execution.Tool != nil {
			if validated, err := op.Execution.Tool.Validate(op.Execution.Args); err == nil {
				c.Args = validated
			}
		}
	}
}

// Close writes the lines that still wait, and the footer.
func (r *Writer) Close() error {
	if r.err != nil {
		return r.err
	}
	r.endAll()
	if r.err = r.begin(nil); r.err != nil {
		return r.err
	}
	if r.err = r.release(); r.err != nil {
		return r.err
	}
	extra := []wire.Member{{Name: wire.MemberRedacted, Value: strconv.AppendInt(nil, int64(r.redactor.Count), 10), Before: wire.MemberSHA256}}
	if r.unvalidated > 0 {
		extra = append(extra, wire.Member{Name: wire.MemberUnvalidated, Value: strconv.AppendInt(nil, int64(r.unvalidated), 10), Before: wire.MemberSHA256})
	}
	r.err = trace.ErrClosed
	return r.out.CloseWith(extra)
}
