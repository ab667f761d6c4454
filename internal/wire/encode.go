package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/jsonscan"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// Encoder writes one line after the other into Out. It remembers what later lines refer to: the
// time of the last line and the records that were written.
type Encoder struct {
	Out       []byte
	Last      time.Time
	Format    int // the version of the format; 0 is today's
	records   map[recordID]int
	paths     map[adk.Seam]string // paths of seams that were written, in this trace or in an earlier one
	sentinels *Sentinels
	extra     []Member // members of this line that are not written yet
	foreign   bool     // the line has members that other software made
	breakable bool     // the line may contain a line break
	apart     bool     // every record is written whole (see Apart)

	// Repeat limits what may be written as a reference to an earlier text. RestoredValues is how
	// many JSON values such references add to the line, beyond those that it shows.
	Repeat         RepeatLimits
	RestoredValues int
	repeats        *repeats       // nil until there is something to refer to
	repeating      adk.Repetition // of the field that is being written

	// The state of writing an error: the number of nodes so far, the errors on the path to the
	// current node, and whether the tree is endless.
	nodes   int
	path    []error
	endless bool
}

// recordID identifies a record: two equal records are one record in a trace.
type recordID struct {
	kind   adk.RecordKind
	digest adk.Digest
}

// maxPaths bounds how many paths of seams are cached. Most programs have fewer, but a run of a
// million iterations has a million.
const maxPaths = 256

// NewEncoder returns an encoder that writes the errors known to s by their names.
func NewEncoder(s *Sentinels) *Encoder {
	e := encoders.Get().(*Encoder)
	e.sentinels = s
	return e
}

// encoders pools freed encoders, because a service that records writes a trace for every turn.
var encoders = sync.Pool{New: func() any {
	return &Encoder{Out: make([]byte, 0, 1024), records: map[recordID]int{}, paths: map[adk.Seam]string{}}
}}

// Free returns the encoder to the pool unless it has grown large. The caller must not use the
// encoder, or anything that it wrote, afterwards.
func (e *Encoder) Free() {
	if cap(e.Out) > 64<<10 || len(e.records) > 256 {
		return
	}
	clear(e.records)
	clear(e.path[:cap(e.path)])
	*e = Encoder{Out: e.Out[:0], records: e.records, paths: e.paths, path: e.path[:0]}
	encoders.Put(e)
}

// Begin starts a line.
func (e *Encoder) Begin(extra []Member) {
	e.Out, e.breakable = append(e.Out[:0], '{'), true
	e.extra, e.foreign = extra, len(extra) > 0
}

// End completes the line. If other software made members of the line, End checks that they leave it
// valid.
func (e *Encoder) End() error {
	for _, m := range e.extra {
		e.rest(m)
	}
	e.Out = append(e.Out, '}', '\n')
	line := e.Out[:len(e.Out)-1]
	if e.breakable && bytes.IndexByte(line, '\n') >= 0 {
		return errors.New("a value's JSON has a line break in it")
	}
	if e.foreign {
		return CheckLine(line)
	}
	return nil
}

// CheckLine returns an error if the line cannot be a line of a trace.
func CheckLine(line []byte) error {
	if _, err := ScanMembers(nil, line); err != nil {
		return fmt.Errorf("a line with unknown members: %w", err)
	}
	return nil
}

// Key begins a member that this package knows. With an empty name it writes nothing, and the value
// stands alone.
func (e *Encoder) Key(name string) {
	if name == "" {
		return
	}
	for len(e.extra) > 0 && e.extra[0].Before == name {
		e.rest(e.extra[0])
		e.extra = e.extra[1:]
	}
	e.rawKey(name)
}

func (e *Encoder) rest(m Member) {
	e.comma()
	e.Out = append(canonical.AppendString(e.Out, m.Name), ':')
	e.Out = append(e.Out, m.Value...)
}

// rawKey begins a member. The name must need no escapes.
func (e *Encoder) rawKey(name string) {
	if last := e.Out[len(e.Out)-1]; last != '{' && last != '[' {
		e.Out = append(e.Out, ',', '"')
	} else {
		e.Out = append(e.Out, '"')
	}
	e.Out = append(e.Out, name...)
	e.Out = append(e.Out, '"', ':')
}

