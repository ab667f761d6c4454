package tokens

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/internal/thorough"
)

// These are the patterns of the encodings in the reference implementation.
const (
	patternGPT2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	patternCL100k = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternO200k  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// referenceSplit makes the reference implementation show how it splits a text, which its tokens do
// not show otherwise: in its vocabulary every part of the text is a token whose number is
// its length, so that each piece is found as a whole.
type referenceSplit struct {
	core       *tiktoken.Tiktoken
	vocabulary map[string]int
	split      splitter
}

func newReferenceSplit(pattern string, split splitter) *referenceSplit {
	vocabulary := map[string]int{} // the core keeps this map, not a copy
	core, err := tiktoken.NewCoreBPE(vocabulary, map[string]int{tiktoken.ENDOFTEXT: -1}, pattern)
	if err != nil {
		panic(err)
	}
	return &referenceSplit{core: tiktoken.NewTiktoken(core, nil, nil), vocabulary: vocabulary, split: split}
}

func newReferenceSplits() map[string]*referenceSplit {
	return map[string]*referenceSplit{
		"gpt2":   newReferenceSplit(patternGPT2, splitGPT2),
		"cl100k": newReferenceSplit(patternCL100k, splitCL100k),
		"o200k":  newReferenceSplit(patternO200k, splitO200k),
	}
}

// pieces returns the split of a text of few runes: got is the splitter's, wanted the
// reference's.
func (r *referenceSplit) pieces(text string) (got, want []string) {
	for rest := []rune(text); len(rest) > 0; rest = rest[1:] {
		part := string(rest)
		for end := range part {
			r.vocabulary[part[:end]] = end
		}
		r.vocabulary[part] = len(part)
	}
	at := 0
	for _, size := range r.core.EncodeOrdinary(text) {
		want = append(want, text[at:at+size])
		at += size
	}
	clear(r.vocabulary)
	return piecesOf(r.split, text), want
}

func piecesOf(split splitter, text string) (pieces []string) {
	for at := 0; at < len(text); {
		end := split(text, at)
		pieces = append(pieces, text[at:end])
		at = end
	}
	return pieces
}

// PRM-1: how texts are split where the patterns backtrack, or where one alternative comes
// before another.
func TestSplitters(t *testing.T) {
	for _, c := range []struct {
		text                string
		gpt2, cl100k, o200k string // the pieces, separated by |
	}{
		{"  two  ", " | two|  ", " | two|  ", " | two|  "},
		{"\t\ta", "\t|\t|a", "\t|\ta", "\t|\ta"},
		{"a \n \n  b", "a| \n \n | b", "a| \n \n| | b", "a| \n \n| | b"},
		{"!\n/\n", "!|\n|/|\n", "!\n|/\n", "!\n/\n"},
		{"1234 5", "1234| 5", "123|4| |5", "123|4| |5"},
		{"'stuff we'LL", "'s|tuff| we|'|LL", "'s|tuff| we|'LL", "'stuff| we'LL"},
		{"x'\u017f", "x|'|\u017f", "x|'\u017f", "x|'\u017f"},
		{"camelCASEWord", "camelCASEWord", "camelCASEWord", "camel|CASEWord"},
		{"世ABC", "世ABC", "世ABC", "世|ABC"},
		{"\u0301A", "\u0301|A", "\u0301A", "\u0301|A"},
		{"\u0301a", "\u0301|a", "\u0301a", "\u0301a"},
		{"e\u0301!\u0301", "e|\u0301!\u0301", "e|\u0301!\u0301", "e\u0301|!\u0301"},
	} {
		assert.Equal(t, c.gpt2, strings.Join(piecesOf(splitGPT2, c.text), "|"), "gpt2 of %q", c.text)
		assert.Equal(t, c.cl100k, strings.Join(piecesOf(splitCL100k, c.text), "|"), "cl100k of %q", c.text)
		assert.Equal(t, c.o200k, strings.Join(piecesOf(splitO200k, c.text), "|"), "o200k of %q", c.text)
		for name, reference := range newReferenceSplits() {
			got, want := reference.pieces(c.text)
			assert.Equal(t, want, got, "%s of %q", name, c.text)
		}
	}
}

// splitAlphabet has several runes of each class, and the runes that a pattern
// names.
var splitAlphabet = []string{
	" ", " ", " ", "\t", "\v", "\f", "\u0085", "\u00a0", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f", "\u3000",
	"\n", "\n", "\r", "\r\n",
	"\u200b", "\ufeff", "\x00", "\x7f", // look blank, but are not white space
	"a", "s", "t", "r", "e", "v", "m", "l", "d", "ß", "я", "ﬀ", "\u017f", // Ll
	"A", "S", "T", "R", "E", "V", "M", "L", "D", "İ", "Я", "\u212a", "𝔸", // Lu
	"ǅ", "ᾈ", "ʰ", "々", "ª", "世", "あ", "한", "א", "𠀀", // Lt, Lm, Lo
	"\u0301", "\u0903", "\u20dd", "\ufe0f", "\U000e0100", // Mn, Mc, Me
	"1", "2", "٣", "½", "Ⅷ", "ⅷ", "〇", "𝟘", // Nd, No, Nl
	"'", "'", "'", "’", "/", "/", "!", "_", "-", "\"", "$", "€", "^", "😀", "🏽", "\u200d", "\u0378", "\ue000",
	"'s", "'T", "'re", "'vE", "'M", "'Ll", "'d", "'\u017f", "<|endoftext|>", "<|fim_prefix|>", "\ufffd",
}

// PRM-1: the splitters agree with the patterns, for every text of up to three parts of a small
// alphabet, and for a great many long texts, which are random but the same in each run.
func TestSplittersEqualReference(t *testing.T) {
	texts := splitTexts(rand.New(rand.NewPCG(3, 4)))
	for name, reference := range newReferenceSplits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range texts {
				requireSameSplit(t, reference, text)
			}
		})
	}
}

