package replay

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
	"github.com/adkreplay/adkreplay/internal/plain"
)

// encoder writes lines into its buffer, one after the other. It remembers what
// lines refer to: the time of the last one and the records there have been.
type encoder struct {
	out       []byte
	last      time.Time
	records   map[recordID]int
	paths     map[adk.Seam]string // of seams that were written, in this trace or in one before
	sentinels *sentinels
	extra     []Member // of this line, not yet written
	foreign   bool     // the line has members of somebody else's making

	// Of the error being written: how many nodes there are, the ones that led
	// here, and whether it has no end.
	nodes   int
	path    []error
	endless bool
}

// recordID tells records apart: two that are equal are one in a trace.
type recordID struct {
	kind   adk.RecordKind
	digest adk.Digest
}

// maxPaths bounds how many paths of seams are remembered: more than most programs
// have, but not one for each of a million iterations.
const maxPaths = 256

// newEncoder writes crossings; errors that known names are written by their names.
func newEncoder(s *sentinels) *encoder {
	e := encoders.Get().(*encoder)
	e.sentinels = s
	return e
}

// encoders holds those that are done with, since a service that records writes a
// trace for every turn.
var encoders = sync.Pool{New: func() any {
	return &encoder{out: make([]byte, 0, 1024), records: map[recordID]int{}, paths: map[adk.Seam]string{}}
}}

// free gives the encoder to whoever needs one next, unless it has grown. Nobody
// may use it, or what it wrote, afterwards.
func (e *encoder) free() {
	if cap(e.out) > 64<<10 || len(e.records) > 256 {
		return
	}
	clear(e.records)
	*e = encoder{out: e.out[:0], records: e.records, paths: e.paths}
	encoders.Put(e)
}

// begin starts a line.
func (e *encoder) begin(extra []Member) {
	e.out, e.extra, e.foreign = append(e.out[:0], '{'), extra, len(extra) > 0
}

// end completes the line. One that has members of somebody else's making is
// looked through: they must not break it.
func (e *encoder) end() error {
	for _, m := range e.extra {
		e.rest(m)
	}
	e.out = append(e.out, '}', '\n')
	if line := e.out[:len(e.out)-1]; bytes.IndexByte(line, '\n') >= 0 {
		return errors.New("a value's JSON has a line break in it")
	} else if e.foreign {
		return checkLine(line)
	}
	return nil
}

// checkLine says what no line can hold.
func checkLine(line []byte) error {
	if !utf8.Valid(line) {
		return errNotUTF8
	}
	if _, err := scanMembers(nil, line); err != nil {
		return fmt.Errorf("a line with unknown members: %w", err)
	}
	return nil
}

// key begins a member that this package knows. A value without a name is none,
// and stands alone.
func (e *encoder) key(name string) {
	if name == "" {
		return
	}
	for len(e.extra) > 0 && e.extra[0].Before == name {
		e.rest(e.extra[0])
		e.extra = e.extra[1:]
	}
	e.rawKey(name)
}

func (e *encoder) rest(m Member) {
	e.comma()
	e.out = append(canonical.AppendString(e.out, m.Name), ':')
	e.out = append(e.out, m.Value...)
}

// rawKey begins a member; its name needs no escapes.
func (e *encoder) rawKey(name string) {
	out := e.out
	if last := out[len(out)-1]; last != '{' && last != '[' {
		out = append(out, ',')
	}
	out = append(out, '"')
	out = append(out, name...)
	e.out = append(out, '"', ':')
}

// comma separates what follows from what is there already.
func (e *encoder) comma() {
	if last := e.out[len(e.out)-1]; last != '{' && last != '[' {
		e.out = append(e.out, ',')
	}
}

// seams writes the names of the seams, an object with members of its own that
// this package may not know.
func (e *encoder) seams(info *adk.RunInfo, extra []Member) {
	outer := e.extra
	e.out, e.extra = append(e.out, '{'), extra
	e.key(adk.LabelExecutor)
	e.text(info.Executor)
	for _, p := range pipelines(info) {
		e.key(p.label)
		e.out = append(e.out, '[')
		for _, name := range *p.names {
			e.comma()
			e.text(name)
		}
		e.out = append(e.out, ']')
	}
	for _, m := range e.extra {
		e.rest(m)
	}
	e.out, e.extra = append(e.out, '}'), outer
}

// pipeline is where a RunInfo holds the names of a pipeline's middlewares.
type pipeline struct {
	label string
	names *[]string
}

// pipelines are the names of the middlewares, by the labels of the header.
func pipelines(info *adk.RunInfo) [4]pipeline {
	return [4]pipeline{
		{adk.LabelTurnInput, &info.TurnInput},
		{adk.LabelTurnOutput, &info.TurnOutput},
		{adk.LabelDispatchInput, &info.DispatchInput},
		{adk.LabelDispatchOutput, &info.DispatchOutput},
	}
}

