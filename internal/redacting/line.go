package redacting

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/forging"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file redacts one line of a trace in its written form. Whatever a line holds passes through
// here, so no field can be forgotten.

// lineRedactor writes a redacted line into out. The JSON texts that its methods get must have been
// written by this project.
type lineRedactor struct {
	*redactor
	out  []byte
	path []string // the names that lead to what is being written, in lower case
	by   string   // the kind of the path rule that covers it; "" for none
	// deltas says to leave deltas unchanged, because a redactStream redacts them.
	deltas bool
	// quiet says not to look elsewhere for what a path finds here.
	quiet bool
	// inPiece says that texts belong to a piece of an answer; pieces are those still to come.
	inPiece bool
	pieces  []pieceText
	// ofBody says that the line is a question to the body of an artifact.
	ofBody bool
}

// Line redacts the line of a crossing. Whatever a path finds in it is then looked for in the whole
// line, so Line starts over when it has found something new.
func (r *redactor) Line(line []byte, deltas bool, pieces ...pieceText) ([]byte, error) {
	r.carried(line)
	for {
		l := lineRedactor{redactor: r, deltas: deltas, pieces: pieces}
		count, hunted := r.Count, r.hunted
		err := l.crossing(line)
		if err != nil || r.hunted == hunted {
			return l.out, err
		}
		r.Count = count
	}
}

// learn records what paths find in a line that is redacted later.
func (r *redactor) learn(line []byte, deltas bool) error {
	count := r.Count
	_, err := r.Line(line, deltas)
	r.Count = count
	return err
}

func (l *lineRedactor) crossing(line []byte) error {
	members, err := wire.ScanMembers(nil, line)
	if err != nil {
		return err
	}
	var c adk.Crossing
	d := wire.Decoder{Members: members}
	if err := d.KindAndPhase(&c); err != nil {
		return err
	}
	fields := c.Kind.Fields(c.Phase)
	l.ofBody = string(d.Member("of")) == `"`+forging.Spool+`"`
	return l.object(members, func(m wire.ScannedMember) error {
		use := wire.FieldNamed(fields, m.Name)
		if use == nil {
			l.raw(m.Value) // kind, at, in and other members that are not fields
			return nil
		}
		if use.Field == adk.FieldValue && c.Kind.Names(adk.StashPath) {
			return l.stashed(&d, m.Value)
		}
		return l.named(m.Name, func() error { return l.field(c.Kind, use, m.Value) })
	})
}

// stashed writes the value of a stash operation under the names of its path in the stash.
func (l *lineRedactor) stashed(d *wire.Decoder, value []byte) error {
	path, err := wire.TextOfJSON(d.Member("path"))
	if err != nil {
		return err
	}
	names := append([]string{"stash"}, strings.Split(path, ".")...)
	return l.below(names, func() error { return l.plain(value) })
}

// field writes one field of a crossing.
func (l *lineRedactor) field(kind adk.Kind, use *adk.FieldUse, value []byte) error {
	if wire.IsOfFormat(use.Field) { // Writer.write redacts the names of seams
		l.raw(value)
		return nil
	}
	switch use.Field {
	case adk.FieldTexts:
		return l.list(value, l.text)
	case adk.FieldRecord:
		return l.reference(value)
	case adk.FieldRecords:
		return l.list(value, l.reference)
	case adk.FieldValue:
		return l.plain(value)
	case adk.FieldArgs:
		return l.args(value)
	case adk.FieldResult:
		return l.result(value)
	case adk.FieldErr, adk.FieldCause:
		return l.error(value)
	case adk.FieldSchema:
		return l.schema(value)
	case adk.FieldJSON:
		if kind.Class() == adk.ClassFact { // a piece of an answer
			return l.piece(value)
		}
		return l.rawJSON(value)
	case adk.FieldSeams:
		return l.seams(value)
	case adk.FieldPayload:
		return l.event(value)
	}
	switch {
	case use.Names == adk.Checksum, l.deltas && use.Field == adk.FieldText:
		l.raw(value)
		return nil
	case value[0] == '"':
		return l.text(value)
	}
	return l.rawJSON(value) // a field that this function does not know
}

