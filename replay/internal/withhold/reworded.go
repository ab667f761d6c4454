package withhold

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/encoded"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// This file compares what live code says with the placeholders of a recording. The secret is what
// is between the recorded words. Where the words differ, or a crossing with a placeholder is
// missing, any word that the recording does not say may be the secret.

// liveText is a text of the new run: in a place of a crossing, or a stream if x is nil.
type liveText struct {
	x     *adk.Crossing
	field adk.Field
	place string
	text  string
	alone bool // its crossing has no counterpart
}

// seq is the crossing that has the text; for a stream it is the last one.
func (w *Run) seq(t liveText) int {
	if t.x == nil {
		return len(w.got)
	}
	return t.x.Seq
}

// reworded calls in with what live code says for placeholders if the recorded words around them are
// the same. Otherwise it calls around with each text that may say them, and the words in it that
// may be the secret.
func (w *Run) reworded(in func(template string, found []string, t liveText), around func(t liveText, placeholder string, words ...string)) error {
	var gone []string // templates of crossings without a counterpart
	paired := make([]bool, len(w.got)+1)
	for i, want := range w.want {
		marked, err := w.liveTexts(want, wire.Placeholder.MatchString)
		if err != nil {
			return err
		}
		at := w.beside[i]
		paired[at] = true
		switch {
		case at == 0:
			for _, t := range marked {
				gone = append(gone, t.text)
			}
			continue
		case len(marked) == 0:
			continue
		}
		said, err := w.liveTexts(w.got[at-1], nil)
		if err != nil {
			return err
		}
		w.pair(marked, said, in, around)
	}
	for _, key := range w.order {
		template, text := w.streams[key][0].String(), w.streams[key][1].String()
		if wire.Placeholder.MatchString(template) {
			w.pair([]liveText{{text: template}}, []liveText{{text: text}}, in, around)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	var alone []liveText
	for _, x := range w.got {
		if paired[x.Seq] {
			continue
		}
		said, err := w.liveTexts(x, nil)
		if err != nil {
			return err
		}
		for _, t := range said {
			t.alone = true
			alone = append(alone, t)
		}
	}
	w.missing(gone, alone, around)
	return nil
}

// textPlace is a place in a crossing.
type textPlace struct {
	field adk.Field
	place string
}

// byPlace returns the indexes of the texts of one crossing by their places.
func byPlace(texts []liveText) map[textPlace]int {
	at := make(map[textPlace]int, len(texts))
	for i, t := range texts {
		at[textPlace{t.field, t.place}] = i
	}
	return at
}

// pair is reworded for the texts of two crossings.
func (w *Run) pair(marked, said []liveText, in func(string, []string, liveText), around func(liveText, string, ...string)) {
	var others []string
	places, held := byPlace(said), make([]bool, len(said))
	for _, template := range marked {
		at, ok := places[textPlace{template.field, template.place}]
		var found []string
		if ok {
			found = inPlace(template.text, said[at].text)
		}
		if found == nil || besideItsOwn(template.text, found) {
			others = append(others, template.text)
			continue
		}
		if template.text != said[at].text {
			in(template.text, found, said[at])
		}
		held[at] = true
	}
	if len(others) == 0 {
		return
	}
	var rest []liveText
	for i, t := range said {
		if !held[i] {
			rest = append(rest, t)
		}
	}
	w.missing(others, rest, around)
}

// missing calls around with the texts that may say what had placeholders that are now missing. It
// compares placeholders by kind, since the rules number anew what they find in live code. Of
// several missing placeholders of a kind, the one counts whose secret is found from the latest
// crossing on.
func (w *Run) missing(templates []string, said []liveText, around func(liveText, string, ...string)) {
	left := map[string]int{}
	for _, t := range said {
		for _, found := range wire.Placeholder.FindAllStringSubmatch(t.text, -1) {
			left[found[1]]++
		}
	}
	gone := map[string]string{} // placeholders by kind
	for _, template := range templates {
		for _, found := range wire.Placeholder.FindAllStringSubmatch(template, -1) {
			if left[found[1]] > 0 {
				left[found[1]]--
			} else if known := gone[found[1]]; known == "" || w.takenFrom(found[0]) > w.takenFrom(known) {
				gone[found[1]] = found[0]
			}
		}
	}
	if len(gone) == 0 {
		return
	}
	for _, t := range said {
		words := slices.DeleteFunc(placeWords(t.text), func(word string) bool { return !w.isSecret(word) })
		if len(words) == 0 {
			continue
		}
		for _, kind := range slices.Sorted(maps.Keys(gone)) {
			may := words
			if kind == redacting.KindHash {
				may = slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !hashLike.MatchString(word) })
			}
			if len(may) > 0 && w.seq(t) < w.takenFrom(gone[kind]) {
				around(t, gone[kind], may...)
			}
		}
	}
}

