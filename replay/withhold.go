package replay

import (
	"bytes"
	"fmt"
	"index/suffixarray"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Where a recording is redacted, live code says again what was taken out of it. This file
// takes it out of the new run as well, before that is held against the recording: so no
// report can print it, whatever is made of it. It goes by the rules where Live.Redact has
// them, and by the placeholders of the recording: what stands where one was recorded is
// withheld, there and wherever the new run says it again, and so is what Live.Turn has there,
// live or not. What differs still differs, since what is withheld bears a kind of its own.

// leastWithheld is the length from which what stands in the place of a placeholder is
// looked for elsewhere.
const leastWithheld = 4

// labelPiece is the name of the field that holds a piece of an answer.
const labelPiece = "piece"

// withholding is the new run of a redacted recording, and what of it is secret.
type withholding struct {
	fields    wire.Apart
	live      Live
	want, got []*adk.Crossing
	beside    []int // for each recorded crossing the number of its counterpart, 0 for none

	clear   clearText       // all texts of the recording
	marked  bool            // there is a placeholder among them
	byPath  map[string]bool // the placeholders that stand where a path says so
	taken   map[string]int  // those whose secret is found wherever live code says it, from a crossing on
	secrets []redact.Pattern
	known   map[redact.Pattern]bool // the same
	placed  map[string]string       // what stands for a whole text, by crossing, field and place
	streams map[string]*[2]strings.Builder
	order   []string // of streams
}

// hides reports whether something of the new run may be what the recording's redaction
// hides.
func (l Live) hides() bool { return l.any() && (l.Redact != nil || !l.unredacted) }

// isClear reports whether nothing was taken out of a recording. One that breaks off does
// not say.
func isClear(recorded *trace.Trace) bool {
	return recorded.Sealed && len(wire.RedactedNote(recorded.FooterExtra)) == 0
}

// withheld is the new run without what the recording's redaction hides; the run itself
// where it hides nothing.
func (r *replayed) withheld(rules *redact.Rules, options trace.Options) (*trace.Trace, error) {
	run := r.trace
	w, err := r.withholding()
	if err != nil || !w.marked && rules == nil {
		return run, err
	}
	if rules != nil {
		var err error
		if run, r.redaction, err = redacted(run, rules, options); err != nil {
			return nil, err
		}
	}
	if err := w.hold(r, r.trace, run); err != nil {
		return nil, err
	}
	if err := w.learn(rules == nil); err != nil {
		return nil, err
	}
	if len(w.secrets) == 0 && len(w.placed) == 0 {
		return run, nil
	}
	left := *run
	left.SetLines(slices.Clone(run.Lines()))
	if err := w.replace(pointers(left.Lines())); err != nil {
		return nil, err
	}
	r.secrets = w.secrets
	shown, _, err := redacted(&left, &redact.Rules{Patterns: w.secrets}, options)
	return shown, err
}

// withholding has read the recording.
func (r *replayed) withholding() (*withholding, error) {
	w := &withholding{fields: wire.Apart{Sentinels: r.known.Sentinels}, live: r.live, want: r.want.Lines,
		byPath: map[string]bool{}, taken: map[string]int{}, known: map[redact.Pattern]bool{}, placed: map[string]string{}, streams: map[string]*[2]strings.Builder{}}
	return w, w.read()
}

// hold puts a new run, of which the rules have left this, beside the recording.
func (w *withholding) hold(r *replayed, run, left *trace.Trace) error {
	made := r.comparison // of its own: it is made again of what is left
	made.compare()
	w.beside, w.got = made.counterparts, pointers(r.ids.Apply(left.Lines()))
	if err := w.readNew(); err != nil {
		return err
	}
	w.given(func(placeholder, _ string) { w.taken[placeholder] = 0 })
	if w.live.Redact == nil {
		return nil
	}
	return w.take(pointers(r.ids.Apply(run.Lines())))
}

// withholdNames takes what is secret out of what a report does not have from the run that
// it shows: the names of live seams and their code, and a crossing that breaks the contract.
func (r *replayed) withholdNames(report *Report) {
	compiled, err := redacting.Compile(&redact.Rules{Patterns: r.secrets})
	if err != nil || len(r.secrets) == 0 && r.redaction == nil {
		return // wrong rules have made no report
	}
	hide := func(text *string) {
		if r.redaction != nil {
			*text = r.redaction.Text(*text)
		}
		*text = compiled.Text(*text)
	}
	for _, said := range [][]string{report.Live, report.Unreached, report.NotCompared} {
		for i := range said {
			hide(&said[i])
		}
	}
	if d := report.Divergence; d != nil {
		hide(&d.Place)
		hide(&d.Mark)
		for i := range d.Callers {
			hide(&d.Callers[i])
		}
		hide(&d.Got)
		for i := range d.Waiting {
			hide(&d.Waiting[i])
		}
	}
}

func pointers(lines []trace.Line) (all []*adk.Crossing) {
	for i := range lines {
		all = append(all, &lines[i].Crossing)
	}
	return all
}

// redacted is a run without what rules find, and what knows all that they have found.
func redacted(run *trace.Trace, rules *redact.Rules, options trace.Options) (*trace.Trace, *redacting.Writer, error) {
	compiled, err := redacting.Compile(rules)
	if err != nil {
		return nil, nil, err
	}
	var written bytes.Buffer
	out := redacting.NewWriter(&written, run.Header, compiled, options)
	out.Carry()
	for _, line := range run.All() {
		if err := out.Write(&line.Crossing); err != nil {
			return nil, nil, err
		}
	}
	if err := out.Close(); err != nil {
		return nil, nil, err
	}
	left, err := trace.Read(&written, options)
	return left, out, err
}

// read takes in the texts of the recording.
func (w *withholding) read() error {
	for _, x := range w.want {
		err := w.texts(x, func(use adk.FieldUse, place, text string) {
			if found := wire.Placeholder.FindStringSubmatch(text); found != nil {
				w.marked = true
				if found[0] == text && found[1] == redacting.KindOf(nameOf(x, use, place)) {
					w.byPath[text] = true
				}
			}
			w.clear.add(text)
			w.stream(x, use, place, text, 0)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readNew takes in the streams of the new run.
func (w *withholding) readNew() error {
	for _, x := range w.got {
		err := w.texts(x, func(use adk.FieldUse, place, text string) { w.stream(x, use, place, text, 1) })
		if err != nil {
			return err
		}
	}
	return nil
}

// texts gives the texts of a crossing's fields.
func (w *withholding) texts(x *adk.Crossing, give func(use adk.FieldUse, place, text string)) error {
	for _, use := range x.Kind.Fields(x.Phase) {
		raw, err := w.fields.Append(use.Field, x)
		if err == nil {
			err = wire.EachText(raw, "", func(place, text string) { give(use, place, text) })
		}
		if err != nil {
			return fmt.Errorf("replay: crossing %d: %s: %w", x.Seq, use.Label, err)
		}
	}
	return nil
}

// stream adds a text to the stream that it is a part of: the deltas under one id, or what
// stands at one place of the pieces of an answer. side is 0 for the recording.
func (w *withholding) stream(x *adk.Crossing, use adk.FieldUse, place, text string, side int) {
	if use.Label != wire.EventDelta && use.Label != labelPiece && !strings.HasSuffix(place, "/"+wire.EventDelta) {
		return
	}
	id, _ := state.StreamID(x.Payload)
	key := strings.Join([]string{x.Kind.String(), x.Name, id, place}, "\n")
	if w.streams[key] == nil {
		w.streams[key] = &[2]strings.Builder{}
		w.order = append(w.order, key)
	}
	w.streams[key][side].WriteString(text)
}

// usualPatterns find what is withheld wherever it stands, by its kind.
var usualPatterns = sync.OnceValue(func() map[string]*regexp.Regexp {
	patterns := map[string]*regexp.Regexp{}
	for _, p := range redact.UsualSecrets().Patterns {
		patterns[p.Kind] = regexp.MustCompile(p.Expr)
	}
	return patterns
})

// learn finds out what is secret in the new run: the usual secrets, where no rules say
// better, and what stands in the place of placeholders.
func (w *withholding) learn(usual bool) error {
	if usual {
		for _, x := range w.got {
			if err := w.texts(x, func(_ adk.FieldUse, _, text string) { w.usual(text) }); err != nil {
				return err
			}
		}
		for _, key := range w.order {
			w.usual(w.streams[key][1].String())
		}
	}
	w.given(func(placeholder, secret string) { w.secret(liveKind(placeholder), secret) })
	return w.reworded(func(template string, found []string, t liveText) {
		if !w.held(template, found) {
			w.hide(t, wire.Placeholder.FindString(template))
		}
	}, w.hide)
}

// hide withholds a text of the new run as a whole, and everywhere the words in it that may be
// a secret. One that has no counterpart hides nothing elsewhere: there may be many.
func (w *withholding) hide(t liveText, placeholder string, words ...string) {
	if t.x == nil {
		words = append(words, t.text)
	} else {
		w.placed[placeOf(t.x, t.field, t.place)] = wire.PlaceholderOf(liveKind(placeholder), 1)
	}
	for _, word := range words {
		if !t.alone {
			w.secret(liveKind(placeholder), word)
		}
	}
}

func (w *withholding) usual(text string) {
	for kind, pattern := range usualPatterns() {
		for _, found := range pattern.FindAllString(text, -1) {
			w.secret("live-"+kind, found)
		}
	}
}

func placeOf(x *adk.Crossing, f adk.Field, place string) string {
	return fmt.Sprintf("%d %s%s", x.Seq, f, place)
}

// liveKind is the kind of what live code says in the place of a text with a placeholder.
func liveKind(template string) string {
	return "live-" + wire.Placeholder.FindStringSubmatch(template)[1]
}

// held takes what live code says in the place of placeholders for secrets, and reports
// whether they are all looked for from now on, so that the place itself may say the rest.
func (w *withholding) held(template string, found []string) bool {
	kinds := wire.Placeholder.FindAllString(template, -1)
	all := true
	for i, secret := range found {
		all = w.secret(liveKind(kinds[i]), secret) && all
	}
	return all
}

// secret has a text looked for, and reports whether it is, or need not be: what the
// recording says in the clear is none.
func (w *withholding) secret(kind, text string) bool {
	if text == "" || wire.Placeholder.FindString(text) == text {
		return true
	}
	if !w.isSecret(text) {
		return false
	}
	pattern := redact.Pattern{Kind: kind, Expr: regexp.QuoteMeta(text)}
	if !w.known[pattern] {
		w.known[pattern] = true
		w.secrets = append(w.secrets, pattern)
	}
	return true
}

// isSecret reports whether what stands in the place of a placeholder is one that can be looked
// for.
func (w *withholding) isSecret(text string) bool {
	return len(text) >= leastWithheld && wire.Placeholder.FindString(text) != text && utf8.ValidString(text) && !w.clear.has(text)
}

// clearText is what a recording says. It is asked once for each secret.
type clearText struct {
	texts strings.Builder
	asked int
	index *suffixarray.Index // from when it pays
}

// askedMuch is from how many questions on an index costs less than to look through all texts.
const askedMuch = 500

// add takes in a text, before the first question.
func (c *clearText) add(text string) {
	c.texts.WriteString(text)
	c.texts.WriteByte(0)
}

// has reports whether a text of it holds one.
func (c *clearText) has(text string) bool {
	if c.asked++; c.asked < askedMuch {
		return strings.Contains(c.texts.String(), text)
	}
	if c.index == nil {
		c.index = suffixarray.New([]byte(c.texts.String()))
	}
	return len(c.index.Lookup([]byte(text), 1)) > 0
}

// replace puts placeholders in the place of whole texts.
func (w *withholding) replace(lines []*adk.Crossing) error {
	for _, x := range lines {
		for _, use := range x.Kind.Fields(x.Phase) {
			raw, err := w.fields.Append(use.Field, x)
			if err != nil {
				return err
			}
			changed, err := wire.MapTexts(nil, raw, "", func(place, text string) string {
				if instead := w.placed[placeOf(x, use.Field, place)]; instead != "" {
					return instead
				}
				return text
			})
			if err == nil && !bytes.Equal(changed, raw) {
				err = w.fields.Read(use.Field, x, changed, "")
			}
			if err != nil {
				return fmt.Errorf("replay: crossing %d: what live code says in the place of what was redacted cannot be withheld: %w", x.Seq, err)
			}
		}
	}
	return nil
}
