package adk

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var exactNames = []Encoding{
	EncodingGPT2, EncodingR50kBase, EncodingP50kBase, EncodingP50kEdit, EncodingCL100kBase, EncodingO200kBase,
}

// tiktokenOf is the reference implementation of an exact encoding. It is asked
// in the tests only: its merge takes quadratic time.
var tiktokenOf = map[Encoding]func() *tiktoken.CoreBPE{
	EncodingR50kBase:   sync.OnceValue(func() *tiktoken.CoreBPE { return newTiktoken("r50k_base", patternGPT2) }),
	EncodingP50kBase:   sync.OnceValue(func() *tiktoken.CoreBPE { return newTiktoken("p50k_base", patternGPT2) }),
	EncodingCL100kBase: sync.OnceValue(func() *tiktoken.CoreBPE { return newTiktoken("cl100k_base", patternCL100k) }),
	EncodingO200kBase:  sync.OnceValue(func() *tiktoken.CoreBPE { return newTiktoken("o200k_base", patternO200k) }),
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

func tiktokenCount(text string, encoding Encoding) int {
	t := tiktoken.NewTiktoken(tiktokenOf[countedAs(encoding)](), nil, nil)
	return len(t.EncodeOrdinary(text))
}

// PRM-1: counts that are known from elsewhere.
func TestEstimateTokensKnownCounts(t *testing.T) {
	for _, c := range []struct {
		text     string
		encoding Encoding
		want     int
	}{
		{"hello world!你好，世界！", EncodingCL100kBase, 10},
		{"hello world", EncodingCL100kBase, 2},
		{"hello world", EncodingO200kBase, 2},
		{"tiktoken is great!", EncodingCL100kBase, 6},
		{"antidisestablishmentarianism", EncodingR50kBase, 5},
		{"antidisestablishmentarianism", EncodingCL100kBase, 6},
		{"2 + 2 = 4", EncodingGPT2, 5},
		{"2 + 2 = 4", EncodingCL100kBase, 7},
		{"お誕生日おめでとう", EncodingGPT2, 14},
		{"お誕生日おめでとう", EncodingCL100kBase, 9},
		{"お誕生日おめでとう", EncodingO200kBase, 8},
	} {
		assert.Equal(t, c.want, EstimateTokens(c.text, c.encoding), "%q in %s", c.text, c.encoding)
	}
}

// PRM-1: the heuristics, in UTF-16 code units, never an error.
func TestEstimateTokensHeuristics(t *testing.T) {
	for _, c := range []struct {
		text     string
		encoding Encoding
		want     int
	}{
		{strings.Repeat("x", 35), EncodingClaude, 10},
		{strings.Repeat("x", 36), EncodingClaude, 11},
		{"x", EncodingClaude, 1},
		{"12345", "a name nobody knows", 2},
		{"1234", "", 1},
		{"😀😀", "", 1},    // two surrogate pairs
		{"😀😀é", "", 2},   // and one unit
		{"日本語文章", "", 2}, // five units
		{"\xff\xfe", "", 1},
	} {
		assert.Equal(t, c.want, EstimateTokens(c.text, c.encoding), "%q in %q", c.text, c.encoding)
	}
	for _, encoding := range append(exactNames, EncodingClaude, "unknown") {
		assert.Zero(t, EstimateTokens("", encoding), encoding)
	}
}

// PRM-1: the literal of a special token is ordinary text.
func TestEstimateTokensSpecialTokensAreText(t *testing.T) {
	for _, encoding := range exactNames {
		for _, text := range []string{"<|endoftext|>", "a<|fim_prefix|>b", "<|endofprompt|>"} {
			got := EstimateTokens(text, encoding)
			assert.Greater(t, got, 2, "%s in %s", text, encoding)
			assert.Equal(t, tiktokenCount(text, encoding), got, "%s in %s", text, encoding)
		}
	}
}

// PRM-1: gpt2 has the ranks of r50k_base; the two p50k count alike.
func TestEstimateTokensTwins(t *testing.T) {
	text := "def f(x):\n        return x  # 你好 <|endoftext|>\n"
	assert.Equal(t, EstimateTokens(text, EncodingR50kBase), EstimateTokens(text, EncodingGPT2))
	assert.Equal(t, EstimateTokens(text, EncodingP50kBase), EstimateTokens(text, EncodingP50kEdit))
}

// tokenText draws texts in which every kind of piece meets every other.
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

// PRM-1: exact means what the reference implementation counts.
func TestEstimateTokensEqualsReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := tokenText.Draw(t, "text")
		for encoding := range tiktokenOf {
			if got, want := EstimateTokens(text, encoding), tiktokenCount(text, encoding); got != want {
				t.Fatalf("%q in %s: %d tokens, want %d", text, encoding, got, want)
			}
		}
	})
}

// PRM-1: exact for long unbroken runs too, where merges tie and cascade.
func TestEstimateTokensUnbrokenRuns(t *testing.T) {
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
			assert.Equal(t, tiktokenCount(text, encoding), EstimateTokens(text, encoding), "%.8q… in %s", text, encoding)
		}
	}
}

// PRM-1: counted once per encoding, safely, and equal to the function.
func TestTokenizableCountsConcurrently(t *testing.T) {
	text := Text("the same text, counted from many goroutines")
	want := map[Encoding]int{}
	names := append([]Encoding{EncodingClaude, "", "unknown"}, exactNames...)
	for _, name := range names {
		want[name] = EstimateTokens(text.String(), name)
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for _, name := range names {
				assert.Equal(t, want[name], text.EstimateTokens(name), name)
			}
			assert.Equal(t, DigestOf([]byte(`"the same text, counted from many goroutines"`)), text.Digest())
		})
	}
	wg.Wait()
	cached := 0
	for c := text.counts.Load(); c != nil; c = c.next {
		cached++
	}
	assert.Equal(t, 6, cached, "one entry for each way of counting")
}

// PRM-1: a count that was taken costs nothing the next time, and a text that
// nobody counts is one allocation.
func TestTokenizableIsCheap(t *testing.T) {
	text := Text("counted once")
	text.EstimateTokens(EncodingClaude)
	assert.Zero(t, testing.AllocsPerRun(100, func() { text.EstimateTokens(EncodingClaude) }))
	var sink *Tokenizable
	assert.Equal(t, 1.0, testing.AllocsPerRun(100, func() { sink = Text("never counted") }))
	_ = sink
}

// PRM-1: the text comes back from every form of it.
func TestTokenizableIsARecord(t *testing.T) {
	var record Record = NewTokenizable(`a <b> & "c"`)
	data, err := record.MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, `"a <b> & \"c\""`, string(data))
	assert.Equal(t, `a <b> & "c"`, record.Key())
	assert.Equal(t, RecordInstruction, record.RecordKind())
	assert.Equal(t, DigestOf(data), record.Digest())
	assert.Equal(t, "instruction", Text("").PlainTag())
}

func BenchmarkEstimateTokens(b *testing.B) {
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
	for _, encoding := range []Encoding{EncodingR50kBase, EncodingP50kBase, EncodingCL100kBase, EncodingO200kBase} {
		EstimateTokens("load", encoding)
		for _, kind := range kinds {
			for _, size := range sizes {
				text := strings.Repeat(kind.unit, size.bytes/len(kind.unit)+1)
				b.Run(encoding+"/"+kind.name+"/"+size.name, func(b *testing.B) {
					b.SetBytes(int64(len(text)))
					for b.Loop() {
						EstimateTokens(text, encoding)
					}
				})
			}
		}
	}
}
