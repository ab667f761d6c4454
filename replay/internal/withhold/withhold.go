// Package withhold finds, in the new run of a redacted recording, the secrets that were removed
// from the recording. It uses the rules if there are any, and the placeholders of the recording:
// what is in the place of a placeholder is withheld, there and wherever the new run says it again.
// The same goes for what the turn has in such a place, live or not.
package withhold

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/encoded"
	"github.com/adkreplay/adkreplay/replay/internal/ownsecrets"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// leastWithheld is the length in bytes from which a text in the place of a placeholder is looked
// for elsewhere.
const leastWithheld = 4

// labelPiece is the name of the field that holds a piece of an answer.
const labelPiece = "piece"

// What a report lists as not compared in the replay of a redacted recording.
const (
	// NumbersInLogs is always listed: a line of the log may count what was redacted.
	NumbersInLogs = "the numbers in lines of the log, which may count it"
	// Counts is listed when something differs: this may be the reason, and it cannot be found out.
	Counts = "what live code counts of a redacted text: it has the length and the tokens of its placeholder, " +
		"so that a budget, for one, may decide otherwise than it did though its code is the same"
)

// Run is the new run of a redacted recording, and what is secret in it.
type Run struct {
	fields    wire.Apart
	turn      adk.RawTurn   // what live code is given
	rules     *redact.Rules // nil where none are known
	own       *ownsecrets.Secrets
	want, got []*adk.Crossing
	beside    []int // for each recorded crossing, the number of its counterpart; 0 for none

	clear   clearText        // all texts of the recording
	said    encoded.Recorded // the same texts, to decode placeholders
	marked  bool             // one of the texts has a placeholder
	byPath  map[string]bool  // the placeholders that a path of the rules found
	taken   map[string]int   // the placeholders whose secrets are found everywhere, and from which crossing on
	secrets []redact.Pattern
	known   map[redact.Pattern]bool // the patterns in secrets
	placed  map[string]string       // the placeholder for a text that is withheld as a whole, by crossing, field and place
	streams map[string]*[2]strings.Builder
	order   []string // the keys of streams, in order
}

// New reads a recording, whose fields are written in the form of fields. turn is what the run is
// made again with; it may hold what was removed. own are the secrets that its live code had of its
// own.
func New(fields wire.Apart, recorded []*adk.Crossing, turn adk.RawTurn, rules *redact.Rules, own *ownsecrets.Secrets) (*Run, error) {
	w := &Run{fields: fields, turn: turn, rules: rules, own: own, want: recorded, byPath: map[string]bool{}, taken: map[string]int{},
		known: map[redact.Pattern]bool{}, placed: map[string]string{}, streams: map[string]*[2]strings.Builder{}}
	return w, w.read()
}

// Marked reports whether the recording has a placeholder.
func (w *Run) Marked() bool { return w.marked }

// Hold takes the new run to compare with the recording: made is the run as it was made, left is
// what the rules have left of it, and beside has, for each recorded crossing, the number of its
// counterpart; 0 for none.
func (w *Run) Hold(beside []int, made, left []*adk.Crossing) error {
	w.beside, w.got = beside, left
	if err := w.readNew(); err != nil {
		return err
	}
	w.given(func(placeholder, _ string) { w.taken[placeholder] = 0 })
	if w.rules == nil {
		return nil
	}
	return w.learnTaken(made)
}

// read collects the texts of the recording.
func (w *Run) read() error {
	for _, x := range w.want {
		err := w.texts(x, func(use adk.FieldUse, place, text string) {
			if found := wire.Placeholder.FindStringSubmatch(text); found != nil {
				w.marked = true
				if found[0] == text && found[1] == redacting.KindOf(nameOf(x, use, place)) {
					w.byPath[text] = true
				}
			}
			w.clear.add(text)
			w.said.Add(inBytes(use, place, text))
			w.stream(x, use, place, text, 0)
		})
		if err != nil {
			return err
		}
	}
	for _, key := range w.order {
		w.said.Add(w.streams[key][0].String())
	}
	return nil
}

// readNew collects the streams of the new run.
func (w *Run) readNew() error {
	for _, sides := range w.streams {
		sides[1].Reset()
	}
	for _, x := range w.got {
		err := w.texts(x, func(use adk.FieldUse, place, text string) { w.stream(x, use, place, text, 1) })
		if err != nil {
			return err
		}
	}
	return nil
}

