package streamre_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/streamre"
)

// ways are those to write a secret that is looked for.
type ways struct {
	kind  string
	texts []string
}

// eachByItself is what is found of one secret after the other, from a place on: of the ways
// that stand at the first place the longest, and what is behind that.
func eachByItself(secrets []ways, text string, at int) (all []streamre.Span) {
	for rank, secret := range secrets {
		for from := at; from < len(text); {
			longest := ""
			for _, way := range secret.texts {
				if strings.HasPrefix(text[from:], way) && len(way) > len(longest) {
					longest = way
				}
			}
			if longest != "" {
				all = append(all, streamre.Span{From: from, To: from + len(longest), Kind: secret.kind, Rank: rank})
			}
			from += max(len(longest), 1)
		}
	}
	return joined(all)
}

// joined are spans in their order, of which those are one that begin at one place.
func joined(all []streamre.Span) (spans []streamre.Span) {
	slices.SortFunc(all, streamre.InOrder)
	for _, one := range all {
		if last := len(spans) - 1; last >= 0 && spans[last].From == one.From {
			spans[last].Join(one)
			continue
		}
		spans = append(spans, one)
	}
	return spans
}

// openByItself is the first place from which on the text may be the beginning of a secret,
// behind what was found of that.
func openByItself(secrets []ways, text string, at int) int {
	open := len(text)
	for _, secret := range secrets {
		from := at
		for from < len(text) {
			longest, waits := "", false
			for _, way := range secret.texts {
				waits = waits || strings.HasPrefix(way, text[from:])
				if strings.HasPrefix(text[from:], way) && len(way) > len(longest) {
					longest = way
				}
			}
			if waits {
				break
			}
			from += max(len(longest), 1)
		}
		open = min(open, from)
	}
	return open
}

func drawSecrets(draw *rand.Rand, letters string) (secrets []ways) {
	for n := range 1 + draw.IntN(12) {
		w := ways{kind: fmt.Sprint("k", n)}
		for range 1 + draw.IntN(4) {
			w.texts = append(w.texts, drawLetters(draw, letters, 1+draw.IntN(12)))
		}
		secrets = append(secrets, w)
	}
	return secrets
}

func drawLetters(draw *rand.Rand, letters string, n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = letters[draw.IntN(len(letters))]
	}
	return string(text)
}

func drawSecretive(draw *rand.Rand, letters string, secrets []ways) (text string) {
	for range draw.IntN(6) {
		secret := secrets[draw.IntN(len(secrets))].texts
		one := secret[draw.IntN(len(secret))]
		text += drawLetters(draw, letters, draw.IntN(4)) + one[:len(one)-draw.IntN(2)*draw.IntN(len(one))]
	}
	return text
}

// The dumb twin looks for one secret after the other. All at once the same are found, in texts
// that come whole and in pieces, also of secrets that begin and overlap each other and
// themselves, and of bytes that are no characters; and no piece waits longer than it must.
func TestTextsAreFoundAsEachByItself(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 6))
	found, waited := 0, 0
	for round := range 6_000 {
		letters := []string{"a", "ab", "abcdef\xc3\xa9"}[round%3]
		secrets := drawSecrets(draw, letters)
		var texts streamre.Texts
		for rank, secret := range secrets {
			texts.Add(secret.kind, rank, secret.texts...)
		}
		text := drawSecretive(draw, letters, secrets)
		want := eachByItself(secrets, text, 0)
		found += len(want)
		require.Equal(t, want, allOf(&streamre.Search{Texts: &texts}, nil, text, true), "%q in %q", secrets, text)

		search := streamre.Search{Texts: &texts}
		var got []streamre.Span
		for end := 0; end < len(text); {
			end += 1 + draw.IntN(min(9, len(text)-end))
			got = allOf(&search, got, text[:end], false)
			require.Equal(t, openByItself(secrets, text[:end], 0), search.At, "%q in %q", secrets, text[:end])
			waited += end - search.At
		}
		require.Equal(t, want, allOf(&search, got, text, true), "%q in %q, in pieces", secrets, text)
	}
	assert.Greater(t, found, 6_000)
	assert.Greater(t, waited, 6_000)
}

// allOf adds what is found in a text up to its end.
func allOf(s *streamre.Search, spans []streamre.Span, text string, last bool) []streamre.Span {
	for {
		one, ok := s.Next(text, len(text), last)
		if !ok {
			return spans
		}
		spans = append(spans, one)
	}
}

// What is added in the midst of a text is found from there on, and what was found before stays
// behind it.
func TestTextsThatAreAddedLater(t *testing.T) {
	draw := rand.New(rand.NewPCG(7, 8))
	for range 3_000 {
		secrets := drawSecrets(draw, "ab")
		text := drawSecretive(draw, "ab", secrets)
		var texts streamre.Texts
		search := streamre.Search{Texts: &texts}
		early := draw.IntN(len(secrets))
		for rank, secret := range secrets[:early] {
			texts.Add(secret.kind, rank, secret.texts...)
		}
		end := draw.IntN(len(text) + 1)
		got := allOf(&search, nil, text[:end], false)
		since := draw.IntN(search.At + 1)
		for slices.ContainsFunc(got, func(s streamre.Span) bool { return s.From < since && since < s.To }) {
			since--
		}
		search.At = since
		for rank, secret := range secrets[early:] {
			texts.Add(secret.kind, early+rank, secret.texts...)
		}
		var want []streamre.Span
		for rank, secret := range secrets {
			at := 0
			if rank >= early {
				at = since
			}
			alone := make([]ways, len(secrets))
			alone[rank] = secret
			want = append(want, eachByItself(alone, text, at)...)
		}
		require.Equal(t, joined(want), joined(allOf(&search, got, text, true)), "%q in %q", secrets, text)
	}
}

// A place is looked at more closely where a secret may begin, as far as its first bytes say,
// however many there are to look for; and what was looked at does not hang on their number.
func TestManyTextsAreLookedForAtOnce(t *testing.T) {
	text := strings.Repeat("Nothing of this is any of those, nor begins one of them. ", 1_000)
	for _, secrets := range []int{1, 10, 1_000, 8_000} {
		var texts streamre.Texts
		for n := range secrets {
			texts.Add("key", n, drawLetters(rand.New(rand.NewPCG(9, uint64(n))), "0123456789abcdef", 24))
		}
		assert.Empty(t, allOf(&streamre.Search{Texts: &texts}, nil, text, true))
		assert.Less(t, texts.Steps, len(text)/4, "%d secrets", secrets)
	}
}
