package digest_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/digest"
)

type text string

func (t text) AppendJSON(dst []byte) []byte { return append(dst, t...) }

// DET-8: a digest is the first half of a SHA-256.
func TestOf(t *testing.T) {
	const abc = "ba7816bf8f01cfea414140de5dae2223" // FIPS 180-2, B.1
	sum := digest.Of([]byte("abc"))
	assert.Equal(t, abc, hex.EncodeToString(sum[:]))
	assert.Equal(t, sum, digest.OfJSON(text("abc")))
	long := bytes.Repeat([]byte("abc"), 1<<16)
	assert.Equal(t, digest.Of(long), digest.OfJSON(text(long)), "longer than what is kept")
	assert.Equal(t, sum, digest.OfJSON(text("abc")), "nothing is left of the one before")
}

// DET-8: what moves from one list to the next is seen, however many there are.
func TestOfLists(t *testing.T) {
	type sum = [16]byte
	a, b := sum{1}, sum{2}
	states := map[sum]string{}
	for name, lists := range map[string][][]sum{
		"none": {nil, nil}, "first": {{a}, nil}, "second": {nil, {a}}, "both": {{a}, {b}}, "other": {{b}, {a}}, "two": {{a, b}, nil},
		"many": {make([]sum, 100), {a}}, "more": {make([]sum, 101), nil},
	} {
		at := digest.OfLists(a, lists, b)
		assert.Empty(t, states[at], "%s is like another", name)
		states[at] = name
	}
	assert.NotEqual(t, digest.OfLists(a, nil, b), digest.OfLists(b, nil, a))
}

// DET-8: the digest of a state is one SHA-256 over all of it, however large it is: the
// states of every trace that was ever written say so.
func TestOfListsIsOneHash(t *testing.T) {
	for _, lengths := range [][]int{{}, {0, 0}, {1, 2}, {61}, {62}, {63}, {127, 128, 129}, {0, 1000, 0, 3, 256}} {
		before, behind := digest.Of([]byte("prompt")), digest.Of([]byte("stash"))
		text := append([]byte(nil), before[:]...)
		var lists [][][16]byte
		for _, length := range lengths {
			list := make([][16]byte, length)
			text = append(text, byte(length>>24), byte(length>>16), byte(length>>8), byte(length))
			for i := range list {
				list[i] = digest.Of([]byte{byte(len(lists)), byte(i), byte(i >> 8)})
				text = append(text, list[i][:]...)
			}
			lists = append(lists, list)
		}
		assert.Equal(t, digest.Of(append(text, behind[:]...)), digest.OfLists(before, lists, behind), "%v", lengths)
	}
}

// DET-8: the state of a turn is told after every crossing of it: what most of them are
// made of stays where it was made.
func TestOfListsAllocatesNothing(t *testing.T) {
	type sum = [16]byte
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		all := make([]sum, 3, 32)
		lists := [][]sum{all[:1], all[1:]}
		digest.OfLists(sum{1}, lists, sum{2})
	}))
}