// texts calls give with the texts of a crossing's fields, without the words of the format itself.
func (w *Run) texts(x *adk.Crossing, give func(use adk.FieldUse, place, text string)) error {
	for _, use := range x.Kind.Fields(x.Phase) {
		if wire.IsOfFormat(use.Field) {
			continue
		}
		raw, err := w.fields.Append(use.Field, x)
		if err == nil {
			err = wire.EachText(raw, "", func(place, text string) {
				if use.Field != adk.FieldErr && use.Field != adk.FieldCause || !wire.IsOfErrorsFormat(place) {
					give(use, place, text)
				}
			})
		}
		if err != nil {
			return fmt.Errorf("replay: crossing %d: %s: %w", x.Seq, use.Label, err)
		}
	}
	return nil
}

// stream adds a text to the stream that it is part of: the deltas of one id, or what is in one
// place of the pieces of an answer. side is 0 for the recording and 1 for the new run.
func (w *Run) stream(x *adk.Crossing, use adk.FieldUse, place, text string, side int) {
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

// usualPatterns match what is withheld wherever it appears, by kind.
var usualPatterns = sync.OnceValue(func() map[string]*regexp.Regexp {
	patterns := map[string]*regexp.Regexp{}
	for _, p := range redact.UsualSecrets().Patterns {
		patterns[p.Kind] = regexp.MustCompile(p.Expr)
	}
	return patterns
})

// Learn finds out what is secret in the new run: the usual secrets, if there are no rules, and what
// is in the place of placeholders.
func (w *Run) Learn() error {
	if w.rules == nil {
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

// hide withholds a whole text of the new run, and everywhere those words in it that may be a
// secret. A text whose crossing has no counterpart hides nothing elsewhere, because there may be
// many of them.
func (w *Run) hide(t liveText, placeholder string, words ...string) {
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

func (w *Run) usual(text string) {
	for kind, pattern := range usualPatterns() {
		for _, found := range pattern.FindAllString(text, -1) {
			w.secret("live-"+kind, found)
		}
	}
}

func placeOf(x *adk.Crossing, f adk.Field, place string) string {
	return fmt.Sprintf("%d %s%s", x.Seq, f, place)
}

// liveKind is the kind of placeholder for what live code says in the place of a text with a
// placeholder.
func liveKind(template string) string {
	return "live-" + wire.Placeholder.FindStringSubmatch(template)[1]
}

// held takes what live code says in the place of placeholders for secrets. It reports whether all
// of them are looked for from now on, so that the rest of the text may be shown.
func (w *Run) held(template string, found []string) bool {
	kinds := wire.Placeholder.FindAllString(template, -1)
	all := true
	for i, secret := range found {
		all = w.secret(liveKind(kinds[i]), secret) && all
	}
	return all
}

// secret adds a text to what is looked for. It reports whether the text is looked for, or need not
// be: an empty text, the 0 that code gets in the place of a number, the name of the replay where it
// settles a gate, and placeholders are not secret. It returns false if the text is too short or the
// recording says it in the clear.
func (w *Run) secret(kind, text string) bool {
	if text == "" || text == "0" || text == wire.ByReplay || wire.Placeholder.FindString(text) == text {
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

// isSecret reports whether a text in the place of a placeholder can be looked for.
func (w *Run) isSecret(text string) bool {
	return len(text) >= leastWithheld && wire.Placeholder.FindString(text) != text && utf8.ValidString(text) && !w.clear.has(text)
}

// Found reports whether Learn has found anything.
func (w *Run) Found() bool { return len(w.secrets) > 0 || len(w.placed) > 0 }

// Secrets are the patterns of what is withheld wherever the new run says it.
func (w *Run) Secrets() []redact.Pattern { return w.secrets }

// Replace puts placeholders in the place of texts of the new run that are withheld as a whole.
func (w *Run) Replace(lines []*adk.Crossing) error {
	for _, x := range lines {
		for _, use := range x.Kind.Fields(x.Phase) {
			raw, err := w.fields.Append(use.Field, x)
			if err != nil {
				return err
			}
			changed, err := wire.MapTexts(nil, raw, "", func(place, text string) string {
				return cmp.Or(w.placed[placeOf(x, use.Field, place)], text)
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