// crossing writes a crossing's line.
func (e *encoder) crossing(c *adk.Crossing, extra []Member) error {
	if err := checkCrossing(c); err != nil {
		return err
	}
	step := c.At.Sub(e.last)
	if farthest(step) && !e.last.Add(step).Equal(c.At) {
		return fmt.Errorf("the time %v is too far from that of the crossing before, %v", c.At, e.last)
	}
	if e.begin(extra); e.foreign {
		e.kindAndPhase(c.Kind, c.Phase)
	} else {
		e.out = append(e.out[:0], beginnings[c.Kind][c.Phase]...)
	}
	e.int(memberAt, int(step))
	e.int(memberIn, c.Call)
	e.int(memberStrand, c.Strand)
	e.int(memberOp, c.Op)
	for _, use := range c.Kind.Fields(c.Phase) {
		if err := e.field(use, c); err != nil {
			return fmt.Errorf("%s: %w", use.Label, err)
		}
	}
	e.last = c.At
	return e.end()
}

// farthest reports whether a duration is one of the two at which Time.Sub stops,
// however far two times are apart.
func farthest(d time.Duration) bool { return d == math.MaxInt64 || d == math.MinInt64 }

// kindAndPhase writes what every crossing's line begins with.
func (e *encoder) kindAndPhase(kind adk.Kind, phase adk.Phase) {
	e.string(memberKind, kind.String())
	if phase != adk.Whole {
		e.string(memberPhase, phase.String())
	}
}

// beginnings are what kindAndPhase writes into a line that has no members of
// somebody else's making, by kind and phase.
var beginnings = allBeginnings()

func allBeginnings() [][adk.Done + 1]string {
	all := make([][adk.Done + 1]string, kinds+1)
	for _, kind := range adk.Kinds() {
		for phase := range all[kind] {
			var e encoder
			e.begin(nil)
			e.kindAndPhase(kind, adk.Phase(phase))
			all[kind][phase] = string(e.out)
		}
	}
	return all
}

// kinds is how many kinds there are.
var kinds = adk.Kind(len(adk.Kinds()))

// checkCrossing refuses what no reader would take.
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

// field writes the field of a crossing that use names, unless it is zero.
func (e *encoder) field(use adk.FieldUse, x *adk.Crossing) error {
	return fieldRows[use.Field].append(e, use.Label, x)
}

// int writes a member with a number.
func (e *encoder) int(name string, n int) {
	if n != 0 {
		e.key(name)
		e.out = strconv.AppendInt(e.out, int64(n), 10)
	}
}

// bool writes a member that is true; false is left out.
func (e *encoder) bool(name string, is bool) {
	if is {
		e.key(name)
		e.out = append(e.out, "true"...)
	}
}

// string writes a member with a text.
func (e *encoder) string(name, text string) {
	if text != "" {
		e.key(name)
		e.text(text)
	}
}

// text writes a string so that every byte of it comes back.
func (e *encoder) text(s string) {
	if canonical.IsPlain(s) {
		e.out = append(e.out, '"')
		e.out = append(e.out, s...)
		e.out = append(e.out, '"')
		return
	}
	if utf8.ValidString(s) {
		e.out = canonical.AppendString(e.out, s)
		return
	}
	e.out = append(e.out, `{"$string":"`...)
	e.out = base64.StdEncoding.AppendEncode(e.out, []byte(s))
	e.out = append(e.out, `"}`...)
}

func (e *encoder) texts(label string, list []string) {
	if list == nil {
		return
	}
	e.key(label)
	e.out = append(e.out, '[')
	for _, text := range list {
		e.comma()
		e.text(text)
	}
	e.out = append(e.out, ']')
}

func (e *encoder) seam(label string, seam adk.Seam) error {
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
	e.string(label, path)
	return nil
}

// checkedPath is the path of a seam, which must read back as the same.
func checkedPath(seam adk.Seam) (string, error) {
	path := seam.String()
	if read, err := adk.ParseSeam(path); err != nil {
		return "", err
	} else if read != seam {
		return "", fmt.Errorf("the seam %#v is not what its path %q says", seam, path)
	}
	return path, nil
}

func (e *encoder) value(label string, v any) {
	if v != nil {
		e.key(label)
		e.out = plain.AppendJSON(e.out, v)
	}
}

// recordField writes a record, whole where it appears first.
func (e *encoder) recordField(label string, r adk.Record) error {
	if isNil(r) {
		return nil
	}
	e.key(label)
	return e.record(r)
}

