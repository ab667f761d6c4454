package wire

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/jsonscan"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// Decoder reads lines. It is the counterpart of Encoder, and remembers what later lines refer to.
type Decoder struct {
	Format    int // the version of the format
	Last      time.Time
	Seq       int
	records   []adk.Record
	Sentinels *Sentinels
	Members   []ScannedMember
	scanner   jsonscan.Scanner
	Values    int // how many values the line has inside the values of its members

	// MostMembers is how many members a line may have; 0 means no limit.
	MostMembers int
	names       map[string]string
	Media       *Openings
	hasMarks    bool          // the line has plain data with marks in it
	apart       *recordsApart // nil when reading the lines of a trace

	// Repeat limits what a line may restore from earlier texts. Restored is how many bytes of the
	// line were restored so.
	Repeat   RepeatLimits
	Restored int
	repeats  *repeats // nil until there is something to refer to
	waiting  []byte   // a value that refers to another text; it is restored once the whole line is read
}

// NewDecoder returns a decoder of crossings. It reads the names of errors that s knows as these
// errors.
func NewDecoder(s *Sentinels) *Decoder {
	return &Decoder{Sentinels: s, names: map[string]string{}, Media: newOpenings()}
}

// Scan reads the members of a line.
func (d *Decoder) Scan(line []byte) (err error) {
	d.scanner.Reset(line)
	d.Members, err = membersOf(&d.scanner, d.Members[:0], cmp.Or(d.MostMembers, math.MaxInt))
	d.Values = d.scanner.Values - len(d.Members)
	return err
}

// DataValues returns Values without the values that make up the records of a list. Each such record
// and its own members are held in a value that takes no more memory than their text.
func (d *Decoder) DataValues() int {
	var x adk.Crossing
	if d.KindAndPhase(&x) != nil {
		return d.Values
	}
	left, fields := d.Values, x.Kind.Fields(x.Phase)
	for _, m := range d.Members {
		if use := FieldNamed(fields, m.Name); use == nil || use.Field != adk.FieldRecords {
			continue
		}
		list, _ := Elements(m.Value) // Crossing refuses it if it is not a list
		for _, one := range list {
			record, _ := ScanMembers(nil, one)
			left -= 1 + len(record)
			if len(record) == 2 {
				own, _ := ScanMembers(record, record[1].Value)
				left -= len(own) - len(record)
			}
		}
	}
	return left
}

// Records returns the number of records that were read.
func (d *Decoder) Records() int { return len(d.records) }

// Member is the value of a member of the line, or nil.
func (d *Decoder) Member(name string) []byte {
	for _, m := range d.Members {
		if string(m.Name) == name {
			return m.Value
		}
	}
	return nil
}

// IsFooter reports whether the line is a footer.
func (d *Decoder) IsFooter() bool {
	return d.Member(memberKind) == nil && d.Member(MemberEnd) != nil
}

// Each passes the members of the line to known, in order. It returns the members for which known
// reports false, with their positions.
func (d *Decoder) Each(known func(name string, value []byte) (bool, error)) (extra []Member, err error) {
	for _, m := range d.Members {
		ok, err := known(string(m.Name), m.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Clip(string(m.Name)), err)
		}
		if ok {
			place(extra, m.Name)
		} else {
			extra = append(extra, keep(&m))
		}
	}
	return extra, nil
}

// keep copies an unknown member.
func keep(m *ScannedMember) Member {
	return Member{Name: string(m.Name), Value: append(json.RawMessage(nil), m.Value...)}
}

// place sets the position of the unknown members that precede the known member name.
func place(extra []Member, name []byte) {
	for i := len(extra) - 1; i >= 0 && extra[i].Before == ""; i-- {
		extra[i].Before = string(name)
	}
}

// known returns an error if kind is newer than the format version of the file. Without a header
// there is no version to check.
func (d *Decoder) known(kind adk.Kind) error {
	if d.Format == 0 {
		return nil
	}
	return Knows(d.Format, kind)
}

