package adk

import (
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/digest"
)

// digestOnce is what makes a type a record: it computes the digest when that is first
// asked for, once, from however many goroutines (DET-8).
type digestOnce struct{ once digest.Once }

func (d *digestOnce) of(record Record) Digest { return d.once.Of(record) }

func (*digestOnce) isRecord() {}

// recordJSON writes the one JSON form of a record: the fields in the order they
// are written in, on one line, by rules that no release of Go can change under
// an old trace. Absent values are left out.
type recordJSON struct{ canonical.ObjectWriter }

func openRecord(dst []byte) recordJSON { return recordJSON{canonical.Open(dst)} }

// identity writes an identity unless it is the one that the record has anyway.
func (j *recordJSON) identity(name string, identity, usual Identity) {
	if !identity.equal(usual) {
		j.Field(name)
		j.Out = identity.appendJSON(j.Out)
	}
}

// medias writes a list of media unless it is empty.
func (j *recordJSON) medias(name string, list []*Media) {
	if len(list) == 0 {
		return
	}
	j.Field(name)
	j.Out = canonical.AppendList(j.Out, list)
}
