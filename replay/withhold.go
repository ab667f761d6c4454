package replay

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/align"
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
// withheld, there and wherever the new run says it again. What differs still differs,
// since what is withheld bears a kind of its own.

// leastWithheld is the length from which what stands in the place of a placeholder is
// looked for elsewhere.
const leastWithheld = 4

// labelPiece is the name of the field that holds a piece of an answer.
const labelPiece = "piece"

// withholding is the new run of a redacted recording, and what of it is secret.
type withholding struct {
	known     wire.Comparer
	fields    wire.Apart
	want, got []*adk.Crossing
	beside    []int // for each recorded crossing the number of its counterpart, 0 for none

	clear   strings.Builder // all texts of the recording
	marked  bool            // there is a placeholder among them
	secrets []redact.Pattern
	placed  map[string]string // what stands for a whole text, by crossing, field and place
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
	w.hold(r, run)
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
	w := &withholding{known: r.known, fields: wire.Apart{Sentinels: r.known.Sentinels},
		want: r.want.Lines, placed: map[string]string{}, streams: map[string]*[2]strings.Builder{}}
	return w, w.read()
}

// hold puts a new run beside the recording.
func (w *withholding) hold(r *replayed, run *trace.Trace) {
	raw := r.comparison // of its own: it is made again of what is left
	raw.compare()
	w.beside, w.got = raw.counterparts, pointers(r.ids.Apply(run.Lines()))
}