// recordsField writes a list of records; nil is left out.
func (e *encoder) recordsField(label string, list []adk.Record) error {
	if list == nil {
		return nil
	}
	e.key(label)
	e.out = append(e.out, '[')
	for i, r := range list {
		e.comma()
		if err := e.record(r); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
	}
	e.out = append(e.out, ']')
	return nil
}

// record writes a record: whole if it is new, by its number otherwise.
func (e *encoder) record(r adk.Record) error {
	if isNil(r) {
		return errors.New("a record is nil")
	}
	id := recordID{r.RecordKind(), r.Digest()}
	e.out = append(e.out, `{"#":`...)
	if n, known := e.records[id]; known {
		e.out = append(strconv.AppendInt(e.out, int64(n), 10), '}')
		return nil
	}
	e.records[id] = len(e.records) + 1
	e.out = strconv.AppendInt(e.out, int64(len(e.records)), 10)
	e.rawKey(string(id.kind))
	e.out = append(r.AppendJSON(e.out), '}')
	return nil
}

// isNil reports whether v is nil, or a nil pointer or slice in an interface. To
// the engine these are nothing, unlike bytes and lists that are merely empty.
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

func (e *encoder) argsField(label string, args any) {
	if args != nil {
		e.key(label)
		e.args(args)
	}
}

// args writes a tool's arguments in the shape in which user code gave them: an
// object or JSON text.
func (e *encoder) args(args any) {
	switch args := args.(type) {
	case string:
		e.out = canonical.AppendString(e.out, args)
		return
	case []byte:
		e.out = canonical.AppendString(e.out, string(args))
		return
	case json.RawMessage:
		e.out = canonical.AppendString(e.out, string(args))
		return
	}
	// On failure Append gives nothing, so what is there must be kept aside.
	if out, err := canonical.Append(e.out, args); err == nil && out[len(e.out)] == '{' && !holdsOpaque(args) {
		e.out = out
		return
	}
	e.out = append(plain.AppendJSON(append(e.out, '['), args), ']')
}

// holdsOpaque reports whether arguments that were read hold what could not be
// written: which must not be written as the data it is kept in.
func holdsOpaque(v any) bool {
	switch v := v.(type) {
	case plain.Opaque:
		return true
	case []any:
		return slices.ContainsFunc(v, holdsOpaque)
	case map[string]any:
		for _, one := range v {
			if holdsOpaque(one) {
				return true
			}
		}
	}
	return false
}

// resultField writes the result of a tool.
func (e *encoder) resultField(label string, result adk.ToolResult) error {
	if isNil(result) {
		return nil
	}
	e.key(label)
	return e.result(result)
}

func (e *encoder) result(result adk.ToolResult) error {
	var err error
	e.out = append(e.out, '{')
	switch result := result.(type) {
	case *adk.Tokenizable:
		e.rawKey(resultText)
		e.text(result.String())
	case adk.Bytes:
		e.rawKey(resultBytes)
		e.out = append(e.out, '"')
		e.out = append(base64.StdEncoding.AppendEncode(e.out, result), '"')
	case *adk.Media:
		e.rawKey(resultMedia)
		err = e.record(result)
	case adk.MediaList:
		e.rawKey(resultMediaList)
		e.out = append(e.out, '[')
		for _, media := range result {
			e.comma()
			err = errors.Join(err, e.record(media))
		}
		e.out = append(e.out, ']')
	default:
		panic(fmt.Sprintf("replay: unknown tool result %T", result))
	}
	e.out = append(e.out, '}')
	return err
}

// The names under which results of tools are written.
const (
	resultText      = "text"
	resultBytes     = "bytes"
	resultMedia     = "media"
	resultMediaList = "mediaList"
)

// schemaMark is the one key of an object that stands for a text which is no
// JSON, or which could be taken for such an object.
const schemaMark = "$json"

func (e *encoder) schema(label string, schema json.RawMessage) {
	if len(schema) == 0 {
		return
	}
	e.key(label)
	var line bytes.Buffer
	if checkJSON(schema) == nil && json.Compact(&line, schema) == nil && !bytes.HasPrefix(line.Bytes(), []byte(`{"`+schemaMark)) {
		e.out = append(e.out, line.Bytes()...)
		return
	}
	e.out = append(e.out, `{"`+schemaMark+`":`...)
	e.text(string(schema))
	e.out = append(e.out, '}')
}

// appendTime writes a time in UTC.
func appendTime(dst []byte, at time.Time) ([]byte, error) {
	if year := at.UTC().Year(); year < 0 || year > 9999 {
		return dst, fmt.Errorf("the year %d cannot be written as RFC 3339", year)
	}
	return append(at.UTC().AppendFormat(append(dst, '"'), time.RFC3339Nano), '"'), nil
}
