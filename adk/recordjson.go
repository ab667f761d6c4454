package adk

import (
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/digest"
)

// digestOnce is embedded in a type to make it a record. It computes the digest once, on first use,
// and is safe for concurrent use (DET-8).
type digestOnce struct{ once digest.Once }

func (d *digestOnce) of(record Record) Digest { return d.once.Of(record) }

func (*digestOnce) isRecord() {}

// recordJSON writes the one JSON form of a record: the fields in a fixed order, on one line, by
// rules that do not depend on the release of Go, so that old traces stay valid. Absent values are
// left out.
type recordJSON struct{ canonical.ObjectWriter }

func openRecord(dst []byte) recordJSON { return recordJSON{canonical.Open(dst)} }

// identity writes an identity unless it is the record's default.
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
