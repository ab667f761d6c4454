// Package digest makes the digests of records and states: the first 16 bytes of a SHA-256.
package digest

import (
	"crypto/sha256"
	"sync"
)

// Of is the digest of data.
func Of(data []byte) [16]byte {
	sum := sha256.Sum256(data)
	return [16]byte(sum[:16])
}

// Appender is what can append its JSON.
type Appender interface {
	AppendJSON(dst []byte) []byte
}

// OfJSON is the digest of what is appended.
func OfJSON(a Appender) [16]byte {
	text := scratch.Get().(*[]byte)
	*text = a.AppendJSON((*text)[:0])
	sum := Of(*text)
	keepScratch(text)
	return sum
}

// Once is the digest of what never changes, computed when it is first asked for.
type Once struct {
	once  sync.Once
	known [16]byte
}

// Of is OfJSON of a, which is the same at every call.
func (o *Once) Of(a Appender) [16]byte {
	o.once.Do(func() { o.known = OfJSON(a) })
	return o.known
}

// scratch holds buffers for texts that nobody keeps, up to maxScratch bytes each.
var scratch = sync.Pool{New: func() any { text := make([]byte, 0, 512); return &text }}

const maxScratch = 64 << 10

func keepScratch(text *[]byte) {
	if cap(*text) <= maxScratch {
		scratch.Put(text)
	}
}
