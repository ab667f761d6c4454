package replay

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// decoder reads lines. It is encoder's other half: it remembers what lines
// refer to.
type decoder struct {
	format    int // the version of the format
	last      time.Time
	seq       int
	records   []adk.Record
	sentinels *sentinels
	members   []member
	names     map[string]string
	media     *openings
}

// newDecoder reads crossings; it knows the errors that known names.
func newDecoder(s *sentinels) *decoder {
	return &decoder{sentinels: s, names: map[string]string{}, media: newOpenings()}
}

// scan reads the members of a line.
func (d *decoder) scan(line []byte) (err error) {
	if !utf8.Valid(line) {
		return errNotUTF8
	}
	d.members, err = scanMembers(d.members[:0], line)
	return err
}

// member is the value of a member of the line, or nil.
func (d *decoder) member(name string) []byte {
	for _, m := range d.members {
		if string(m.name) == name {
			return m.value
		}
	}
	return nil
}

// isFooter reports whether the line is one.
func (d *decoder) isFooter() bool {
	return d.member(memberKind) == nil && d.member(memberEnd) != nil
}

// each gives the members of the line to known, in their order. What known does
// not know is kept, with its place.
func (d *decoder) each(known func(name string, value []byte) (bool, error)) (extra []Member, err error) {
	for _, m := range d.members {
		ok, err := known(string(m.name), m.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", clip(string(m.name)), err)
		}
		if ok {
			place(extra, m.name)
		} else {
			extra = append(extra, keep(&m))
		}
	}
	return extra, nil
}

// keep copies a member that nobody knows.
func keep(m *member) Member {
	return Member{Name: string(m.name), Value: append(json.RawMessage(nil), m.value...)}
}

// place tells the unknown members which known one they stand before.
func place(extra []Member, name []byte) {
	for i := len(extra) - 1; i >= 0 && extra[i].Before == ""; i-- {
		extra[i].Before = string(name)
	}
}

// known refuses a kind that came with a later version of the format than that of
// the file, where a header was read.
func (d *decoder) known(kind adk.Kind) error {
	if d.format == 0 {
		return nil
	}
	return knows(d.format, kind)
}

// readSeams reads the names of the seams into info; extra are the members that
// nobody knows.
func readSeams(raw []byte, info *adk.RunInfo) (extra []Member, err error) {
	var d decoder
	if d.members, err = scanMembers(nil, raw); err != nil {
		return nil, err
	}
	return d.each(func(name string, value []byte) (bool, error) {
		if name == adk.LabelExecutor {
			info.Executor, err = textOfJSON(value)
			return true, err
		}
		for _, p := range pipelines(info) {
			if p.label == name {
				*p.names, err = textList(value)
				return true, err
			}
		}
		return false, nil
	})
}

// seamsOfJSON reads the names of the seams of a dispatch that a turn called.
func seamsOfJSON(raw []byte) (*adk.RunInfo, error) {
	var info adk.RunInfo
	extra, err := readSeams(raw, &info)
	if err != nil {
		return nil, err
	}
	if len(extra) > 0 {
		return nil, fmt.Errorf("the unknown member %q", extra[0].Name)
	}
	return &info, nil
}