// hashLike matches what may be the hash of a body, or its beginning: a placeholder of that kind
// stands for nothing else.
var hashLike = regexp.MustCompile(fmt.Sprintf(`[0-9a-f]{%d}`, redacting.LeastHash))

// liveTexts returns the texts of a crossing for which such is true; all of them if such is nil.
func (w *Run) liveTexts(x *adk.Crossing, such func(string) bool) (texts []liveText, err error) {
	err = w.texts(x, func(use adk.FieldUse, place, text string) {
		if such == nil || such(text) {
			texts = append(texts, liveText{x: x, field: use.Field, place: place, text: text})
		}
	})
	return texts, err
}

// given calls give with what the turn has in the place of placeholders, in every encoding: live
// code may know that from elsewhere, although the run is given what was recorded.
func (w *Run) given(give func(placeholder, secret string)) {
	first := *w.want[0]
	first.Text, first.Texts, first.Value = w.turn.SystemPrompt, w.turn.Instructions, w.turn.Stash
	marked, err := w.liveTexts(w.want[0], wire.Placeholder.MatchString)
	if err != nil || len(marked) == 0 {
		return
	}
	said, err := w.liveTexts(&first, nil)
	if err != nil {
		return // what is not live may have any type
	}
	w.pair(marked, said, func(template string, found []string, _ liveText) {
		for i, placeholder := range wire.Placeholder.FindAllString(template, -1) {
			if !w.isSecret(found[i]) || wire.Placeholder.MatchString(found[i]) {
				continue
			}
			for _, form := range redacting.Forms(found[i]) {
				give(placeholder, form)
			}
		}
	}, func(liveText, string, ...string) {})
}

// learnTaken finds out which secrets the rules have removed from what live code says.
func (w *Run) learnTaken(run []*adk.Crossing) error {
	for i, want := range w.want {
		at := w.beside[i]
		if at == 0 {
			continue
		}
		marked, err := w.liveTexts(want, wire.Placeholder.MatchString)
		if err != nil {
			return err
		}
		if len(marked) == 0 {
			continue
		}
		said, err := w.liveTexts(run[at-1], nil)
		if err != nil {
			return err
		}
		left, err := w.liveTexts(w.got[at-1], wire.Placeholder.MatchString)
		if err != nil {
			return err
		}
		inSaid, inLeft := byPlace(said), byPlace(left)
		for _, template := range marked {
			place := textPlace{template.field, template.place}
			before, was := inSaid[place]
			if after, ok := inLeft[place]; was && ok {
				w.learnTakenIn(template.text, said[before].text, left[after].text, at)
			}
		}
	}
	return nil
}

// learnTakenIn is learnTaken for one text that the rules have changed.
func (w *Run) learnTakenIn(template, said, left string, seq int) {
	before, after := inPlace(template, said), inPlace(template, left)
	if before == nil || after == nil {
		return
	}
	for j, placeholder := range wire.Placeholder.FindAllString(template, -1) {
		since, ok := w.taken[placeholder]
		if before[j] != after[j] && !encoded.Is(before[j]) && wire.Placeholder.FindString(after[j]) == after[j] && (!ok || seq < since) {
			w.taken[placeholder] = seq
		}
	}
}

