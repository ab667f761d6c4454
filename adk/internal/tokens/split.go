package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A splitter returns the end of the piece that begins at a byte offset of a text in valid UTF-8.
// The offset is before the text's end, and the piece is never empty, so that pieces follow each
// other until the end of the text.
//
// Each splitter is a regular expression of tiktoken-go written out by hand, because those
// expressions look ahead, which the standard library's cannot. Where a pattern would backtrack, the
// code goes directly to where that ends. The patterns are part of an encoding's definition, as its
// ranks are.
//
// The split of a whole text takes linear time. A splitter looks at one run only a few times, and
// the part of the run that it looked at but did not take is taken by the next piece, except perhaps
// for its last rune.
type splitter func(text string, at int) int

// splitGPT2 is the pattern of gpt2, r50k_base, p50k_base and p50k_edit:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func splitGPT2(text string, at int) int {
	if end := contraction(text, at, sameCase); end > at {
		return end
	}
	start := afterSpace(text, at)
	class, _ := classAt(text, start)
	for _, set := range [...]runeClass{letters, number, symbols} {
		if class&set != 0 {
			return runOf(text, start, set)
		}
	}
	return splitBlanks(text, at)
}

// splitCL100k is the pattern of cl100k_base:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
//	| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitCL100k(text string, at int) int {
	if end := contraction(text, at, anyCase); end > at {
		return end
	}
	start := at
	if class, size := classAt(text, at); class&leads != 0 {
		start += size
	}
	if end := runOf(text, start, letters); end > start {
		return end
	}
	return splitWordless(text, at, "\r\n")
}

// splitO200k is the pattern of o200k_base, U being [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
// and W being [\p{Ll}\p{Lm}\p{Lo}\p{M}]:
//
//	[^\r\n\p{L}\p{N}]?U*W+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|[^\r\n\p{L}\p{N}]?U+W*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitO200k(text string, at int) int {
	class, size := classAt(text, at)
	start := at
	if class&leads != 0 {
		start += size
	}
	end := lowerWord(text, start)
	if end == start && class == mark {
		// Only a mark can be both a lead and the word's first rune. It is in W, so this always
		// matches, and U+W* is never tried.
		start, end = at, lowerWord(text, at)
	}
	if end == start {
		// If U*W+ does not match, no W follows, so U+W* ends where its U+ does.
		end = runOf(text, start, inU)
	}
	if end > start {
		return contraction(text, end, anyCase)
	}
	return splitWordless(text, at, "\r\n/")
}

// lowerWord is U*W+ of splitO200k. It returns the end of the match, or at if there is none.
//
// U* takes what it can. If a W follows, W+ takes the rest. If not, U* gives back up to its last
// rune that is a W too, and W+ takes that one rune.
func lowerWord(text string, at int) int {
	end, lastW := at, at
	for {
		class, size := classAt(text, end)
		if class&inU == 0 {
			break
		}
		end += size
		if class&inW != 0 {
			lastW = end
		}
	}
	if word := runOf(text, end, inW); word > end {
		return word
	}
	return lastW
}

// splitWordless is how cl100k_base and o200k_base split where no word begins. tail are the ASCII
// bytes that a run of symbols may include at its end:
//
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[tail]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitWordless(text string, at int, tail string) int {
	if end := upToThreeNumbers(text, at); end > at {
		return end
	}
	start := afterSpace(text, at)
	if end := runOf(text, start, symbols); end > start {
		for end < len(text) && strings.IndexByte(tail, text[end]) >= 0 {
			end++
		}
		return end
	}
	// \s* takes all blanks and gives back up to the last line break among them.
	end := runOf(text, at, blanks)
	if lastBreak := strings.LastIndexAny(text[at:end], "\r\n"); lastBreak >= 0 {
		return at + lastBreak + 1
	}
	return splitBlanks(text, at)
}

// upToThreeNumbers is \p{N}{1,3}. It returns the end of the match, or at if there is none.
func upToThreeNumbers(text string, at int) int {
	for range 3 {
		class, size := classAt(text, at)
		if class != number {
			break
		}
		at += size
	}
	return at
}

