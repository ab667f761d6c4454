package tokens

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
)

var exactNames = []string{
	GPT2, R50kBase, P50kBase, P50kEdit, CL100kBase, O200kBase,
}

// tiktokenOf is the reference implementation of each exact encoding. Only tests use
// it: its merge takes quadratic time.
var tiktokenOf = map[string]func() *tiktoken.CoreBPE{
	R50kBase:   sync.OnceValue(func() *tiktoken.CoreBPE { return newTiktoken("r50k_base", patternGPT2) }),
	P50kBase:   sync.OnceValue(func() *tiktoken.CoreBPE { return newTiktoken("p50k_base", patternGPT2) }),
	CL100kBase: sync.OnceValue(func() *tiktoken.CoreBPE { return newTiktoken("cl100k_base", patternCL100k) }),
	O200kBase:  sync.OnceValue(func() *tiktoken.CoreBPE { return newTiktoken("o200k_base", patternO200k) }),
}

func newTiktoken(file, pattern string) *tiktoken.CoreBPE {
	ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(file + ".tiktoken")
	if err != nil {
		panic(err)
	}
	core, err := tiktoken.NewCoreBPE(ranks, map[string]int{tiktoken.ENDOFTEXT: -1}, pattern)
	if err != nil {
		panic(err)
	}
	return core
}

func tiktokenCount(text, encoding string) int {
	t := tiktoken.NewTiktoken(tiktokenOf[countedAs(encoding)](), nil, nil)
	return len(t.EncodeOrdinary(text))
}

// PRM-1: counts that are known from other sources.
func TestEstimateKnownCounts(t *testing.T) {
	for _, c := range []struct {
		text     string
		encoding string
		want     int
	}{
		{"hello world!你好，世界！", CL100kBase, 10},
		{"hello world", CL100kBase, 2},
		{"hello world", O200kBase, 2},
		{"tiktoken is great!", CL100kBase, 6},
		{"antidisestablishmentarianism", R50kBase, 5},
		{"antidisestablishmentarianism", CL100kBase, 6},
		{"2 + 2 = 4", GPT2, 5},
		{"2 + 2 = 4", CL100kBase, 7},
		{"お誕生日おめでとう", GPT2, 14},
		{"お誕生日おめでとう", CL100kBase, 9},
		{"お誕生日おめでとう", O200kBase, 8},
	} {
		assert.Equal(t, c.want, Estimate(c.text, c.encoding), "%q in %s", c.text, c.encoding)
	}
}

// PRM-1: the heuristics count UTF-16 code units, and never fail.
func TestEstimateHeuristics(t *testing.T) {
	for _, c := range []struct {
		text     string
		encoding string
		want     int
	}{
		{strings.Repeat("x", 35), Claude, 10},
		{strings.Repeat("x", 36), Claude, 11},
		{"x", Claude, 1},
		{"12345", "a name nobody knows", 2},
		{"1234", "", 1},
		{"😀😀", "", 1},    // two surrogate pairs
		{"😀😀é", "", 2},   // and one unit
		{"日本語文章", "", 2}, // five units
		{"\xff\xfe", "", 1},
	} {
		assert.Equal(t, c.want, Estimate(c.text, c.encoding), "%q in %q", c.text, c.encoding)
	}
	for _, encoding := range append(exactNames, Claude, "unknown") {
		assert.Zero(t, Estimate("", encoding), encoding)
	}
}

// PRM-1: the literal of a special token is counted as ordinary text.
func TestEstimateSpecialTokensAreText(t *testing.T) {
	for _, encoding := range exactNames {
		for _, text := range []string{"<|endoftext|>", "a<|fim_prefix|>b", "<|endofprompt|>"} {
			got := Estimate(text, encoding)
			assert.Greater(t, got, 2, "%s in %s", text, encoding)
			assert.Equal(t, tiktokenCount(text, encoding), got, "%s in %s", text, encoding)
		}
	}
}

// PRM-1: gpt2 has the ranks of r50k_base, and both p50k encodings count alike.
func TestEstimateTwins(t *testing.T) {
	text := "def f(x):\n        return x  # 你好 <|endoftext|>\n"
	assert.Equal(t, Estimate(text, R50kBase), Estimate(text, GPT2))
	assert.Equal(t, Estimate(text, P50kBase), Estimate(text, P50kEdit))
}

// tokenText draws texts in which every kind of piece is next to every other.
var tokenText = rapid.Custom(func(t *rapid.T) string {
	part := rapid.OneOf(
		rapid.SampledFrom([]string{
			" ", "  ", "\t", "\n", "\r\n", "\n \n", "\u00a0", "\u3000", "'s", "'LL", "don't", "/", "//", "!?",
			"aaaaaaaa", "ABC", "Hello", "hELLO", "ǅ", "世界", "e\u0301", "٣٤", "12345", "½", "😀", "<|endoftext|>",
			"\xff", "\xe4\xb8", "\x00", "=====", "        ", "antidisestablishmentarianism", "İſ",
		}),
		rapid.SampledFrom(splitAlphabet),
		rapid.String(),
	)
	return strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), "")
})

// PRM-1: an exact count is the count of the reference implementation.
func TestEstimateEqualsReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := tokenText.Draw(t, "text")
		for encoding := range tiktokenOf {
			if got, want := Estimate(text, encoding), tiktokenCount(text, encoding); got != want {
				t.Fatalf("%q in %s: %d tokens, want %d", text, encoding, got, want)
			}
		}
	})
}

// PRM-1: counts are exact for long unbroken runs too, where merges tie and cascade.
func TestEstimateUnbrokenRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	letters := make([]byte, 2000)
	for i := range letters {
		letters[i] = 'a' + byte(random.IntN(4))
	}
	for _, text := range []string{
		strings.Repeat("a", 1999), string(letters), strings.Repeat("ab", 999), strings.Repeat("A", 1500),
		strings.Repeat(" ", 1501) + "x", strings.Repeat("=", 1777), strings.Repeat("漢字", 400), strings.Repeat("\n", 1234),
	} {
		for encoding := range tiktokenOf {
			assert.Equal(t, tiktokenCount(text, encoding), Estimate(text, encoding), "%.8q… in %s", text, encoding)
		}
	}
}

func BenchmarkEstimate(b *testing.B) {
	kinds := []struct{ name, unit string }{
		{"prose", "The quick brown fox jumps over the lazy dog, and nobody minds. It didn't matter anyway.\n"},
		{"code", "func (m *Map) Get(key string) (int, bool) {\n\t\tv, ok := m.inner[key] // lookup\n\t\treturn v, ok\n}\n"},
		{"cjk", "敏捷的棕色狐狸跳过了懒狗，没有人介意。東京は今日も雨です。"},
		{"oneletter", "a"},
		{"upper", "AB"},
		{"blanks", " "},
	}
	sizes := []struct {
		name  string
		bytes int
	}{{"1KB", 1 << 10}, {"100KB", 100 << 10}, {"1MB", 1 << 20}}
	for _, encoding := range []string{R50kBase, P50kBase, CL100kBase, O200kBase} {
		Estimate("load", encoding)
		for _, kind := range kinds {
			for _, size := range sizes {
				text := strings.Repeat(kind.unit, size.bytes/len(kind.unit)+1)
				b.Run(encoding+"/"+kind.name+"/"+size.name, func(b *testing.B) {
					b.SetBytes(int64(len(text)))
					for b.Loop() {
						Estimate(text, encoding)
					}
				})
			}
		}
	}
}