// saysSecret is an error where a run that the rules have redacted still says what the recording
// has a placeholder for, between the same words, or may say it between others: a path finds a
// secret only where its seam is live, and code may know it from elsewhere.
func (r *replayed) saysSecret(run *trace.Trace) error {
	w, err := r.withholding()
	if err != nil || !w.marked {
		return err
	}
	w.hold(r, run)
	for i, want := range w.want {
		at := w.beside[i]
		if at == 0 {
			continue
		}
		said, about := "", ""
		err := w.pairs(want, w.got[at-1], func(_ adk.Field, _, template, text string) {
			found := inPlace(template, text)
			for j, secret := range found {
				if w.isSecret(secret) && !wire.Placeholder.MatchString(secret) { // from which the rules took what they find
					said = wire.Placeholder.FindAllString(template, -1)[j]
				}
			}
			if found == nil {
				aroundPlace(template, text, func(placeholder, word string) {
					if w.isSecret(word) && !r.live.hasPattern(placeholder) {
						about = placeholder
					}
				})
			}
		})
		if err != nil {
			return err
		}
		if about != "" {
			return fmt.Errorf("replay: crossing %d: live code says in other words what had %s in the recording, and may say that in the clear: "+
				"a pattern of that kind in Live.Redact finds it wherever it is said, a path where the seam that names it is live", at, about)
		}
		if said != "" {
			return fmt.Errorf("replay: crossing %d: live code says in the clear what is %s in the recording, and Live.Redact does not take it out: "+
				"a pattern finds it wherever it is said, a path where the seam that names it is live", at, said)
		}
	}
	return nil
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
		hide(&d.Got)
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
			w.marked = w.marked || wire.Placeholder.MatchString(text)
			w.clear.WriteString(text)
			w.clear.WriteByte(0)
			w.stream(x, use, place, text, 0)
		})
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
	for _, x := range w.got {
		err := w.texts(x, func(use adk.FieldUse, place, text string) {
			w.stream(x, use, place, text, 1)
			if usual {
				w.usual(text)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, key := range w.order {
		want, got := w.streams[key][0].String(), w.streams[key][1].String()
		if usual {
			w.usual(got)
		}
		if !w.held(want, got) {
			w.secret(liveKind(want), got)
		}
	}
	for i, want := range w.want {
		if at := w.beside[i]; at > 0 {
			if err := w.pair(want, w.got[at-1]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *withholding) usual(text string) {
	for kind, pattern := range usualPatterns() {
		for _, found := range pattern.FindAllString(text, -1) {
			w.secret("live-"+kind, found)
		}
	}
}

// pair learns from two crossings that correspond.
func (w *withholding) pair(want, got *adk.Crossing) error {
	return w.pairs(want, got, func(f adk.Field, place, template, text string) {
		if !w.held(template, text) {
			w.placed[placeOf(got, f, place)] = wire.PlaceholderOf(liveKind(template), 1)
		}
	})
}

// pairs gives the texts with placeholders of a recorded crossing, each with what stands at its
// place in one that corresponds.
func (w *withholding) pairs(want, got *adk.Crossing, give func(f adk.Field, place, template, text string)) error {
	recorded := map[string]string{}
	err := w.texts(want, func(use adk.FieldUse, place, text string) {
		if wire.Placeholder.MatchString(text) {
			recorded[use.Label+place] = text
		}
	})
	if err != nil || len(recorded) == 0 {
		return err
	}
	return w.texts(got, func(use adk.FieldUse, place, text string) {
		if template, is := recorded[use.Label+place]; is {
			give(use.Field, place, template, text)
		}
	})
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
func (w *withholding) held(template, text string) bool {
	if template == text || !wire.Placeholder.MatchString(template) {
		return true
	}
	found := inPlace(template, text)
	if found == nil {
		return false
	}
	kinds := wire.Placeholder.FindAllString(template, -1)
	all := true
	for i, secret := range found {
		all = w.secret(liveKind(kinds[i]), secret) && all
	}
	return all
}

// inPlace is what a text has in the places of a template's placeholders; nil where the words
// between them are others.
func inPlace(template, text string) []string {
	between := wire.Placeholder.Split(template, -1)
	for i, part := range between {
		between[i] = regexp.QuoteMeta(part)
	}
	found := regexp.MustCompile(`(?s)^` + strings.Join(between, `(.*?)`) + `$`).FindStringSubmatch(text)
	if found == nil {
		return nil
	}
	return found[1:]
}

// aroundPlace gives the words of a text that stand where a template has a placeholder and
// other words around it than the text: any of them may be the secret.
func aroundPlace(template, text string, give func(placeholder, word string)) {
	want, got := placeWords(template), placeWords(text)
	i, j := 0, 0
	between := func(toI, toJ int) {
		at := slices.IndexFunc(want[i:toI], wire.Placeholder.MatchString)
		if at < 0 {
			return
		}
		for _, word := range got[j:toJ] {
			give(want[i+at], word)
		}
	}
	for _, pair := range align.Common(kindsOf(want), kindsOf(got)) {
		between(pair.A, pair.B)
		i, j = pair.A+1, pair.B+1
	}
	between(len(want), len(got))
}

// placeWords are the words of a text, without the signs around them, and its placeholders.
func placeWords(text string) (words []string) {
	end := 0
	add := func(text string) {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune("\"'`,;:()[]{}<>", r)
		}) {
			if word = strings.Trim(word, ".!?"); word != "" {
				words = append(words, word)
			}
		}
	}
	for _, at := range wire.Placeholder.FindAllStringIndex(text, -1) {
		add(text[end:at[0]])
		words = append(words, text[at[0]:at[1]])
		end = at[1]
	}
	add(text[end:])
	return words
}

// kindsOf are words of which a placeholder says its kind alone: the rules number anew what
// they find in live code.
func kindsOf(words []string) []string {
	kinds := slices.Clone(words)
	for i, word := range words {
		if found := wire.Placeholder.FindStringSubmatch(word); found != nil {
			kinds[i] = wire.PlaceholderOf(found[1], 0)
		}
	}
	return kinds
}

// hasPattern reports whether what a placeholder stands for is found wherever it is said.
func (l Live) hasPattern(placeholder string) bool {
	kind := wire.Placeholder.FindStringSubmatch(placeholder)[1]
	return slices.ContainsFunc(l.Redact.Patterns, func(p redact.Pattern) bool { return p.Kind == kind })
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
	if !slices.Contains(w.secrets, pattern) {
		w.secrets = append(w.secrets, pattern)
	}
	return true
}

// isSecret reports whether what stands in the place of a placeholder is one that can be looked
// for.
func (w *withholding) isSecret(text string) bool {
	return len(text) >= leastWithheld && wire.Placeholder.FindString(text) != text && utf8.ValidString(text) && !strings.Contains(w.clear.String(), text)
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