// crossing reads a crossing's line into x, which is zero, and gives the members that
// nobody knows.
func (d *decoder) crossing(x *adk.Crossing) (extra []Member, err error) {
	if err := d.kindAndPhase(x); err != nil {
		return nil, err
	}
	if x.Kind == adk.KindReturn {
		x.Outcome = adk.OutcomeOK
	}
	if err := d.known(x.Kind); err != nil {
		return nil, err
	}
	x.At = d.last
	fields := x.Kind.Fields(x.Phase)
	for i := range d.members {
		m := &d.members[i]
		known, err := d.common(x, m)
		if !known {
			if use := fieldNamed(fields, m.name); use != nil {
				known, err = true, fieldRows[use.Field].read(d, x, m.value)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", clip(string(m.name)), err)
		}
		if known {
			place(extra, m.name)
		} else {
			extra = append(extra, keep(m))
		}
	}
	d.last = x.At
	d.seq++
	x.Seq = d.seq
	d.media.note(x)
	return extra, nil
}

// fieldNamed is the field that a member holds, by its label.
func fieldNamed(fields []adk.FieldUse, name []byte) *adk.FieldUse {
	for i := range fields {
		if fields[i].Label == string(name) {
			return &fields[i]
		}
	}
	return nil
}

// kindAndPhase reads what decides about the rest of the line.
func (d *decoder) kindAndPhase(c *adk.Crossing) error {
	raw := d.member(memberKind)
	if raw == nil {
		return errors.New("the line has no kind")
	}
	kind, err := bytesOfString(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", memberKind, err)
	}
	if c.Kind = adk.KindByName(string(kind)); c.Kind == 0 {
		return fmt.Errorf("there is no kind %s", clip(strconv.Quote(string(kind))))
	}
	phase := d.member(memberPhase)
	switch string(phase) {
	case `"begin"`:
		c.Phase = adk.Begin
	case `"done"`:
		c.Phase = adk.Done
	case "":
	default:
		return fmt.Errorf("%s: %w", memberPhase, errWant(`"begin" or "done"`, phase))
	}
	if spans := c.Phase != adk.Whole; spans != c.Kind.Spanning() {
		if spans {
			return fmt.Errorf("%s has no phases", c.Kind)
		}
		return fmt.Errorf(`%s needs a phase: "begin" or "done"`, c.Kind)
	}
	return nil
}

// common reads a member that every kind has.
func (d *decoder) common(c *adk.Crossing, m *member) (known bool, err error) {
	switch string(m.name) {
	case memberKind, memberPhase:
	case memberAt:
		var since int
		since, err = intOfJSON(m.value)
		c.At = d.last.Add(time.Duration(since))
	case memberIn:
		c.Call, err = intOfJSON(m.value)
	case memberStrand:
		c.Strand, err = intOfJSON(m.value)
	case memberOp:
		c.Op, err = intOfJSON(m.value)
	default:
		return false, nil
	}
	return true, err
}

// maxNames bounds how many names a decoder keeps to share.
const maxNames = 4096

// shared reads a text that lines tend to say again: ids, names. Each is kept
// once, so that a hundred thousand deltas of a message hold one id.
func (d *decoder) shared(raw []byte) (string, error) {
	if name, ok := d.names[string(raw)]; ok {
		return name, nil
	}
	name, err := textOfJSON(raw)
	if err == nil && len(d.names) < maxNames && len(raw) < 128 {
		d.names[string(raw)] = name
	}
	return name, err
}

// record reads a record: a new one with the next number, or a number.
func (d *decoder) record(raw []byte) (adk.Record, error) {
	members, err := scanMembers(make([]member, 0, 2), raw)
	if err != nil {
		return nil, err
	}
	if len(members) == 0 || len(members) > 2 || string(members[0].name) != "#" {
		return nil, errWant(`a record, {"#":1,"message":{…}} or {"#":1}`, raw)
	}
	n, err := intOfJSON(members[0].value)
	if err != nil {
		return nil, fmt.Errorf("#: %w", err)
	}
	if len(members) == 2 {
		return d.newRecord(n, members[1])
	}
	if n < 1 || n > len(d.records) {
		return nil, fmt.Errorf("record %d has not been there: the last one is %d", n, len(d.records))
	}
	return d.records[n-1], nil
}

func (d *decoder) newRecord(n int, m member) (adk.Record, error) {
	if n != len(d.records)+1 {
		return nil, fmt.Errorf("a new record has the number %d: want %d", n, len(d.records)+1)
	}
	r, err := d.parse(adk.RecordKind(m.name), m.value)
	if err != nil {
		return nil, fmt.Errorf("record %d: %w", n, err)
	}
	d.records = append(d.records, r)
	return r, nil
}

// parse reads a record, whose media read their bytes from the trace.
func (d *decoder) parse(kind adk.RecordKind, raw []byte) (adk.Record, error) {
	return adk.RecordParser{MediaReader: d.media.reader}.Parse(kind, append([]byte(nil), raw...))
}

func (d *decoder) recordList(raw []byte) ([]adk.Record, error) {
	list, err := elements(raw)
	if err != nil {
		return nil, err
	}
	records := make([]adk.Record, len(list))
	for i, one := range list {
		if records[i], err = d.record(one); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return records, nil
}

// result reads what a tool gave.
func (d *decoder) result(raw []byte) (adk.ToolResult, error) {
	m, err := onlyMember(raw)
	if err != nil {
		return nil, err
	}
	switch string(m.name) {
	case resultText:
		text, err := textOfJSON(m.value)
		return adk.NewTokenizable(text), err
	case resultBytes:
		data, err := base64OfJSON(m.value)
		return adk.Bytes(data), err
	case resultMedia:
		return d.mediaResult(m.value)
	case resultMediaList:
		return d.mediaList(m.value)
	}
	return nil, errWant("text, bytes, media or mediaList", m.name)
}

func (d *decoder) mediaResult(raw []byte) (*adk.Media, error) {
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

func (d *decoder) mediaList(raw []byte) (adk.MediaList, error) {
	list, err := elements(raw)
	if err != nil {
		return nil, err
	}
	all := make(adk.MediaList, len(list))
	for i, one := range list {
		if all[i], err = d.mediaResult(one); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return all, nil
}

// onlyMember reads an object of one member.
func onlyMember(raw []byte) (member, error) {
	members, err := scanMembers(make([]member, 0, 1), raw)
	if err != nil {
		return member{}, err
	}
	if len(members) != 1 {
		return member{}, errWant("an object of one member", raw)
	}
	return members[0], nil
}

// foreignMark is plain data with a mark that is no record's: what a type of
// user code wrote of itself. It is kept as it is.
type foreignMark struct {
	tag  string
	text []byte
}

func (m *foreignMark) PlainTag() string             { return m.tag }
func (m *foreignMark) MarshalJSON() ([]byte, error) { return m.text, nil }

// marked reads what stands under a mark in plain data.
func (d *decoder) marked(tag string, raw []byte) (any, error) {
	switch kind := adk.RecordKind(tag); kind {
	case adk.RecordMessage, adk.RecordMemory, adk.RecordThought, adk.RecordToolCall,
		adk.RecordRetrievable, adk.RecordInstruction, adk.RecordTool, adk.RecordMedia:
		return d.parse(kind, raw)
	}
	return &foreignMark{tag, append([]byte(nil), raw...)}, nil
}

func (d *decoder) args(raw []byte) (any, error) {
	switch raw[0] {
	case '"':
		return textOfJSON(raw)
	case '{':
		return canonical.ParseObject(raw)
	case '[':
		list, err := elements(raw)
		if err != nil || len(list) != 1 {
			return nil, errWant("an object, JSON text, or plain data in a list of one", raw)
		}
		return plain.Parse(list[0], d.marked)
	}
	return nil, errWant("an object, JSON text, or plain data in a list of one", raw)
}

// textOfJSON reads a text: a string, or the bytes of one that JSON cannot hold.
func textOfJSON(raw []byte) (string, error) {
	if raw[0] == '{' {
		m, err := onlyMember(raw)
		if err != nil || string(m.name) != "$string" {
			return "", errWant("a string", raw)
		}
		text, err := base64OfJSON(m.value)
		return string(text), err
	}
	text, err := bytesOfString(raw)
	return string(text), err
}

// bytesOfString reads a JSON string; what it gives may be a part of raw.
func bytesOfString(raw []byte) ([]byte, error) {
	if raw[0] != '"' {
		return nil, errWant("a string", raw)
	}
	return unquote(raw)
}

func textList(raw []byte) ([]string, error) {
	list, err := elements(raw)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(list))
	for i, one := range list {
		if texts[i], err = textOfJSON(one); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return texts, nil
}

// intOfJSON reads a whole number. It is strconv.Atoi without a string.
func intOfJSON(raw []byte) (int, error) {
	digits, negative := raw, raw[0] == '-'
	if negative {
		digits = raw[1:]
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' || n < (math.MinInt+int(c-'0'))/10 {
			return 0, errWant("a whole number", raw)
		}
		n = n*10 - int(c-'0') // downwards, where there is room for one more
	}
	if negative {
		return n, nil
	}
	if n == math.MinInt || len(digits) == 0 {
		return 0, errWant("a whole number", raw)
	}
	return -n, nil
}

// boolOfJSON reads true or false.
func boolOfJSON(raw []byte) (bool, error) {
	switch string(raw) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errWant("true or false", raw)
}

// timeOfJSON reads a time in RFC 3339.
func timeOfJSON(raw []byte) (time.Time, error) {
	text, err := bytesOfString(raw)
	if err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return time.Time{}, errWant("a time as in RFC 3339", raw)
	}
	if _, err := appendTime(nil, at); err != nil {
		return time.Time{}, err
	}
	return at.UTC(), nil
}

// durationOfJSON reads a duration as Go writes it.
func durationOfJSON(raw []byte) (time.Duration, error) {
	text, err := bytesOfString(raw)
	if err != nil {
		return 0, err
	}
	duration, err := time.ParseDuration(string(text))
	if err != nil {
		return 0, errWant(`a duration such as "1.5s"`, raw)
	}
	return duration, nil
}

func seamOfJSON(raw []byte) (adk.Seam, error) {
	path, err := textOfJSON(raw)
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
	return "", errWant(`"ok", "error", "panic" or "goexit"`, raw)
}

func digestOfJSON(raw []byte) (digest adk.Digest, err error) {
	data, err := hexOfJSON(raw)
	if err == nil && len(data) != len(digest) {
		err = errWant(fmt.Sprintf("%d hexadecimal digits", 2*len(digest)), raw)
	}
	copy(digest[:], data)
	return digest, err
}

// hexOfJSON reads a digest in hex.
func hexOfJSON(raw []byte) ([]byte, error) {
	text, err := bytesOfString(raw)
	if err != nil {
		return nil, err
	}
	data := make([]byte, hex.DecodedLen(len(text)))
	if _, err := hex.Decode(data, text); err != nil || bytes.ContainsAny(text, "ABCDEF") {
		return nil, errWant("lowercase hexadecimal digits", raw)
	}
	return data, nil
}

// base64OfJSON reads bytes in base64.
func base64OfJSON(raw []byte) ([]byte, error) {
	text, err := bytesOfString(raw)
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.Strict().AppendDecode([]byte{}, text)
	if err != nil {
		return nil, errWant("base64", raw)
	}
	return data, nil
}

func schemaOfJSON(raw []byte) (json.RawMessage, error) {
	if raw[0] == '{' {
		if m, err := onlyMember(raw); err == nil && string(m.name) == schemaMark {
			text, err := textOfJSON(m.value)
			return json.RawMessage(text), err
		}
	}
	return append(json.RawMessage(nil), raw...), nil
}