func splitTexts(random *rand.Rand) (texts []string) {
	few := []string{" ", "\t", "\n", "a", "s", "A", "世", "\u0301", "1", "'", "/", "!"}
	for _, a := range few {
		for _, b := range few {
			for _, c := range few {
				texts = append(texts, a+b+c, "x"+a+b+c+"Y")
			}
		}
	}
	for range thorough.Of(8000, 2000, 400) {
		// A few parts, repeated often, make the runs that random picks from
		// the whole alphabet would not.
		alphabet := splitAlphabet
		if random.IntN(2) == 0 {
			alphabet = make([]string, 1+random.IntN(5))
			for i := range alphabet {
				alphabet[i] = splitAlphabet[random.IntN(len(splitAlphabet))]
			}
		}
		var text strings.Builder
		for range 1 + random.IntN(24) {
			text.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		texts = append(texts, text.String())
	}
	return texts
}

func requireSameSplit(t require.TestingT, reference *referenceSplit, text string) {
	if got, want := reference.pieces(text); !slices.Equal(got, want) {
		require.Equal(t, want, got, "%q", text)
	}
}

// PRM-1: the splitters agree with the patterns for runes outside of the alphabet too.
func TestSplittersEqualReferenceForAnyText(t *testing.T) {
	references := newReferenceSplits()
	part := rapid.OneOf(rapid.SampledFrom(splitAlphabet), rapid.StringN(0, 6, -1))
	rapid.Check(t, func(t *rapid.T) {
		// rapid's strings may contain invalid UTF-8, which Estimate replaces before it splits.
		text := string([]rune(strings.Join(rapid.SliceOfN(part, 6, 30).Draw(t, "parts"), "")))
		for _, reference := range references {
			requireSameSplit(t, reference, text)
		}
	})
}

// PRM-1: the reference sees each rune as the splitters do, at both edges of every class, and for
// every rune that might be a letter of a contraction.
func TestSplittersEqualReferenceAtClassEdges(t *testing.T) {
	thorough.OneGoroutine(t)
	references := newReferenceSplits()
	previous := runeClass(0)
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		class := classOf(r)
		edge := class != previous
		previous = class
		folds := strings.ContainsRune("strevmld", unicode.ToLower(r)) || strings.ContainsRune("strevmld", unicode.SimpleFold(r))
		if !edge && !folds && r > 0x17f {
			continue
		}
		s := string(r)
		for _, reference := range references {
			requireSameSplit(t, reference, "a"+s+"A"+s+s+"1"+s+"\n'"+s+" 'r"+s+"\t"+s+"e")
		}
	}
}

// PRM-1: each class holds exactly the runes that the patterns give it.
func TestClassOf(t *testing.T) {
	thorough.OneGoroutine(t)
	is := func(tables ...*unicode.RangeTable) func(rune) bool {
		return func(r rune) bool { return unicode.In(r, tables...) }
	}
	for _, c := range []struct {
		set runeClass
		has func(rune) bool
	}{
		{blanks, unicode.IsSpace},
		{breaksLine, func(r rune) bool { return r == '\r' || r == '\n' }},
		{letters, is(unicode.L)},
		{number, is(unicode.N)},
		{mark, is(unicode.M)},
		{inU, is(unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M)},
		{inW, is(unicode.Ll, unicode.Lm, unicode.Lo, unicode.M)},
		{symbols, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.In(r, unicode.L, unicode.N) }},
		{leads, func(r rune) bool { return r != '\r' && r != '\n' && !unicode.In(r, unicode.L, unicode.N) }},
	} {
		for r := rune(0); r <= unicode.MaxRune; r += thorough.Of[rune](1, 7, 7) {
			if got := classOf(r)&c.set != 0; got != c.has(r) {
				t.Fatalf("%U in set %08b: %t", r, c.set, got)
			}
		}
	}
}

// PRM-1: splitting a text takes time linear in its length, whatever its runs are. Otherwise the
// test would not end.
func TestSplittersTakeLinearTime(t *testing.T) {
	thorough.OneGoroutine(t)
	const n = 1 << 20
	for _, unit := range []string{"a", "A", "aA", "世A", "\u0301A", "\u0301", " ", "\n ", " \n", "'", "'s", "1", "/", "\n/", "! "} {
		text := strings.Repeat(unit, n/len(unit))
		for _, split := range []splitter{splitGPT2, splitCL100k, splitO200k} {
			for at := 0; at < len(text); {
				end := split(text, at)
				if end <= at {
					t.Fatalf("an empty piece of %q… at %d", unit, at)
				}
				at = end
			}
		}
	}
}