// comma writes a comma unless the next element is the first one of its container.
func (e *Encoder) comma() {
	if last := e.Out[len(e.Out)-1]; last != '{' && last != '[' {
		e.Out = append(e.Out, ',')
	}
}

// Seams writes the names of the seams as an object. The object may have members in extra that this
// package does not know.
func (e *Encoder) Seams(info *adk.RunInfo, extra []Member) {
	outer := e.extra
	e.Out, e.extra = append(e.Out, '{'), extra
	for _, n := range Named(info) {
		if n.One != nil {
			e.String(n.Label, *n.One)
			continue
		}
		e.Key(n.Label)
		e.Out = append(e.Out, '[')
		for _, name := range *n.List {
			e.comma()
			e.Text(name)
		}
		e.Out = append(e.Out, ']')
	}
	for _, m := range e.extra {
		e.rest(m)
	}
	e.Out, e.extra = append(e.Out, '}'), outer
}

// Crossing writes a crossing's line.
func (e *Encoder) Crossing(c *adk.Crossing, extra []Member) error {
	if err := checkCrossing(c); err != nil {
		return err
	}
	e.RestoredValues = 0
	step := c.At.Sub(e.Last)
	if farthest(step) && !e.Last.Add(step).Equal(c.At) {
		return fmt.Errorf("the time %v is too far from that of the crossing before, %v", c.At, e.Last)
	}
	if e.Begin(extra); e.foreign || isOld(e.Format) {
		e.kindAndPhase(c.Kind, c.Phase)
	} else {
		e.Out = append(e.Out[:0], beginnings[c.Kind][c.Phase]...)
	}
	e.Int(MemberAt, int64(step))
	e.Int(memberIn, int64(c.Call))
	e.Int(MemberStrand, int64(c.Strand))
	e.Int(memberOp, int64(c.Op))
	if err := e.fields(c); err != nil {
		return err
	}
	e.Last = c.At
	e.noteSaid(c)
	return e.End()
}

// fields writes the fields of a crossing. A line can contain a line break only if a field holds
// JSON that other software made.
func (e *Encoder) fields(c *adk.Crossing) error {
	e.breakable = e.foreign
	uses := c.Kind.Fields(c.Phase)
	for i := range uses { // a pointer, not a copy: every crossing has several uses
		use, before := &uses[i], len(e.Out)
		if err := e.Field(use, c); err != nil {
			return fmt.Errorf("%s: %w", use.Label, err)
		}
		if !FieldRows[use.Field].OneLine && len(e.Out) > before {
			e.breakable = true
		}
	}
	return nil
}

// farthest reports whether d is one of the two extreme durations that Time.Sub returns when two
// times are too far apart.
func farthest(d time.Duration) bool { return d == math.MaxInt64 || d == math.MinInt64 }

// kindAndPhase writes the beginning of every crossing's line.
func (e *Encoder) kindAndPhase(kind adk.Kind, phase adk.Phase) {
	e.String(memberKind, WordIn(e.Format, kind.String()))
	if phase != adk.Whole {
		e.String(memberPhase, phase.String())
	}
}

// beginnings are the results of kindAndPhase for each kind and phase, for lines without members
// that other software made.
var beginnings = allBeginnings()

func allBeginnings() [][adk.Done + 1]string {
	all := make([][adk.Done + 1]string, kinds+1)
	for _, kind := range adk.Kinds() {
		for phase := range all[kind] {
			var e Encoder
			e.Begin(nil)
			e.kindAndPhase(kind, adk.Phase(phase))
			all[kind][phase] = string(e.Out)
		}
	}
	return all
}

// kinds is how many kinds there are.
var kinds = adk.Kind(len(adk.Kinds()))

// checkCrossing returns an error for a crossing that no reader would accept.
func checkCrossing(c *adk.Crossing) error {
	if c.Kind == 0 || c.Kind > kinds {
		return fmt.Errorf("there is no kind %d", c.Kind)
	}
	if c.Phase > adk.Done || c.Kind.Spanning() == (c.Phase == adk.Whole) {
		return fmt.Errorf("%s has no phase %d", c.Kind, c.Phase)
	}
	if c.Kind == adk.KindReturn && !knownOutcome(c.Outcome) {
		return fmt.Errorf("there is no outcome %q", c.Outcome)
	}
	return nil
}