func (l *lineRedactor) raw(text []byte) { l.out = append(l.out, text...) }

func (l *lineRedactor) comma() {
	if last := l.out[len(l.out)-1]; last != '{' && last != '[' {
		l.out = append(l.out, ',')
	}
}

// object writes an object whose member names belong to the format; value writes each value.
func (l *lineRedactor) object(members []wire.ScannedMember, value func(wire.ScannedMember) error) error {
	l.out = append(l.out, '{')
	for _, m := range members {
		l.comma()
		l.out = append(canonical.AppendString(l.out, string(m.Name)), ':')
		if err := value(m); err != nil {
			return err
		}
	}
	l.out = append(l.out, '}')
	return nil
}

// members is like object, for the text of an object.
func (l *lineRedactor) members(value []byte, each func(wire.ScannedMember) error) error {
	members, err := wire.ScanMembers(nil, value)
	if err != nil {
		return err
	}
	return l.object(members, each)
}

// entries writes an object whose member names people chose, and may be secret.
func (l *lineRedactor) entries(value []byte, each func([]byte) error) error {
	members, err := wire.ScanMembers(nil, value)
	if err != nil {
		return err
	}
	return l.entriesOf(members, each)
}

func (l *lineRedactor) entriesOf(members []wire.ScannedMember, each func([]byte) error) error {
	under := make([]string, len(members)) // the original names, which paths refer to
	for i, m := range members {
		under[i] = string(m.Name)
		members[i].Name = []byte(l.redactor.Text(under[i]))
	}
	at := 0
	return l.object(members, func(m wire.ScannedMember) error {
		name := under[at]
		at++
		return l.below([]string{name}, func() error { return each(m.Value) })
	})
}

func (l *lineRedactor) list(value []byte, each func([]byte) error) error {
	list, err := wire.Elements(value)
	if err != nil {
		return err
	}
	l.out = append(l.out, '[')
	for _, one := range list {
		l.comma()
		if err := each(one); err != nil {
			return err
		}
	}
	l.out = append(l.out, ']')
	return nil
}

// named writes what is under a name.
func (l *lineRedactor) named(name []byte, write func() error) error {
	return l.below([]string{string(name)}, write)
}

func (l *lineRedactor) below(names []string, write func() error) error {
	path, by := l.path, l.by
	for _, name := range names {
		l.path = append(slices.Clip(l.path), strings.ToLower(name))
		if l.by == "" {
			l.by = l.rules.kindOf(l.path)
		}
	}
	err := write()
	l.path, l.by = path, by
	return err
}

// string redacts a text that a path may cover.
func (l *lineRedactor) string(text string) string {
	alone := func(text string) string { return l.textAt(l.path, text) }
	if l.inPiece {
		alone = l.pieceText
	}
	if l.by != "" && text != "" {
		if len(l.pieces) > 0 {
			l.pieces = l.pieces[1:]
		}
		return l.found(l.by, text, !l.quiet)
	}
	if _, isName := l.redactor.names[text]; isName && !l.inPiece {
		return l.redactor.name(text)
	}
	return alone(text)
}

// text writes a text in the form of Encoder.Text.
func (l *lineRedactor) text(value []byte) error {
	text, err := wire.TextOfJSON(value)
	if err == nil {
		e := wire.Encoder{Out: l.out}
		e.Text(l.string(text))
		l.out = e.Out
	}
	return err
}

// base64 writes bytes.
func (l *lineRedactor) base64(value []byte) error {
	data, err := wire.Base64OfJSON(value)
	if err == nil {
		l.out = base64.StdEncoding.AppendEncode(append(l.out, '"'), []byte(l.string(string(data))))
		l.out = append(l.out, '"')
	}
	return err
}

// scalar writes a number, a boolean or null.
func (l *lineRedactor) scalar(value []byte) {
	switch {
	case l.by == "" || value[0] == 'n' || value[0] == 'f':
		l.raw(value)
		return
	case value[0] == 't':
		l.out = append(l.out, "false"...)
	case strings.ContainsAny(string(value), ".eE"):
		l.out = append(l.out, "0.0"...)
	default:
		l.out = append(l.out, '0')
	}
	l.Count++
}

