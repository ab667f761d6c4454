package adk

import (
	"strconv"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// digestOnce computes the digest of a record when it is first asked for, once,
// from however many goroutines (DET-8).
type digestOnce struct {
	once   sync.Once
	digest Digest
}

func (d *digestOnce) of(record Record) Digest {
	d.once.Do(func() { d.digest = digestOf(record) })
	return d.digest
}

// digestOf computes the digest of a record's JSON.
func digestOf(record Record) Digest {
	text := scratch.Get().(*[]byte)
	*text = record.AppendJSON((*text)[:0])
	digest := DigestOf(*text)
	if cap(*text) <= maxScratch {
		scratch.Put(text)
	}
	return digest
}

// scratch holds buffers for texts that nobody keeps, up to maxScratch bytes each.
var scratch = sync.Pool{New: func() any { text := make([]byte, 0, 512); return &text }}

const maxScratch = 64 << 10

// recordJSON writes the one JSON form of a record: the fields in the order they
// are written in, on one line, by rules that no release of Go can change under
// an old trace. Absent values are left out.
type recordJSON struct{ out []byte }

func openRecord(dst []byte) recordJSON {
	if dst == nil {
		dst = make([]byte, 0, 256) // most records fit, and grow by no second allocation
	}
	return recordJSON{append(dst, '{')}
}

func (j *recordJSON) close() []byte { return append(j.out, '}') }

// field writes the name of a field; the caller writes the value.
func (j *recordJSON) field(name string) {
	if j.out[len(j.out)-1] != '{' {
		j.out = append(j.out, ',')
	}
	j.out = append(canonical.AppendString(j.out, name), ':')
}

func (j *recordJSON) text(name, text string) {
	j.field(name)
	j.out = canonical.AppendString(j.out, text)
}

// someText writes a text unless it is empty.
func (j *recordJSON) someText(name, text string) {
	if text != "" {
		j.text(name, text)
	}
}

func (j *recordJSON) number(name string, f float64) {
	j.field(name)
	j.out = canonical.AppendNumber(j.out, f)
}

func (j *recordJSON) flag(name string, on bool) {
	j.field(name)
	j.out = strconv.AppendBool(j.out, on)
}

func (j *recordJSON) moment(name string, t time.Time) {
	j.field(name)
	j.out = append(t.AppendFormat(append(j.out, '"'), time.RFC3339Nano), '"')
}

// identity writes an identity unless it is the one that the record has anyway.
func (j *recordJSON) identity(name string, identity, usual Identity) {
	if !identity.equal(usual) {
		j.field(name)
		j.out = identity.appendJSON(j.out)
	}
}

// medias writes a list of media unless it is empty.
func (j *recordJSON) medias(name string, list []*Media) {
	if len(list) == 0 {
		return
	}
	j.field(name)
	for i, media := range list {
		separator := byte(',')
		if i == 0 {
			separator = '['
		}
		j.out = media.AppendJSON(append(j.out, separator))
	}
	j.out = append(j.out, ']')
}
