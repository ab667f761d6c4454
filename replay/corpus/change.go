package corpus

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/jsondiff"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/internal/align"
)

// This file finds the pieces in which two values differ.

// valueChanges compares the two values of a field.
func valueChanges(f replay.FieldDiff) []Change {
	want, got, trees := f.Trees()
	if !trees {
		return textChanges(f.Anywhere(), f.Want, f.Got)
	}
	return treeChanges(f.Anywhere(), want, got, maxChangeDepth)
}

// maxChangeDepth is the depth to which values are compared member by member.
const maxChangeDepth = 32

// treeChanges compares two values member by member, and the texts in them word by word. Texts that
// hold JSON are compared as JSON. An absent member is compared as an empty value.
func treeChanges(field string, want, got any, deepest int) (changes []Change) {
	rules := jsondiff.Rules{Same: func(a, b any) bool { return jsonOf(a) == jsonOf(b) }, Pairs: pairedRest, Deepest: deepest}
	rules.Walk(jsondiff.At(field), want, got, func(at jsondiff.Place, want, got any) {
		a, wantText := want.(string)
		b, gotText := got.(string)
		switch {
		case wantText && gotText:
			changes = append(changes, stringChanges(at.Any, a, b, deepest)...)
		case isOrder(want, got):
			changes = append(changes, Change{Field: at.Any + "[]"})
		case isMember(at.Any, want, got):
			changes = append(changes, Change{Field: at.Any, Removed: memberOf(want), Added: memberOf(got)})
		default:
			changes = append(changes, Change{Field: at.Any, Removed: gist(want), Added: gist(got)})
		}
	})
	return changes
}

// maskObject represents an object without a name.
const maskObject = "‹object›"

// isMember reports whether a text is a member of one element of a list and absent from the other
// element. The change is then described by the name of the member, since its value is data.
func isMember(field string, want, got any) bool {
	_, wantText := want.(string)
	_, gotText := got.(string)
	return strings.Contains(field, "[].") && (wantText && isAbsent(got) || gotText && isAbsent(want))
}

func isAbsent(v any) bool { return v == nil || v == (jsondiff.Absent{}) }

func memberOf(v any) string {
	if _, ok := v.(string); ok {
		return maskData
	}
	return ""
}

// gist returns a short description of a value. Records and errors are described by their name,
// since the rest of them is data.
func gist(v any) string {
	switch v := v.(type) {
	case nil, jsondiff.Absent:
		return ""
	case string:
		return piece(tokensOf(v))
	case []any:
		if len(v) == 1 {
			return gist(v[0])
		}
		return "‹list›"
	case map[string]any:
		for _, name := range []string{"name", "code", "sentinel", "panic", "text"} {
			if text, ok := v[name].(string); ok {
				return piece(tokensOf(text))
			}
		}
		if len(v) == 1 { // a record has its kind as its only member
			for kind, inside := range v {
				return strings.TrimSuffix(kind+" "+gist(inside), " "+maskObject)
			}
		}
		return maskObject
	}
	return piece(tokensOf(jsonOf(v)))
}

// pairedRest removes the elements that both lists have, in any position, and pairs the rest in
// order. If nothing is left, the lists are compared as a whole.
func pairedRest(a, b []any) (pairs []jsondiff.Pair, apart bool) {
	onlyA, onlyB := rest(a, b), rest(b, a)
	for i := range max(len(onlyA), len(onlyB)) {
		p := jsondiff.Pair{A: -1, B: -1}
		if i < len(onlyA) {
			p.A = onlyA[i]
		}
		if i < len(onlyB) {
			p.B = onlyB[i]
		}
		pairs = append(pairs, p)
	}
	return pairs, len(pairs) > 0
}

// isOrder reports whether two values are lists of the same elements in different orders.
func isOrder(want, got any) bool {
	a, isList := want.([]any)
	b, both := got.([]any)
	_, moved := jsondiff.Order(a, b, jsonOf)
	return isList && both && moved
}

// rest returns the indexes of the elements of list that other does not have, or not as often.
func rest(list, other []any) (only []int) {
	counts := map[string]int{}
	for _, v := range other {
		counts[jsonOf(v)]++
	}
	for i, v := range list {
		if text := jsonOf(v); counts[text] > 0 {
			counts[text]--
			continue
		}
		only = append(only, i)
	}
	return only
}

// stringChanges compares two texts, which may hold JSON.
func stringChanges(field, want, got string, deepest int) []Change {
	a, okA := jsondiff.Decode(want)
	b, okB := jsondiff.Decode(got)
	if okA && okB && deepest > 1 && jsondiff.IsContainer(a) && jsondiff.IsContainer(b) {
		if changes := treeChanges(field, a, b, deepest-1); len(changes) > 0 {
			return changes
		} // equal, but formatted differently
	}
	return textChanges(field, want, got)
}

// jsonOf returns a JSON value as text with its keys in order, or "" if it is nil or absent.
func jsonOf(v any) string {
	if isAbsent(v) {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("replay: what was decoded cannot be encoded: %v", err))
	}
	return string(text)
}

