package safetext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CutAround puts two texts that differ into words that fit on a line: in quotes,
// with every character escaped that a terminal would act upon. Of what the two
// share before and after the change, width characters are kept on each side, and
// how many were left out is said; of a change that is long itself, the head and
// the tail are kept. Characters are runes, and no rune is cut; a byte that is
// not UTF-8 counts as one. Equal texts are cut like any long one.
//
// What it gives is bounded by width, however long the texts are.
func CutAround(want, got string, width int) (string, string) {
	width = max(width, 0)
	head, tail := shared(want, got)
	before := hiddenBefore(want[:head], width)
	after := hiddenAfter(want[len(want)-tail:], width)
	return cutBetween(want, before, after, width), cutBetween(got, before, after, width)
}

// WorthHiding is how many characters more than those kept must be left out: to
// say that three were left out takes longer than the three.
const WorthHiding = 20

// ChangeKept is how many times the width of a change is shown at each of its
// ends.
const ChangeKept = 4

// shared is how many bytes two texts have in common at their heads and at their
// tails, in whole runes and without an overlap.
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

// wholeRunes takes a common head back to where a rune begins in both texts.
func wholeRunes(a, b string, head int) int {
	for head > 0 && !(beginsRune(a, head) && beginsRune(b, head)) {
		head--
	}
	return head
}

// beginsRune reports whether no rune of the text is cut in two at a place.
func beginsRune(text string, at int) bool {
	if at == len(text) || utf8.RuneStart(text[at]) {
		return true
	}
	for start := at - 1; start >= 0 && at-start < utf8.UTFMax; start-- {
		if utf8.RuneStart(text[start]) {
			_, size := utf8.DecodeRuneInString(text[start:])
			return start+size <= at // a stray byte stands alone
		}
	}
	return true
}

// hiddenBefore is how many bytes of a common head are left out.
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

// hiddenAfter is how many bytes of a common tail are left out.
func hiddenAfter(tail string, keep int) int {
	at := runesIn(tail, keep)
	if fewerRunes(tail[at:], WorthHiding) {
		return 0
	}
	return len(tail) - at
}

// runesIn is how many bytes the first runes of a text take.
func runesIn(text string, runes int) (at int) {
	for ; runes > 0 && at < len(text); runes-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

func fewerRunes(text string, than int) bool { return runesIn(text, than) == len(text) }

// cutBetween is what stands between what is left out, in quotes.
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

// cutWithin leaves the middle of a long text out.
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