func knownOutcome(o adk.Outcome) bool {
	switch o {
	case adk.OutcomeOK, adk.OutcomeError, adk.OutcomePanic, adk.OutcomeGoexit:
		return true
	}
	return false
}

// Field writes the field of a crossing that use describes, unless it is zero.
func (e *Encoder) Field(use *adk.FieldUse, x *adk.Crossing) error {
	e.repeating = use.Repeats
	return FieldRows[use.Field].Append(e, use.Label, x)
}

// Int writes a member with a number; zero is left out.
func (e *Encoder) Int(name string, n int64) {
	if n != 0 {
		e.Key(name)
		e.Out = strconv.AppendInt(e.Out, n, 10)
	}
}

// Bool writes a member that is true; false is left out.
func (e *Encoder) Bool(name string, ok bool) {
	if ok {
		e.Key(name)
		e.Out = append(e.Out, "true"...)
	}
}

// String writes a member with a text; the empty text is left out.
func (e *Encoder) String(name, text string) {
	if text != "" {
		e.Key(name)
		e.Text(text)
	}
}

// Text writes a string so that reading it gives the same bytes, even if they are no UTF-8.
func (e *Encoder) Text(s string) {
	if canonical.IsPlain(s) {
		e.Out = append(e.Out, '"')
		e.Out = append(e.Out, s...)
		e.Out = append(e.Out, '"')
		return
	}
	if utf8.ValidString(s) {
		e.Out = canonical.AppendString(e.Out, s)
		return
	}
	e.Out = append(e.Out, `{"$string":"`...)
	e.Out = base64.StdEncoding.AppendEncode(e.Out, []byte(s))
	e.Out = append(e.Out, `"}`...)
}

func (e *Encoder) texts(label string, list []string) {
	if list == nil {
		return
	}
	e.Key(label)
	e.Out = append(e.Out, '[')
	for _, text := range list {
		e.comma()
		e.Text(text)
	}
	e.Out = append(e.Out, ']')
}

func (e *Encoder) seam(label string, seam adk.Seam) error {
	if seam == (adk.Seam{}) {
		return nil
	}
	path, known := e.paths[seam]
	if !known {
		var err error
		if path, err = checkedPath(seam); err != nil {
			return err
		}
		if len(e.paths) < maxPaths {
			e.paths[seam] = path
		}
	}
	e.String(label, path)
	return nil
}

// checkedPath returns the path of a seam, after checking that the path parses to the same seam.
func checkedPath(seam adk.Seam) (string, error) {
	path := seam.String()
	if read, err := adk.ParseSeam(path); err != nil {
		return "", err
	} else if read != seam {
		return "", fmt.Errorf("the seam %#v is not what its path %q says", seam, path)
	}
	return path, nil
}

func (e *Encoder) value(label string, v any) {
	if v != nil {
		e.Key(label)
		e.Out = plain.AppendJSON(e.Out, v)
	}
}

// RecordField writes a record: in full the first time, by its number afterwards.
func (e *Encoder) RecordField(label string, r adk.Record) error {
	if isNil(r) {
		return nil
	}
	e.Key(label)
	return e.record(r)
}

// RecordsField writes a list of records; nil is left out.
func (e *Encoder) RecordsField(label string, list []adk.Record) error {
	if list == nil {
		return nil
	}
	e.Key(label)
	e.Out = append(e.Out, '[')
	for i, r := range list {
		e.comma()
		if err := e.record(r); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
	}
	e.Out = append(e.Out, ']')
	return nil
}

// record writes a record in full if it is new, and by its number otherwise.
func (e *Encoder) record(r adk.Record) error {
	if isNil(r) {
		return errors.New("a record is nil")
	}
	id := recordID{r.RecordKind(), r.Digest()}
	e.Out = append(e.Out, `{"#":`...)
	n, known := e.records[id]
	if !known {
		n = len(e.records) + 1
		e.records[id] = n
	}
	if e.Out = strconv.AppendInt(e.Out, int64(n), 10); known && !e.apart {
		e.Out = append(e.Out, '}')
		return nil
	}
	e.rawKey(string(id.kind))
	e.Out = append(r.AppendJSON(e.Out), '}')
	return nil
}

// isNil reports whether v is nil, or a nil pointer or slice in an interface. The engine takes these
// for absent, unlike bytes and lists that are empty.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	value := reflect.ValueOf(v)
	switch value.Kind() {
	case reflect.Pointer, reflect.Slice:
		return value.IsNil()
	}
	return false
}

