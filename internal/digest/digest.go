// Package digest makes the digests of records and states: the first 16 bytes of a SHA-256.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
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
	if cap(*text) <= maxScratch {
		scratch.Put(text)
	}
	return sum
}

// scratch holds buffers for texts that nobody keeps, up to maxScratch bytes each.
var scratch = sync.Pool{New: func() any { text := make([]byte, 0, 512); return &text }}

const maxScratch = 64 << 10

// OfLists is the digest of lists of digests, with one before them and one behind.
func OfLists[D ~[16]byte](before D, lists [][]D, behind D) [16]byte {
	size := 64
	for _, list := range lists {
		size += 4 + len(list)*len(D{})
	}
	buffer := slices.Grow(make([]byte, 0, 1024), size) // on the stack, and most states need no more
	buffer = append(buffer, before[:]...)
	for _, list := range lists {
		// The length keeps a record from moving unseen between two lists.
		buffer = binary.BigEndian.AppendUint32(buffer, uint32(len(list)))
		for _, d := range list {
			buffer = append(buffer, d[:]...)
		}
	}
	return Of(append(buffer, behind[:]...))
}