// ReadSeams reads the names of the seams into info, and returns the unknown members.
func ReadSeams(raw []byte, info *adk.RunInfo) (extra []Member, err error) {
	var d Decoder
	if d.Members, err = ScanMembers(nil, raw); err != nil {
		return nil, err
	}
	return d.Each(func(name string, value []byte) (bool, error) {
		for _, n := range Named(info) {
			switch {
			case n.Label != name:
				continue
			case n.One != nil:
				*n.One, err = TextOfJSON(value)
			default:
				*n.List, err = textList(value)
			}
			return true, err
		}
		return false, nil
	})
}

// seamsOfJSON reads the names of the seams of a dispatch that user code called.
func seamsOfJSON(raw []byte) (*adk.RunInfo, error) {
	var info adk.RunInfo
	extra, err := ReadSeams(raw, &info)
	if err != nil {
		return nil, err
	}
	if len(extra) > 0 {
		return nil, fmt.Errorf("the unknown member %q", extra[0].Name)
	}
	return &info, nil
}

// Crossing reads a crossing's line into x, which must be zero, and returns the unknown members.
func (d *Decoder) Crossing(x *adk.Crossing) (extra []Member, err error) {
	if err := d.KindAndPhase(x); err != nil {
		return nil, err
	}
	if x.Kind == adk.KindReturn {
		x.Outcome = adk.OutcomeOK
	}
	if err := d.known(x.Kind); err != nil {
		return nil, err
	}
	x.At, d.hasMarks = d.Last, false
	fields := x.Kind.Fields(x.Phase)
	for i := range d.Members {
		m := &d.Members[i]
		known, err := d.common(x, m)
		if !known {
			if use := FieldNamed(fields, m.Name); use != nil {
				known, err = true, FieldRows[use.Field].Read(d, x, m.Value)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Clip(string(m.Name)), err)
		}
		if known {
			place(extra, m.Name)
		} else {
			extra = append(extra, keep(m))
		}
	}
	if err := d.restore(x, fields); err != nil {
		return nil, err
	}
	d.Last = x.At
	d.Seq++
	x.Seq = d.Seq
	d.Media.note(x)
	d.noteSaid(x)
	return extra, nil
}

// FieldNamed returns the field with the label name, or nil.
func FieldNamed(fields []adk.FieldUse, name []byte) *adk.FieldUse {
	for i := range fields {
		if fields[i].Label == string(name) {
			return &fields[i]
		}
	}
	return nil
}

// KindAndPhase reads the kind and phase, which determine what the rest of the line means.
func (d *Decoder) KindAndPhase(c *adk.Crossing) error {
	raw := d.Member(memberKind)
	if raw == nil {
		return errors.New("the line has no kind")
	}
	kind, err := bytesOfString(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", memberKind, err)
	}
	if c.Kind = adk.KindByName(WordOf(d.Format, string(kind))); c.Kind == 0 {
		return fmt.Errorf("there is no kind %s", Clip(strconv.Quote(string(kind))))
	}
	phase := d.Member(memberPhase)
	switch string(phase) {
	case `"begin"`:
		c.Phase = adk.Begin
	case `"done"`:
		c.Phase = adk.Done
	case "":
	default:
		return fmt.Errorf("%s: %w", memberPhase, ErrWant(`"begin" or "done"`, phase))
	}
	if spans := c.Phase != adk.Whole; spans != c.Kind.Spanning() {
		if spans {
			return fmt.Errorf("%s has no phases", c.Kind)
		}
		return fmt.Errorf(`%s needs a phase: "begin" or "done"`, c.Kind)
	}
	return nil
}

// common reads a member that lines of every kind have.
func (d *Decoder) common(c *adk.Crossing, m *ScannedMember) (known bool, err error) {
	switch string(m.Name) {
	case memberKind, memberPhase:
	case MemberAt:
		var since int64
		since, err = Int64OfJSON(m.Value)
		c.At = d.Last.Add(time.Duration(since))
	case memberIn:
		c.Call, err = IntOfJSON(m.Value)
	case MemberStrand:
		c.Strand, err = IntOfJSON(m.Value)
	case memberOp:
		c.Op, err = IntOfJSON(m.Value)
	default:
		return false, nil
	}
	return true, err
}