// token is a word, a mark, or something that is masked.
type token struct {
	text   string
	masked string // text, or the mask that replaces it
	spaced bool   // white space comes before it
}

// masks holds the masks by their group in tokenPattern.
var masks = []string{"", "‹id›", "‹time›", "‹number›"}

// maskData replaces words that are data of the trace. The other masks represent texts that differ
// only in white space or in capital and small letters.
const (
	maskData     = "‹data›"
	maskSpace    = "‹white space›"
	maskCapitals = "‹capitals›"
	maskSmall    = "‹small letters›"
)

// spaceBehind returns the white space at the end of a text in quotes.
func spaceBehind(space string) string {
	said, _, cut := safetext.Halves(strconv.Quote(space), longestPiece)
	if cut {
		said += "…"
	}
	return said
}

// tokenPattern matches ids, times, numbers, characters of scripts that are written without spaces,
// words, and any other single character except white space.
var tokenPattern = regexp.MustCompile(`(?i)` +
	`(\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{16,}\b)` +
	`|(\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b|\b\d\d?:\d\d(?::\d\d(?:\.\d+)?)?\b)` +
	`|(\b\d+(?:[.,]\d+)*\b)` +
	`|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]` +
	`|[\p{L}\p{M}\p{N}_]+|[^\s]`)

// idBehind matches ids that follow a name:
// <peer_agent_output_01a21f94-f516-71c9-ad6c-98d338e43b11>.
var idBehind = regexp.MustCompile(`(?i)[\p{L}\p{N}]_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,})\b`)

// tokensOf splits a text into tokens.
func tokensOf(text string) (tokens []token) {
	from := 0
	for _, at := range idBehind.FindAllStringSubmatchIndex(text, -1) {
		tokens = append(tokens, tokensBetween(text[from:at[2]], len(tokens) > 0)...)
		tokens = append(tokens, token{text: text[at[2]:at[3]], masked: masks[1]})
		from = at[3]
	}
	return append(tokens, tokensBetween(text[from:], len(tokens) > 0)...)
}

// tokensBetween splits a text into tokens. behind is true if other tokens come before it.
func tokensBetween(text string, behind bool) (tokens []token) {
	end := 0
	for _, at := range tokenPattern.FindAllStringSubmatchIndex(text, -1) {
		t := token{text: text[at[0]:at[1]], spaced: at[0] > end && (behind || len(tokens) > 0)}
		t.masked = t.text
		for group := 1; group < len(masks); group++ {
			if at[2*group] >= 0 {
				t.masked = masks[group]
			}
		}
		tokens = append(tokens, t)
		end = at[1]
	}
	return tokens
}

// isOfAnID reports whether the name of a member is that of an id.
func isOfAnID(field string) bool {
	name := compare.LastMember(field)
	return name == "id" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "Id")
}

// opaque matches a word that was generated: digits among letters, or capitals after small letters.
var opaque = regexp.MustCompile(`^[\pL\pN]*(?:\pL\pN|\pN\pL|\p{Ll}\p{Lu})[\pL\pN]*$`)

// shortestOpaque is the minimum length of an opaque word, in bytes.
const shortestOpaque = 8

// isOpaque reports whether a text was generated and not written by a person. As an id, it is data.
func isOpaque(text string) bool { return len(text) >= shortestOpaque && opaque.MatchString(text) }

// longestPiece is how many bytes of a piece are kept. A digest distinguishes long pieces with the
// same beginning.
const longestPiece = 240

// piece joins tokens in their masked form.
func piece(tokens []token) string {
	text := joined(tokens, func(t token) string { return t.masked })
	head, _, cut := safetext.Halves(text, longestPiece)
	if !cut {
		return strings.Clone(text)
	}
	return fmt.Sprintf("%s… %.4x", head, sha256.Sum256([]byte(text)))
}

// unmasked joins tokens as they are.
func unmasked(tokens []token) string { return joined(tokens, func(t token) string { return t.text }) }

// joined joins what say returns for each token, with a space where the text has white space.
func joined(tokens []token, say func(token) string) string {
	var b strings.Builder
	for i, t := range tokens {
		if t.spaced && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(say(t))
	}
	return b.String()
}

// hasWord reports whether a piece contains a letter outside of masks.
func hasWord(text string) bool {
	return slices.ContainsFunc(tokensOf(unmask.Replace(text)), token.isWord)
}

// unmask removes the masks from a piece.
var unmask = strings.NewReplacer("‹id›", "", "‹time›", "", "‹number›", "", maskData, "")

var letter = regexp.MustCompile(`\p{L}`)

func (t token) isWord() bool { return t.masked == t.text && letter.MatchString(t.text) }

