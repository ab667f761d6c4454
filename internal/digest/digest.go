// Package digest makes the digests of records and states: the first 16 bytes of a SHA-256.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
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

// OfLists is the digest of lists of digests, with one before them and one behind.
func OfLists[D ~[16]byte](before D, lists [][]D, behind D) [16]byte {
	size := 2 * len(before)
	for _, list := range lists {
		size += 4 + len(list)*len(before)
	}
	if size > smallState {
		return ofManyLists(before, lists, behind)
	}
	buffer := append(make([]byte, 0, smallState), before[:]...) // on the stack
	for _, list := range lists {
		buffer = appendDigests(appendLength(buffer, len(list)), list)
	}
	return Of(append(buffer, behind[:]...))
}

// smallState is the size in bytes of a state that is hashed at once, as most are.
const smallState = 1024

// ofManyLists is OfLists in pieces: a long list is not held twice.
func ofManyLists[D ~[16]byte](before D, lists [][]D, behind D) [16]byte {
	whole := sha256.New()
	piece := append(make([]byte, 0, 4<<10), before[:]...)
	for _, list := range lists {
		piece = appendLength(piece, len(list))
		for len(list) > 0 { // not by slices.Chunk, which would have the lists of all states on the heap
			some := list[:min(len(list), 128)]
			list = list[len(some):]
			whole.Write(piece)
			piece = appendDigests(piece[:0], some)
		}
	}
	whole.Write(append(piece, behind[:]...))
	return [16]byte(whole.Sum(nil))
}

// appendLength appends the length of a list: it keeps a record from moving unseen
// between two.
func appendLength(dst []byte, length int) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(length))
}

func appendDigests[D ~[16]byte](dst []byte, list []D) []byte {
	for _, d := range list {
		dst = append(dst, d[:]...)
	}
	return dst
}