// splitBlanks is \s+(?!\S)|\s+ at a blank. At the text's end it takes all blanks, elsewhere all
// except the last, which goes with what follows. A single blank is a piece by itself.
func splitBlanks(text string, at int) int {
	end := runOf(text, at, blanks)
	if end == len(text) {
		return end
	}
	_, size := utf8.DecodeLastRuneInString(text[at:end])
	if allButLast := end - size; allButLast > at {
		return allButLast
	}
	return end
}

// afterSpace is the " ?" before a run that contains no space: if the run does not match after the
// space, it does not match from the space either.
func afterSpace(text string, at int) int {
	if text[at] == ' ' {
		return at + 1
	}
	return at
}

// How the letters of a contraction are compared: as they are, or with the bit set that
// distinguishes a small ASCII letter from its capital. That is enough, because tiktoken-go ignores
// case by unicode.ToLower, which maps no rune beyond ASCII to one of these letters: ſ (U+017F)
// folds to s, but is already a small letter.
const (
	sameCase byte = 0
	anyCase  byte = 'a' - 'A'
)

// contraction is 's|'t|'re|'ve|'m|'ll|'d. It returns the end of the match, or at if there is none.
func contraction(text string, at int, fold byte) int {
	rest := text[at:]
	if len(rest) < 2 || rest[0] != '\'' {
		return at
	}
	switch rest[1] | fold {
	case 's', 't', 'm', 'd':
		return at + 2
	}
	if len(rest) < 3 {
		return at
	}
	switch [2]byte{rest[1] | fold, rest[2] | fold} {
	case [2]byte{'r', 'e'}, [2]byte{'v', 'e'}, [2]byte{'l', 'l'}:
		return at + 3
	}
	return at
}

// runOf returns the end of the longest run of runes of a set; the run may be empty.
func runOf(text string, at int, set runeClass) int {
	for {
		class, size := classAt(text, at)
		if class&set == 0 {
			return at
		}
		at += size
	}
}

// A runeClass is everything that the patterns distinguish about a rune. With several bits set it is
// a set of such classes.
type runeClass uint8

const (
	symbol     runeClass = 1 << iota // anything else, as [^\s\p{L}\p{M}\p{N}]
	blank                            // \s, but neither CR nor LF
	breaksLine                       // CR, LF
	number                           // \p{N}
	mark                             // \p{M}
	upper                            // \p{Lu}, \p{Lt}
	lower                            // \p{Ll}
	caseless                         // \p{Lm}, \p{Lo}
)

const (
	blanks  = blank | breaksLine       // \s
	letters = upper | lower | caseless // \p{L}
	symbols = symbol | mark            // [^\s\p{L}\p{N}]
	leads   = symbols | blank          // [^\r\n\p{L}\p{N}]
	inU     = upper | caseless | mark  // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	inW     = lower | caseless | mark  // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
)

// classAt returns the class of the rune at an offset, and its size in bytes. At the text's end the
// class is 0, which is in no set.
func classAt(text string, at int) (runeClass, int) {
	if at >= len(text) {
		return 0, 0
	}
	if b := text[at]; b < utf8.RuneSelf {
		return asciiClasses[b], 1
	}
	r, size := utf8.DecodeRuneInString(text[at:])
	return classOf(r), size
}

var asciiClasses = func() (classes [utf8.RuneSelf]runeClass) {
	for b := range classes {
		classes[b] = classOf(rune(b))
	}
	return classes
}()

func classOf(r rune) runeClass {
	switch {
	case r == '\r' || r == '\n':
		return breaksLine
	case unicode.IsSpace(r):
		return blank
	case unicode.IsLetter(r):
		return letterClassOf(r)
	case unicode.IsNumber(r):
		return number
	case unicode.IsMark(r):
		return mark
	}
	return symbol
}

func letterClassOf(letter rune) runeClass {
	switch {
	case unicode.Is(unicode.Ll, letter):
		return lower
	case unicode.In(letter, unicode.Lu, unicode.Lt):
		return upper
	}
	return caseless
}