// textChanges returns the pieces in which two texts differ. If the texts have little in common,
// that is a single piece, the whole text.
func textChanges(field, want, got string) (changes []Change) {
	wantPart, gotPart := window(want, got)
	a, b := tokensOf(wantPart), tokensOf(gotPart)
	if changedPlaces(a, b) && sameParts(wantPart, gotPart) {
		return []Change{{Field: field + "[]"}}
	}
	hunks, common := hunksOf(a, b)
	fewer, more := countWords(a), countWords(b)
	if fewer > more {
		fewer, more = more, fewer
	}
	if 4*common < fewer || len(hunks) > 1 && 4*common < more || len(hunks) > mostHunks {
		hunks = []hunk{{0, len(a), 0, len(b)}}
	}
	for _, h := range hunks {
		c := Change{Field: field, Removed: piece(a[h.fromA:h.toA]), Added: piece(b[h.fromB:h.toB])}
		if isOfAnID(field) && isOpaque(c.Added) {
			c.Added = masks[1]
		}
		if c.Removed == c.Added { // both are data of the same kind: the values show the change
			c.alsoAs(Change{Was: unmasked(a[h.fromA:h.toA]), Now: unmasked(b[h.fromB:h.toB])})
		}
		if h.fromA > 0 {
			c.Left = piece(a[h.fromA-1 : h.fromA])
		}
		if h.toA < len(a) {
			c.Right = piece(a[h.toA : h.toA+1])
		}
		changes = append(changes, c)
	}
	if len(changes) == 0 && want != got {
		was, now := strings.TrimRightFunc(want, unicode.IsSpace), strings.TrimRightFunc(got, unicode.IsSpace)
		changes = []Change{{Field: field, Removed: maskSpace, Added: maskSpace}}
		if was == now {
			changes = []Change{{Field: field, Removed: spaceBehind(want[len(was):]), Added: spaceBehind(got[len(now):]), Behind: true}}
		}
	}
	return changes
}

// longestWindow is the length in bytes up to which texts are compared whole. Of longer texts, only
// that much of the differing part is compared, with windowMargin bytes on either side.
const (
	longestWindow = 32 << 10
	windowMargin  = 200
)

// changedPlaces reports whether two texts differ only in the order of their words. Code that joins
// texts from a map, or from goroutines as they end, puts them in a different order each time.
func changedPlaces(a, b []token) bool {
	was, now := textsOf(a), textsOf(b)
	if len(was) != len(now) || slices.Equal(was, now) || countWords(a) < 2 {
		return false
	}
	slices.Sort(was)
	slices.Sort(now)
	return slices.Equal(was, now)
}

// betweenParts matches what separates the parts of a text. Words that belong together are in one
// part.
var betweenParts = regexp.MustCompile(`[\n,;|]\s*`)

// sameParts reports whether two texts consist of the same parts in any order, or of one part each.
// If a word moved from one part to another, the code pairs words wrongly, which is not a mere
// change of order.
func sameParts(a, b string) bool {
	was, now := betweenParts.Split(strings.TrimSpace(a), -1), betweenParts.Split(strings.TrimSpace(b), -1)
	if len(was) == 1 && len(now) == 1 {
		return true
	}
	slices.Sort(was)
	slices.Sort(now)
	return slices.Equal(was, now)
}

// window reduces two long texts to the part where they differ.
func window(want, got string) (string, string) {
	if max(len(want), len(got)) <= longestWindow {
		return want, got
	}
	most := min(len(want), len(got))
	head, tail := 0, 0
	for head < most && want[head] == got[head] {
		head++
	}
	for tail < most-head && want[len(want)-1-tail] == got[len(got)-1-tail] {
		tail++
	}
	head, tail = max(0, head-windowMargin), max(0, tail-windowMargin)
	if space := strings.IndexAny(want[head:head+min(windowMargin, most-head)], " \n\t"); head > 0 && space >= 0 {
		head += space
	}
	cut := func(text string) string {
		text = text[head : len(text)-tail]
		return text[:min(len(text), longestWindow)]
	}
	return cut(want), cut(got)
}

func countWords(tokens []token) (n int) {
	for _, t := range tokens {
		if t.isWord() {
			n++
		}
	}
	return n
}

// hunk is a piece of one text that replaces a piece of another.
type hunk struct{ fromA, toA, fromB, toB int }

// mostHunks is how many pieces textChanges returns at most. If there are more, it returns the whole
// text as one piece.
const mostHunks = 12

// hunksOf returns the pieces in which two texts differ, and the number of common words.
func hunksOf(a, b []token) (hunks []hunk, common int) {
	atA, atB := 0, 0
	for _, same := range append(align.Common(textsOf(a), textsOf(b)), align.Pair{A: len(a), B: len(b)}) {
		if atA < same.A || atB < same.B {
			hunks = append(hunks, hunk{atA, same.A, atB, same.B})
		}
		if same.A < len(a) && a[same.A].isWord() {
			common++
		}
		atA, atB = same.A+1, same.B+1
	}
	return hunks, common
}

func textsOf(tokens []token) []string {
	return safetext.Each(tokens, func(t token) string { return t.text })
}
