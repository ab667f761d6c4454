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

// ways are the forms of a secret that are looked for.
type ways struct {
	kind  string
	texts []string
}

// eachByItself searches for one secret after the other, from a position on. Of the forms that are found at the
// first place it takes the longest, and then continues after it.
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

// joined returns spans in order, and merges those that begin at the same place.
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

// openByItself returns the first position, after the matches so far, from which on the text may be the beginning
// of a secret.
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

// Searching for all secrets at once finds the same as searching for one after the other, in whole texts and in
// pieces. This includes secrets that begin with, or overlap, each other or themselves, and bytes that
// are not valid text. No piece waits longer than necessary.
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

// allOf appends what is found in a text up to its end.
func allOf(s *streamre.Search, spans []streamre.Span, text string, last bool) []streamre.Span {
	for {
		one, ok := s.Next(text, len(text), last)
		if !ok {
			return spans
		}
		spans = append(spans, one)
	}
}

// A secret that is added in the middle of a text is found from there on, and what was found before stays
// found.
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

// A position is examined closely only if the first bytes of a secret may begin there, however many secrets there
// are. The number of such positions does not depend on the number of secrets.
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
