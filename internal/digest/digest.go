// Package digest computes the digests of records and states: the first 16 bytes of a SHA-256.
package digest

import (
	"crypto/sha256"
	"sync"
)

// Of returns the digest of data.
func Of(data []byte) [16]byte {
	sum := sha256.Sum256(data)
	return [16]byte(sum[:16])
}

// Appender can append its JSON.
type Appender interface {
	AppendJSON(dst []byte) []byte
}

// OfJSON returns the digest of the JSON of a.
func OfJSON(a Appender) [16]byte {
	text := scratch.Get().(*[]byte)
	*text = a.AppendJSON((*text)[:0])
	sum := Of(*text)
	keepScratch(text)
	return sum
}

// Once is the digest of something that never changes, computed on the first call of Of.
type Once struct {
	once  sync.Once
	known [16]byte
}

// Of returns OfJSON of a, which must be the same in every call.
func (o *Once) Of(a Appender) [16]byte {
	o.once.Do(func() { o.known = OfJSON(a) })
	return o.known
}

// scratch holds temporary buffers of up to maxScratch bytes each.
var scratch = sync.Pool{New: func() any { text := make([]byte, 0, 512); return &text }}

const maxScratch = 64 << 10

func keepScratch(text *[]byte) {
	if cap(*text) <= maxScratch {
		scratch.Put(text)
	}
}