// json writes any JSON without marks.
func (l *lineRedactor) json(value []byte) error {
	switch value[0] {
	case '{':
		members, err := wire.ScanMembers(nil, value)
		if err != nil {
			return err
		}
		if len(l.rules.paths) > 0 && l.by == "" && describesArguments(members) {
			return l.schema(value)
		}
		return l.entriesOf(members, l.json)
	case '[':
		return l.list(value, l.json)
	case '"':
		return l.text(value)
	}
	l.scalar(value)
	return nil
}

// args writes a tool's arguments.
func (l *lineRedactor) args(value []byte) error {
	switch value[0] {
	case '"':
		return l.argsText(value)
	case '[':
		return l.list(value, l.plain)
	}
	return l.json(value)
}

// argsText writes arguments that were given as the text of an object. It redacts the object as if
// it were given as one. If nothing in it is secret, the text keeps its spelling.
func (l *lineRedactor) argsText(value []byte) error {
	text, err := wire.TextOfJSON(value)
	if err != nil {
		return err
	}
	object, err := canonical.ParseObject([]byte(text))
	if err != nil {
		return l.text(value)
	}
	if wire.CheckLine([]byte(text)) != nil { // the reader of arguments is more lenient than that of lines
		again, err := canonical.Append(nil, object)
		if err != nil {
			return err
		}
		text = string(again)
	}
	count := l.Count
	redacted, err := l.argsObject(text, l.by)
	if at := l.across(redacted); err == nil && at != "" {
		// A pattern that matches across the punctuation of JSON would leave no object.
		l.Count = count
		redacted, err = l.argsObject(text, at)
	}
	if l.Count == count {
		redacted = text
	}
	l.out = canonical.AppendString(l.out, redacted)
	return err
}

func (l *lineRedactor) argsObject(text, by string) (string, error) {
	within := lineRedactor{redactor: l.redactor, path: l.path, by: by}
	err := within.json([]byte(strings.TrimSpace(text)))
	return string(within.out), err
}

// across returns the kind of a secret in a redacted text of JSON that spans more than one string of
// it, or "".
func (l *lineRedactor) across(text string) string {
	for _, s := range l.spans(text) {
		if !strings.Contains(text[s.From:s.To], wire.PlaceholderBegin) {
			return s.Kind
		}
	}
	return ""
}

// reference writes a record, or the number of one.
func (l *lineRedactor) reference(value []byte) error {
	return l.members(value, func(m wire.ScannedMember) error {
		if string(m.Name) == "#" {
			l.raw(m.Value)
			return nil
		}
		return l.named(m.Name, func() error { return l.record(adk.RecordKind(m.Name), m.Value) })
	})
}

// recordWords are the members of records that are words of the format.
var recordWords = []string{"role", "createdAt", "updatedAt", "completedAt", "trustTier", "modalityHazard", "onCollision", "effect"}

func (l *lineRedactor) record(kind adk.RecordKind, value []byte) error {
	if value[0] != '{' {
		return l.json(value) // a standing instruction is its text
	}
	return l.members(value, func(m wire.ScannedMember) error {
		name := string(m.Name)
		if slices.Contains(recordWords, name) || kind == adk.RecordMedia && name == "kind" {
			l.raw(m.Value)
			return nil
		}
		return l.named(m.Name, func() error {
			switch {
			case kind == adk.RecordTool && name == "inputSchema":
				return l.toolSchema(m.Value)
			case kind == adk.RecordThought && name == "payload":
				return l.plain(m.Value)
			case kind == adk.RecordMedia && name == "stash":
				return l.mediaStash(m.Value)
			case kind == adk.RecordToolCall && name == "results":
				return l.result(m.Value)
			case name == "attachments":
				return l.list(m.Value, l.media)
			case kind == adk.RecordMedia && name == "mimeType":
				return l.mimeType(m.Value)
			}
			return l.json(m.Value)
		})
	})
}