// maxNames limits how many texts a decoder keeps for sharing.
const maxNames = 4096

// shared reads a text that lines tend to repeat, such as an id or a name. Equal texts share one
// string, so that a hundred thousand deltas of a message hold its id once.
func (d *Decoder) shared(raw []byte) (string, error) {
	if name, ok := d.names[string(raw)]; ok {
		return name, nil
	}
	name, err := TextOfJSON(raw)
	if err == nil && len(d.names) < maxNames && len(raw) < 128 {
		d.names[string(raw)] = name
	}
	return name, err
}

// record reads a record: a new one with the next number, or an earlier one by its number.
func (d *Decoder) record(raw []byte) (adk.Record, error) {
	if d.apart != nil {
		return d.recordApart(raw)
	}
	members, err := ScanMembers(make([]ScannedMember, 0, 2), raw)
	if err != nil {
		return nil, err
	}
	if len(members) == 0 || len(members) > 2 || string(members[0].Name) != "#" {
		return nil, ErrWant(`a record, {"#":1,"message":{…}} or {"#":1}`, raw)
	}
	n, err := IntOfJSON(members[0].Value)
	if err != nil {
		return nil, fmt.Errorf("#: %w", err)
	}
	if len(members) == 2 {
		return d.newRecord(n, members[1])
	}
	if n < 1 || n > len(d.records) {
		return nil, fmt.Errorf("record %d is not there: the last one above it is %d", n, len(d.records))
	}
	return d.records[n-1], nil
}

func (d *Decoder) newRecord(n int, m ScannedMember) (adk.Record, error) {
	if n != len(d.records)+1 {
		return nil, fmt.Errorf("a new record has the number %d: want %d", n, len(d.records)+1)
	}
	r, err := d.parse(adk.RecordKind(m.Name), m.Value)
	if err != nil {
		return nil, fmt.Errorf("record %d: %w", n, err)
	}
	d.records = append(d.records, r)
	return r, nil
}

// parse reads a record. If it is a media, its bytes come from the trace.
func (d *Decoder) parse(kind adk.RecordKind, raw []byte) (adk.Record, error) {
	return adk.RecordParser{MediaReader: d.Media.reader}.Parse(kind, append([]byte(nil), raw...))
}

func (d *Decoder) recordList(raw []byte) ([]adk.Record, error) {
	return listOf(raw, d.record)
}

