package property

import (
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// reportedNotStored: the turn's own dispatch was acked, a message or a tool call in it was reported
// complete, but no record with its id, or with its text, was stored or added in the turn. It gives
// no hint about dispatches that user code called, which may use the text as they like, nor about
// thoughts.
type reportedNotStored struct {
	reported reportedStreams
	kept     map[string]bool // ids and texts of records
}

// reportedStreams holds what is reported, in the order of the first reports.
type reportedStreams struct {
	all   []*reportedStream
	byKey map[streamKey]*reportedStream
}

// reportedStream is a message, a thought or a tool call that was reported.
type reportedStream struct {
	key      streamKey
	text     strings.Builder
	from, to int // places of the first and the last report
	at       *seamCall
	complete bool
}

func (w *reportedNotStored) see(s *history, x *adk.Crossing) {
	switch x.Kind {
	case adk.KindReportMessage, adk.KindReportToolCall:
		if d := s.at.dispatch; d != nil && d.call.ownDispatch() && x.Err == nil {
			w.reported.take(s, x).text.WriteString(x.Text)
		}
	case adk.KindStore, adk.KindMutate, adk.KindAdd:
		w.keep(x.Record)
	}
}

// take records a report and returns its stream.
func (r *reportedStreams) take(s *history, x *adk.Crossing) *reportedStream {
	key := streamKey{s.at.dispatch, x.Kind, x.Name}
	one := r.byKey[key]
	if one == nil {
		one = &reportedStream{key: key, from: s.n, at: s.at}
		put(&r.byKey, key, one)
		r.all = append(r.all, one)
	}
	one.to, one.complete = s.n, x.Flag
	return one
}

func (w *reportedNotStored) keep(record adk.Record) {
	if w.kept == nil {
		w.kept = map[string]bool{}
	}
	switch r := record.(type) {
	case *adk.Message:
		w.kept["m"+r.ID()] = true
		if text := r.Content(); text != nil {
			w.kept["text"+text.String()] = true
		}
	case *adk.ToolCall:
		w.kept["c"+r.ID()] = true
	}
}

func (w *reportedNotStored) end(s *history) {
	for _, r := range w.reported.all {
		if !r.complete || r.key.of.failed() || s.cancelled > 0 {
			continue
		}
		switch id := r.key.id; {
		case r.key.kind == adk.KindReportMessage && !w.kept["m"+id] && !w.kept["text"+r.text.String()]:
			s.hint(r.to, r.at, since(r.from), "message %q was reported complete and never stored", id)
		case r.key.kind == adk.KindReportToolCall && !w.kept["c"+id]:
			s.hint(r.to, r.at, since(r.from), "tool call %q was reported complete and never stored", id)
		}
	}
}

// failed reports whether the dispatch did not end successfully.
func (d *dispatching) failed() bool { return d.ended == 0 || d.acked == 0 || d.failures.count > 0 }

// streamNeverSealed: a dispatch was acked, and something reported in it was never reported
// complete. It gives no hint if the dispatch failed or was aborted, since then nobody expects the
// rest.
type streamNeverSealed struct {
	reported map[*dispatching]*reportedStreams // by dispatch that has not ended
}

func (w *streamNeverSealed) see(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	switch x.Kind {
	case adk.KindReportMessage, adk.KindReportThought, adk.KindReportToolCall:
		if d != nil && x.Err == nil {
			w.of(d).take(s, x)
		}
	case adk.KindDispatchEnd:
		if x.Status == adk.StatusAck {
			w.ends(s, w.of(d))
		}
		delete(w.reported, d)
	}
}

// of returns the streams that are reported in a dispatch.
func (w *streamNeverSealed) of(d *dispatching) *reportedStreams {
	one := w.reported[d]
	if one == nil {
		one = &reportedStreams{}
		put(&w.reported, d, one)
	}
	return one
}

func (w *streamNeverSealed) ends(s *history, streams *reportedStreams) {
	for _, r := range streams.all {
		if !r.complete {
			s.hint(s.n, s.at, since(r.from, r.to), "the dispatch was acked, and the %s of %q was never complete", r.key.kind, r.key.id)
		}
	}
}

// setsNeverHydrated: the executor of the turn is called for the first time, and the set of messages
// is empty. It gives no hint about dispatches that user code calls: a summary, for example, may
// have all it needs in its prompt.
type setsNeverHydrated struct {
	asked   bool
	fetched int
	at      int
}

func (w *setsNeverHydrated) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindReturn && s.called.seam.Name == "messages.fetch":
		if w.fetched += len(x.Records); w.at == 0 {
			w.at = s.n
		}
	case x.Kind == adk.KindCall && s.called.seam.Label == adk.LabelExecutor && s.at.ownDispatch() && !w.asked:
		w.asked = true
		if seen := s.fold.Seen(s.at.id); seen == nil || len(seen.Records(adk.Messages)) > 0 {
			return
		}
		if w.fetched > 0 {
			s.hint(s.n, s.called, since(w.at), "the model is asked without a message: %d were fetched, and none was added", w.fetched)
		} else {
			s.hint(s.n, s.called, nil, "the model is asked without a message: none was fetched")
		}
	}
}