func (l *lineRedactor) media(value []byte) error { return l.record(adk.RecordMedia, value) }

// mimeType writes a MIME type. A placeholder is not a valid one, so it writes another type instead.
func (l *lineRedactor) mimeType(value []byte) error {
	text, err := wire.TextOfJSON(value)
	if err != nil {
		return err
	}
	if redacted := l.string(text); redacted != text {
		text = "application/x-redacted"
	}
	l.out = canonical.AppendString(l.out, text)
	return nil
}

func (l *lineRedactor) mediaStash(value []byte) error {
	return l.entries(value, func(entry []byte) error {
		isMark := l.path[len(l.path)-1] == forging.StashKey
		return l.members(entry, func(m wire.ScannedMember) error {
			switch string(m.Name) {
			case "value":
				if isMark {
					return l.unhashed(m.Value)
				}
				return l.plain(m.Value)
			case "trustTier":
				l.raw(m.Value)
				return nil
			}
			return l.json(m.Value)
		})
	})
}

// unhashed writes the mark of an artifact, or a question to its body, without the hash of the body,
// because the hash of a short secret can be guessed (ART-25). The hash is also removed from ids and
// keys that contain a part of it.
func (l *lineRedactor) unhashed(value []byte) error {
	if value[0] != '{' || !l.rules.any() {
		return l.plain(value)
	}
	members, err := wire.ScanMembers(nil, value)
	if err != nil {
		return err
	}
	kept := members[:0]
	for _, m := range members {
		if string(m.Name) != forging.Hash || m.Value[0] != '"' {
			kept = append(kept, m)
			continue
		}
		hash, err := wire.TextOfJSON(m.Value)
		if err != nil {
			return err
		}
		l.huntHash(hash)
	}
	return l.entriesOf(kept, l.plain)
}

// result writes the result of a tool. Within a record a media is written in full, and elsewhere as
// a reference.
func (l *lineRedactor) result(value []byte) error {
	media := func(value []byte) error {
		if strings.HasPrefix(string(value), `{"#"`) {
			return l.reference(value)
		}
		return l.media(value)
	}
	return l.members(value, func(m wire.ScannedMember) error {
		return l.named(m.Name, func() error {
			switch string(m.Name) {
			case wire.ResultText:
				return l.text(m.Value)
			case wire.ResultBytes:
				return l.base64(m.Value)
			case wire.ResultMedia:
				return media(m.Value)
			default:
				return l.list(m.Value, media)
			}
		})
	})
}

// error writes the tree of an error.
func (l *lineRedactor) error(value []byte) error {
	return l.members(value, func(m wire.ScannedMember) error {
		switch string(m.Name) {
		case wire.ErrorCode, wire.ErrorSentinel, wire.ErrorIs, wire.ErrorStage, wire.ErrorType, wire.ErrorTimeout:
			l.raw(m.Value)
			return nil
		case wire.ErrorCause:
			return l.error(m.Value)
		case wire.ErrorCauses:
			return l.list(m.Value, l.error)
		case wire.ErrorFaults:
			return l.list(m.Value, l.fault)
		case wire.ErrorWith:
			return l.fault(m.Value)
		}
		return l.named(m.Name, func() error { return l.text(m.Value) })
	})
}

// fault writes one of the faults of an error, or the texts of an error with a form.
func (l *lineRedactor) fault(value []byte) error {
	return l.members(value, func(m wire.ScannedMember) error {
		return l.named(m.Name, func() error { return l.text(m.Value) })
	})
}

// seams writes the names of the seams of a dispatch that user code called.
func (l *lineRedactor) seams(value []byte) error {
	return l.members(value, func(m wire.ScannedMember) error {
		if m.Value[0] == '[' {
			return l.list(m.Value, l.text)
		}
		return l.text(m.Value)
	})
}