// listOf reads a list whose elements read decodes. An error names the index of the element.
func listOf[T any](raw []byte, read func([]byte) (T, error)) ([]T, error) {
	elements, err := Elements(raw)
	if err != nil {
		return nil, err
	}
	list := make([]T, len(elements))
	for i, one := range elements {
		if list[i], err = read(one); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return list, nil
}

// result reads the result of a tool.
func (d *Decoder) result(raw []byte) (adk.ToolResult, error) {
	m, err := OnlyMember(raw)
	if err != nil {
		return nil, err
	}
	switch string(m.Name) {
	case ResultText:
		text, err := TextOfJSON(m.Value)
		return adk.NewTokenizable(text), err
	case ResultBytes:
		data, err := Base64OfJSON(m.Value)
		return adk.Bytes(data), err
	case ResultMedia:
		return d.mediaResult(m.Value)
	case resultMediaList:
		return d.mediaList(m.Value)
	}
	return nil, ErrWant("text, bytes, media or mediaList", m.Name)
}

func (d *Decoder) mediaResult(raw []byte) (*adk.Media, error) {
	r, err := d.record(raw)
	if err != nil {
		return nil, err
	}
	media, ok := r.(*adk.Media)
	if !ok {
		return nil, fmt.Errorf("want a media, found a %s", r.RecordKind())
	}
	return media, nil
}

func (d *Decoder) mediaList(raw []byte) (adk.MediaList, error) {
	return listOf(raw, d.mediaResult)
}

// beginsWith reports whether raw is an object whose first member is called name. Most objects that
// could be a mark are not; beginsWith avoids scanning all of them.
func beginsWith(raw []byte, name string) bool {
	s := jsonscan.Scanner{Data: raw}
	if s.Next() != '{' {
		return false
	}
	if some, err := s.Open(); !some || err != nil {
		return false
	}
	quoted, err := s.SkipName()
	if err != nil {
		return false
	}
	text, err := jsonscan.Unquote(quoted)
	return err == nil && string(text) == name
}

// OnlyMember reads an object of exactly one member.
func OnlyMember(raw []byte) (ScannedMember, error) {
	members, err := ScanMembers(make([]ScannedMember, 0, 1), raw)
	if err != nil {
		return ScannedMember{}, err
	}
	if len(members) != 1 {
		return ScannedMember{}, ErrWant("an object of one member", raw)
	}
	return members[0], nil
}

// foreignMark is plain data under a mark that is not a kind of record: what a type of user code
// wrote for itself. It is kept unchanged.
type foreignMark struct {
	tag  string
	text []byte
}

func (m *foreignMark) PlainTag() string             { return m.tag }
func (m *foreignMark) MarshalJSON() ([]byte, error) { return m.text, nil }

// plain reads plain data.
func (d *Decoder) plain(raw []byte) (any, error) { return plain.Parse(raw, d.marked) }

// marked reads what is under a mark in plain data.
func (d *Decoder) marked(tag string, raw []byte) (any, error) {
	d.hasMarks = true
	if kind := adk.RecordKind(tag); isRecordKind(kind) {
		return d.parse(kind, raw)
	}
	return &foreignMark{tag, append([]byte(nil), raw...)}, nil
}

func (d *Decoder) args(raw []byte) (any, error) {
	switch raw[0] {
	case '"':
		return TextOfJSON(raw)
	case '{':
		object, err := canonical.ParseObject(raw)
		if err != nil {
			return nil, err
		}
		return withSmallNumbers(object), nil
	case '[':
		list, err := Elements(raw)
		if err != nil || len(list) != 1 {
			return nil, ErrWant("an object, JSON text, or plain data in a list of one", raw)
		}
		return d.plain(list[0])
	}
	return nil, ErrWant("an object, JSON text, or plain data in a list of one", raw)
}

// smallNumbers are the numbers that are most frequent in arguments, each allocated once.
var smallNumbers = func() (all [256]any) {
	for i := range all {
		all[i] = float64(i)
	}
	return all
}()

// withSmallNumbers replaces the small numbers in data by the shared ones of smallNumbers. It
// changes data in place.
func withSmallNumbers(data any) any {
	switch v := data.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = withSmallNumbers(value)
		}
	case []any:
		for i, value := range v {
			v[i] = withSmallNumbers(value)
		}
	case float64:
		if v >= 0 && v < 256 && v == float64(int(v)) && !math.Signbit(v) {
			return smallNumbers[int(v)]
		}
	}
	return data
}

// TextOfJSON reads a text: a JSON string, or the form for bytes that a JSON string cannot hold.
func TextOfJSON(raw []byte) (string, error) {
	if raw[0] == '{' {
		m, err := OnlyMember(raw)
		if err != nil || string(m.Name) != "$string" {
			return "", ErrWant("a string", raw)
		}
		text, err := Base64OfJSON(m.Value)
		return string(text), err
	}
	text, err := bytesOfString(raw)
	return string(text), err
}

// bytesOfString reads a JSON string. The result may be a part of raw.
func bytesOfString(raw []byte) ([]byte, error) {
	if raw[0] != '"' {
		return nil, ErrWant("a string", raw)
	}
	return jsonscan.Unquote(raw)
}

func textList(raw []byte) ([]string, error) { return listOf(raw, TextOfJSON) }

