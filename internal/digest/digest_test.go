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