// takenFrom is the crossing from which on the secret of a placeholder is found wherever live code
// says it: from the first crossing in which the turn gives it or a rule removes it from what live
// code says; math.MaxInt if there is none. It is 0 for a kind that a pattern of the rules finds,
// because a pattern finds it everywhere, unless a path may have found it instead.
func (w *Run) takenFrom(placeholder string) int {
	kind := wire.Placeholder.FindStringSubmatch(placeholder)[1]
	if w.rules != nil && !w.byPath[placeholder] &&
		slices.ContainsFunc(w.rules.Patterns, func(p redact.Pattern) bool { return p.Kind == kind }) {
		return 0
	}
	if since, ok := w.taken[placeholder]; ok {
		return since
	}
	return math.MaxInt
}

// nameOf is the name of a text, by which a path may find it.
func nameOf(x *adk.Crossing, use adk.FieldUse, place string) string {
	for _, name := range slices.Backward(strings.Split(place, "/")) {
		if _, err := strconv.Atoi(name); name != "" && name[0] != '$' && err != nil {
			return name
		}
	}
	if use.Field == adk.FieldValue && x.Kind.Names(adk.StashPath) {
		return x.Name[strings.LastIndex(x.Name, ".")+1:]
	}
	return use.Label
}

// inPlace is what a text has in the places of a template's placeholders; nil where the words
// between them differ.
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

// besideItsOwn reports whether a placeholder is still in its place, next to new words: the
// placeholder is what was removed, and the words are not part of it.
func besideItsOwn(template string, found []string) bool {
	for i, placeholder := range wire.Placeholder.FindAllStringSubmatch(template, -1) {
		for _, left := range wire.Placeholder.FindAllStringSubmatch(found[i], -1) {
			if left[0] != found[i] && left[1] == placeholder[1] {
				return true
			}
		}
	}
	return false
}

// placeWords are the words of a text, without its placeholders and the signs around words.
func placeWords(text string) (words []string) {
	for _, part := range wire.Placeholder.Split(text, -1) {
		for _, word := range strings.FieldsFunc(part, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune("\"'`,;:()[]{}<>=&?/|\\", r)
		}) {
			if word = strings.Trim(word, ".!"); word != "" {
				words = append(words, word)
			}
		}
	}
	return words
}

// SaysSecret returns an error if a run, after redaction by the rules, still says something for
// which the recording has a placeholder, or may say it in other words. A path finds a secret only
// where its seam is live, and code may know it from elsewhere.
func (w *Run) SaysSecret() error {
	var said error
	refuse := func(seq int, placeholder, how string) {
		if said == nil {
			said = fmt.Errorf("replay: crossing %d: live code says %s: "+
				"a pattern finds it wherever it is said, a path where the seam that names it is live", seq, fmt.Sprintf(how, placeholder))
		}
	}
	var given [][2]string
	w.given(func(placeholder, secret string) { given = append(given, [2]string{placeholder, secret}) })
	const inTheClear = "in the clear what is %s in the recording, and Live.Redact does not take it out"
	find := func(seq int, text string) {
		for _, secret := range given {
			if strings.Contains(text, secret[1]) {
				refuse(seq, secret[0], inTheClear)
			}
		}
	}
	for _, x := range w.got {
		if err := w.texts(x, func(_ adk.FieldUse, _, text string) { find(x.Seq, text) }); err != nil {
			return err
		}
	}
	for _, key := range w.order {
		find(len(w.got), w.streams[key][1].String())
	}
	err := w.reworded(func(template string, found []string, t liveText) {
		for j, placeholder := range wire.Placeholder.FindAllString(template, -1) {
			if w.isSecret(found[j]) && !wire.Placeholder.MatchString(found[j]) { // the rules removed what they find
				refuse(w.seq(t), placeholder, inTheClear)
			}
		}
	}, func(t liveText, placeholder string, _ ...string) {
		refuse(w.seq(t), placeholder, "in other words what had %s in the recording, and may say that in the clear: Live.Redact takes it out of nothing that live code says")
	})
	if err != nil {
		return err
	}
	return said
}