func (e *Encoder) argsField(label string, args any) {
	if args != nil {
		e.Key(label)
		e.args(args)
	}
}

// args writes a tool's arguments in the shape in which user code gave them: as an object or as JSON
// text. Other data is written as plain data in a list of one element.
func (e *Encoder) args(args any) {
	switch args := args.(type) {
	case string:
		e.Out = canonical.AppendString(e.Out, args)
		return
	case []byte:
		e.Out = canonical.AppendString(e.Out, string(args))
		return
	case json.RawMessage:
		e.Out = canonical.AppendString(e.Out, string(args))
		return
	}
	// On failure Append returns nothing, so e.Out must not be overwritten before.
	if out, err := canonical.Append(e.Out, args); err == nil && out[len(e.Out)] == '{' && !HoldsOpaque(args) {
		e.Out = out
		return
	}
	e.Out = append(plain.AppendJSON(append(e.Out, '['), args), ']')
}

// HoldsOpaque reports whether arguments that were read contain an opaque value, which stands for
// something that could not be written. Such a value must not be written as ordinary data.
func HoldsOpaque(v any) bool {
	switch v := v.(type) {
	case plain.Opaque:
		return true
	case []any:
		return slices.ContainsFunc(v, HoldsOpaque)
	case map[string]any:
		for _, one := range v {
			if HoldsOpaque(one) {
				return true
			}
		}
	}
	return false
}

// ResultField writes the result of a tool.
func (e *Encoder) ResultField(label string, result adk.ToolResult) error {
	if isNil(result) {
		return nil
	}
	e.Key(label)
	return e.result(result)
}

func (e *Encoder) result(result adk.ToolResult) error {
	var err error
	e.Out = append(e.Out, '{')
	switch result := result.(type) {
	case *adk.Tokenizable:
		e.rawKey(ResultText)
		e.Text(result.String())
	case adk.Bytes:
		e.rawKey(ResultBytes)
		e.Out = append(e.Out, '"')
		e.Out = append(base64.StdEncoding.AppendEncode(e.Out, result), '"')
	case *adk.Media:
		e.rawKey(ResultMedia)
		err = e.record(result)
	case adk.MediaList:
		e.rawKey(resultMediaList)
		e.Out = append(e.Out, '[')
		for _, media := range result {
			e.comma()
			err = errors.Join(err, e.record(media))
		}
		e.Out = append(e.Out, ']')
	default:
		panic(fmt.Sprintf("replay: unknown tool result %T", result))
	}
	e.Out = append(e.Out, '}')
	return err
}

// The member names of the results of tools.
const (
	ResultText      = "text"
	ResultBytes     = "bytes"
	ResultMedia     = "media"
	resultMediaList = "mediaList"
)

// SchemaMark is the only key of an object that stands for a text which is not JSON, or which could
// be mistaken for such an object.
const SchemaMark = "$json"

func (e *Encoder) schema(label string, schema json.RawMessage) {
	line, _ := jsonscan.Compact(schema)
	e.writeSchema(label, schema, line, SchemaMark)
}

// writeSchema writes text as the JSON line, or under SchemaMark if line is nil because text is no
// JSON. A text that itself begins like one of the marks is written under SchemaMark too.
func (e *Encoder) writeSchema(label string, text json.RawMessage, line []byte, marks ...string) {
	if len(text) == 0 {
		return
	}
	e.Key(label)
	marked := func(mark string) bool { return bytes.HasPrefix(line, []byte(`{"`+mark)) }
	if line != nil && !slices.ContainsFunc(marks, marked) {
		e.Out = append(e.Out, line...)
		return
	}
	e.Out = append(e.Out, `{"`+SchemaMark+`":`...)
	e.Text(string(text))
	e.Out = append(e.Out, '}')
}

// AppendTime appends a time in UTC. It fails if the year does not fit RFC 3339.
func AppendTime(dst []byte, at time.Time) ([]byte, error) {
	if year := at.UTC().Year(); year < 0 || year > 9999 {
		return dst, fmt.Errorf("the year %d cannot be written as RFC 3339", year)
	}
	return append(at.UTC().AppendFormat(append(dst, '"'), time.RFC3339Nano), '"'), nil
}
