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
