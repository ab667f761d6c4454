package safetext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CutAround formats two different texts so that they fit on a line. They are in quotes, with every
// character escaped that a terminal would act upon. Of what they share before and after the change,
// width characters are kept on each side, and the number of omitted characters is shown. Of a long
// change, the beginning and the end are kept. Characters are runes, and no rune is split; an
// invalid byte counts as one. Equal texts are cut like any long text.
//
// The lengths of the results are bounded by width, however long the texts are.
func CutAround(want, got string, width int) (string, string) {
	width = max(width, 0)
	head, tail := shared(want, got)
	before := hiddenBefore(want[:head], width)
	after := hiddenAfter(want[len(want)-tail:], width)
	return cutBetween(want, before, after, width), cutBetween(got, before, after, width)
}

// WorthHiding is how many characters must be omitted at least: saying that three were omitted takes
// more space than the three.
const WorthHiding = 20

// ChangeKept is the factor by which more than width characters are shown at each end of a change.
const ChangeKept = 4

// shared returns how many bytes two texts share at their beginnings and at their ends, in whole
// runes and without an overlap.
func shared(a, b string) (head, tail int) {
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	head = wholeRunes(a, b, head)
	most := min(len(a), len(b)) - head
	for tail < most && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && !(beginsRune(a, len(a)-tail) && beginsRune(b, len(b)-tail)) {
		tail--
	}
	return head, tail
}

// wholeRunes moves the end of a common beginning back to where a rune begins in both texts.
func wholeRunes(a, b string, head int) int {
	for head > 0 && !(beginsRune(a, head) && beginsRune(b, head)) {
		head--
	}
	return head
}

// beginsRune reports whether cutting the text at a position splits no rune.
func beginsRune(text string, at int) bool {
	if at == len(text) || utf8.RuneStart(text[at]) {
		return true
	}
	for start := at - 1; start >= 0 && at-start < utf8.UTFMax; start-- {
		if utf8.RuneStart(text[start]) {
			_, size := utf8.DecodeRuneInString(text[start:])
			return start+size <= at // a stray byte counts as a rune
		}
	}
	return true
}

// hiddenBefore returns how many bytes of a common beginning are omitted.
func hiddenBefore(head string, keep int) int {
	at := len(head)
	for range keep {
		_, size := utf8.DecodeLastRuneInString(head[:at])
		at -= size
	}
	if fewerRunes(head[:at], WorthHiding) {
		return 0
	}
	return at
}

// hiddenAfter returns how many bytes of a common end are omitted.
func hiddenAfter(tail string, keep int) int {
	at := runesIn(tail, keep)
	if fewerRunes(tail[at:], WorthHiding) {
		return 0
	}
	return len(tail) - at
}

// runesIn returns how many bytes the first runes of a text take.
func runesIn(text string, runes int) (at int) {
	for ; runes > 0 && at < len(text); runes-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

func fewerRunes(text string, than int) bool { return runesIn(text, than) == len(text) }

// cutBetween returns what is between the omitted parts, in quotes.
func cutBetween(text string, before, after, width int) string {
	var b strings.Builder
	if before > 0 {
		fmt.Fprintf(&b, "(%d chars)…", utf8.RuneCountInString(text[:before]))
	}
	b.WriteString(cutWithin(text[before:len(text)-after], ChangeKept*max(width, WorthHiding)))
	if after > 0 {
		fmt.Fprintf(&b, "…(%d chars)", utf8.RuneCountInString(text[len(text)-after:]))
	}
	return b.String()
}

// cutWithin omits the middle of a long text.
func cutWithin(text string, keep int) string {
	head := runesIn(text, keep)
	at := len(text)
	for range keep {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	if at <= head || fewerRunes(text[head:at], WorthHiding) {
		return inQuotes(text)
	}
	return fmt.Sprintf("%s…(%d chars)…%s", inQuotes(text[:head]), utf8.RuneCountInString(text[head:at]), inQuotes(text[at:]))
}