// event writes an event that user code emits.
func (l *lineRedactor) event(value []byte) error {
	return l.members(value, func(m wire.ScannedMember) error {
		switch string(m.Name) {
		case wire.EventDelta, wire.EventFull:
			if l.deltas {
				l.raw(m.Value)
				return nil
			}
		case wire.EventCreatedAt, wire.EventUpdatedAt, wire.EventCompletedAt, wire.EventIteration, wire.EventIsError, wire.EventComplete, "$opaque":
			l.raw(m.Value)
			return nil
		case wire.EventArgs:
			return l.named(m.Name, func() error { return l.args(m.Value) })
		case wire.EventResults:
			return l.named(m.Name, func() error { return l.result(m.Value) })
		}
		return l.named(m.Name, func() error { return l.text(m.Value) })
	})
}

// toolSchema writes the schema of a tool. If redaction makes it invalid as a tool's schema,
// toolSchema writes a schema that accepts any arguments.
func (l *lineRedactor) toolSchema(value []byte) error {
	start, count := len(l.out), l.Count
	err := l.schema(value)
	if err == nil && l.Count > count && !isToolSchema(l.out[start:]) {
		l.out, l.Count = append(l.out[:start], anyArguments...), count+1
	}
	return err
}

// schema writes a JSON Schema. A path refers to the values that the schema describes, so it covers
// only defaults, constants, enums and examples.
func (l *lineRedactor) schema(value []byte) error {
	if value[0] != '{' {
		return l.uncovered(func() error { return l.json(value) })
	}
	return l.members(value, func(m wire.ScannedMember) error {
		switch string(m.Name) {
		case "default", "const":
			return l.json(m.Value)
		case "enum", "example", "examples":
			// They are not secrets to look for elsewhere.
			quiet := l.quiet
			l.quiet = true
			err := l.json(m.Value)
			l.quiet = quiet
			return err
		case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
			if m.Value[0] == '{' {
				return l.entries(m.Value, l.schema)
			}
		case wire.SchemaMark:
			return l.uncovered(func() error { return l.text(m.Value) })
		}
		if m.Value[0] == '[' {
			return l.list(m.Value, l.schema)
		}
		return l.schema(m.Value)
	})
}

// piece writes a piece of an answer of the world.
func (l *lineRedactor) piece(value []byte) error {
	l.inPiece = true
	err := l.json(value)
	l.inPiece = false
	return err
}

// rawJSON writes a request to the world or its answer.
func (l *lineRedactor) rawJSON(value []byte) error {
	if l.ofBody {
		return l.unhashed(value)
	}
	if m, err := wire.OnlyMember(value); value[0] == '{' && err == nil && string(m.Name) == wire.SchemaMark {
		return l.schema(value)
	}
	return l.json(value)
}

// uncovered writes something that no path refers to.
func (l *lineRedactor) uncovered(write func() error) error {
	by := l.by
	l.by = ""
	err := write()
	l.by = by
	return err
}

// plain writes plain data in the form of package plain.
func (l *lineRedactor) plain(value []byte) error {
	switch value[0] {
	case '{':
		members, err := wire.ScanMembers(nil, value)
		if err != nil {
			return err
		}
		if len(members) == 1 && strings.HasPrefix(string(members[0].Name), "$") {
			return l.marked(members[0])
		}
		return l.entries(value, l.plain)
	case '[':
		return l.list(value, l.plain)
	}
	return l.json(value)
}

// marked writes what is under a mark: a value of a type, a record, or what a type of user code
// wrote for itself.
func (l *lineRedactor) marked(mark wire.ScannedMember) error {
	tag := string(mark.Name[1:])
	l.out = append(canonical.AppendString(append(l.out, '{'), string(mark.Name)), ':')
	var err error
	switch tag {
	case "opaque", "nil":
		l.raw(mark.Value)
	case "map":
		err = l.typed("map[string]any", mark.Value)
	case "string":
		err = l.base64(mark.Value)
	default:
		err = l.typed(tag, mark.Value)
	}
	l.out = append(l.out, '}')
	return err
}