// IntOfJSON reads a whole number that fits an int.
func IntOfJSON(raw []byte) (int, error) {
	n, err := Int64OfJSON(raw)
	if err == nil && int64(int(n)) != n {
		err = ErrWant("a whole number that is not too large", raw)
	}
	return int(n), err
}

// Int64OfJSON reads a whole number. It does what strconv.ParseInt does, without the conversion to a
// string.
func Int64OfJSON(raw []byte) (int64, error) {
	digits, negative := raw, raw[0] == '-'
	if negative {
		digits = raw[1:]
	}
	n := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' || n < (math.MinInt64+int64(c-'0'))/10 {
			return 0, ErrWant("a whole number", raw)
		}
		n = n*10 - int64(c-'0') // counts downwards, because there is one more negative number than positive ones
	}
	if negative {
		return n, nil
	}
	if n == math.MinInt64 || len(digits) == 0 {
		return 0, ErrWant("a whole number", raw)
	}
	return -n, nil
}

// BoolOfJSON reads true or false.
func BoolOfJSON(raw []byte) (bool, error) {
	switch string(raw) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, ErrWant("true or false", raw)
}

// TimeOfJSON reads a time in RFC 3339.
func TimeOfJSON(raw []byte) (time.Time, error) {
	text, err := bytesOfString(raw)
	if err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return time.Time{}, ErrWant("a time as in RFC 3339", raw)
	}
	if _, err := AppendTime(nil, at); err != nil {
		return time.Time{}, err
	}
	return at.UTC(), nil
}

// DurationOfJSON reads a duration in the syntax of time.ParseDuration.
func DurationOfJSON(raw []byte) (time.Duration, error) {
	text, err := bytesOfString(raw)
	if err != nil {
		return 0, err
	}
	duration, err := time.ParseDuration(string(text))
	if err != nil {
		return 0, ErrWant(`a duration such as "1.5s"`, raw)
	}
	return duration, nil
}

func seamOfJSON(raw []byte) (adk.Seam, error) {
	path, err := TextOfJSON(raw)
	if err != nil {
		return adk.Seam{}, err
	}
	return adk.ParseSeam(path)
}

func outcomeOfJSON(raw []byte) (adk.Outcome, error) {
	text, err := bytesOfString(raw)
	if outcome := adk.Outcome(text); err == nil && knownOutcome(outcome) {
		return outcome, nil
	}
	return "", ErrWant(`"ok", "error", "panic" or "goexit"`, raw)
}

func digestOfJSON(raw []byte) (digest adk.Digest, err error) {
	data, err := HexOfJSON(raw)
	if err == nil && len(data) != len(digest) {
		err = ErrWant(fmt.Sprintf("%d hexadecimal digits", 2*len(digest)), raw)
	}
	copy(digest[:], data)
	return digest, err
}

// HexOfJSON reads bytes in lowercase hexadecimal digits.
func HexOfJSON(raw []byte) ([]byte, error) {
	text, err := bytesOfString(raw)
	if err != nil {
		return nil, err
	}
	data := make([]byte, hex.DecodedLen(len(text)))
	if _, err := hex.Decode(data, text); err != nil || bytes.ContainsAny(text, "ABCDEF") {
		return nil, ErrWant("lowercase hexadecimal digits", raw)
	}
	return data, nil
}

// Base64OfJSON reads bytes in base64.
func Base64OfJSON(raw []byte) ([]byte, error) {
	text, err := bytesOfString(raw)
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.Strict().AppendDecode([]byte{}, text)
	if err != nil {
		return nil, ErrWant("base64", raw)
	}
	return data, nil
}

func schemaOfJSON(raw []byte) (json.RawMessage, error) {
	if beginsWith(raw, SchemaMark) {
		if m, err := OnlyMember(raw); err == nil {
			text, err := TextOfJSON(m.Value)
			return json.RawMessage(text), err
		}
	}
	return append(json.RawMessage(nil), raw...), nil
}