// outsideTime: a record that is kept for the first time says that it was created or updated after
// the turn began, at a time that is not a reading of the turn's clock. A reading may be truncated
// to micro-, milliseconds or seconds. The time may also be one nanosecond after that of another
// known record, because code may place a record behind another while the clock stands still
// (PRO-5). It gives no hint about times before the turn, which a record may have from elsewhere.
type outsideTime struct {
	readings []time.Time // sorted
	known    map[adk.Record]bool
	behind   map[int64]bool // times one nanosecond after those of known records, in nanoseconds
	hinted   map[string]bool
}

// datedRecord is a record with times.
type datedRecord interface {
	CreatedAt() time.Time
	UpdatedAt() time.Time
}

func (w *outsideTime) see(s *history, x *adk.Crossing) {
	if n := len(w.readings); n == 0 || x.At.After(w.readings[n-1]) {
		w.readings = append(w.readings, x.At)
	}
	for _, record := range x.Records {
		w.know(record)
	}
	switch x.Kind {
	case adk.KindStore, adk.KindMutate, adk.KindAdd:
		if dated, ok := x.Record.(datedRecord); ok && !w.known[x.Record] && !w.hinted[x.Record.Key()] {
			w.look(s, x, dated.CreatedAt(), dated.UpdatedAt())
		}
		w.know(x.Record)
	}
}

func (w *outsideTime) know(record adk.Record) {
	if record == nil {
		return
	}
	if w.known == nil {
		w.known, w.behind = map[adk.Record]bool{}, map[int64]bool{}
	}
	w.known[record] = true
	if dated, ok := record.(datedRecord); ok {
		w.behind[dated.CreatedAt().UnixNano()+1] = true
		w.behind[dated.UpdatedAt().UnixNano()+1] = true
	}
}

func (w *outsideTime) look(s *history, x *adk.Crossing, times ...time.Time) {
	for _, at := range times {
		if at.After(w.readings[0]) && !w.read(at) && !w.behind[at.UnixNano()] {
			put(&w.hinted, x.Record.Key(), true)
			s.hint(s.n, s.at, nil, "%s %q says %s, which is no reading of the turn's clock", x.Record.RecordKind(), x.Record.Key(), at.Format(time.RFC3339Nano))
			return
		}
	}
}

// read reports whether a time is a reading of the clock, possibly truncated.
func (w *outsideTime) read(at time.Time) bool {
	for _, grain := range []time.Duration{1, time.Microsecond, time.Millisecond, time.Second} {
		if !at.Truncate(grain).Equal(at) {
			break
		}
		i, _ := slices.BinarySearchFunc(w.readings, at, time.Time.Compare)
		if i < len(w.readings) && w.readings[i].Before(at.Add(grain)) {
			return true
		}
	}
	return false
}

// outsideID: a record is kept under an id that looks random, a UUID, and that occurred nowhere
// before: neither as a result of the context's NewID nor in a fetch, a report, the caller's input
// or the arguments of a tool. It gives no hint about executors, whose ids may be the provider's,
// nor about ids of other forms.
type outsideID struct{ known map[string]bool }

func (w *outsideID) see(s *history, x *adk.Crossing) {
	switch x.Kind {
	case adk.KindStore, adk.KindMutate, adk.KindAdd:
		if x.Record == nil {
			return
		}
		if id := x.Record.Key(); isUUID(id) && !w.known[id] && !inExecutor(s.at) {
			s.hint(s.n, s.at, nil, "%s %q has an id that the turn's id source did not give", x.Record.RecordKind(), id)
		}
	}
	w.know(x.Name)
	for _, record := range x.Records {
		w.know(record.Key())
	}
	if x.Record != nil {
		w.know(x.Record.Key())
	}
	w.knowAll(x.Value)
	w.knowAll(x.Args)
}

func (w *outsideID) know(id string) {
	if isUUID(id) {
		put(&w.known, id, true)
	}
}

// knowAll remembers the texts in plain data.
func (w *outsideID) knowAll(data any) {
	switch v := data.(type) {
	case string:
		w.know(v)
	case map[string]any:
		for _, one := range v {
			w.knowAll(one)
		}
	case []any:
		for _, one := range v {
			w.knowAll(one)
		}
	}
}

func inExecutor(c *seamCall) bool {
	for c.seam.Label == adk.LabelStrand {
		c = c.parent
	}
	return c.seam.Label == adk.LabelExecutor
}

// isUUID reports whether a text has the form of a UUID.
func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range []byte(text) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') {
			return false
		}
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}