// typed writes a value of a known type.
func (l *lineRedactor) typed(kind string, value []byte) error {
	element, isList := strings.CutPrefix(kind, "[]")
	held, isMap := strings.CutPrefix(kind, "map[string]")
	switch {
	case string(value) == "null":
		l.raw(value)
		return nil
	case isList:
		return l.list(value, func(one []byte) error { return l.typed(element, one) })
	case isMap && value[0] == '{':
		return l.entries(value, func(one []byte) error { return l.typed(held, one) })
	case isMap:
		return l.list(value, func(pair []byte) error { return l.pair(held, pair) })
	}
	switch kind {
	case "any":
		return l.plain(value)
	case "string":
		return l.text(value)
	case "json":
		return l.jsonText(value)
	case "bytes":
		return l.base64(value)
	case "time":
		l.instead(value, `"1970-01-01T00:00:00Z"`)
		return nil
	case "duration":
		l.instead(value, `"0s"`)
		return nil
	}
	record := adk.RecordKind(kind)
	if _, held := adk.CollectionOf(record); held || record == adk.RecordMedia {
		return l.record(record, value)
	}
	if isNumber := kind == "bool" || strings.Contains(kind, "int") || strings.HasPrefix(kind, "float"); !isNumber {
		return l.json(value)
	}
	if value[0] == '"' { // a number as a text, which no reader rounds
		l.instead(value, `"0"`)
		return nil
	}
	l.scalar(value)
	return nil
}

// jsonText writes JSON that is held as a text. If a path covers a value of a session, the result is
// still such a value, so that code can read it. Anything else that is covered is replaced as a
// whole, whatever it looks like (SES-31).
func (l *lineRedactor) jsonText(value []byte) error {
	text, err := wire.TextOfJSON(value)
	if err != nil {
		return err
	}
	members, err := wire.ScanMembers(nil, []byte(text))
	if l.by == "" {
		return l.text(value)
	}
	if err != nil || !l.isInSession() || !isVersioned(members) {
		return errors.Join(l.text(value), l.learnWithin(text))
	}
	within := lineRedactor{redactor: l.redactor, path: l.path, by: l.by}
	err = within.object(members, func(m wire.ScannedMember) error {
		if string(m.Name) == versionOf {
			within.raw(m.Value)
			return nil
		}
		return within.json(m.Value)
	})
	l.out = canonical.AppendString(l.out, string(within.out))
	return err
}

// learnWithin looks everywhere for the texts within JSON that a path covers, as for those in other
// covered data.
func (l *lineRedactor) learnWithin(text string) error {
	if !json.Valid([]byte(text)) {
		return nil
	}
	within, count := lineRedactor{redactor: l.redactor, path: l.path, by: l.by, quiet: l.quiet}, l.Count
	err := within.json([]byte(text))
	l.Count = count
	return err
}

// The members of a session's value in a trace. The version belongs to the format.
const versionOf, valueOf = "v", "x"

func isVersioned(members []wire.ScannedMember) bool {
	return len(members) == 2 && string(members[0].Name) == versionOf && string(members[1].Name) == valueOf &&
		strings.Trim(string(members[0].Value), "0123456789") == ""
}

// inSession are the names that lead to the values of a session.
var inSession = []string{"stash", "session", "context"}

// isInSession reports whether the value being written is a session's, or is part of one.
func (l *lineRedactor) isInSession() bool {
	for n := range len(l.path) - len(inSession) {
		if slices.Equal(l.path[n:n+len(inSession)], inSession) {
			return true
		}
	}
	return false
}

// pair writes an entry of a map with keys that JSON cannot hold.
func (l *lineRedactor) pair(kind string, value []byte) error {
	pair, err := wire.Elements(value)
	if err != nil {
		return err
	}
	key, err := wire.TextOfJSON(pair[0])
	if err != nil {
		return err
	}
	e := wire.Encoder{Out: append(l.out, '[')}
	e.Text(l.redactor.Text(key))
	l.out = append(e.Out, ',')
	err = l.named([]byte(key), func() error { return l.typed(kind, pair[1]) })
	l.out = append(l.out, ']')
	return err
}

// instead writes a placeholder that is not a text, if a path covers the value.
func (l *lineRedactor) instead(value []byte, placeholder string) {
	if l.by == "" {
		l.raw(value)
		return
	}
	l.raw([]byte(placeholder))
	l.Count++
}
