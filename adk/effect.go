package adk

import "strings"

// Effect says whether calling user code changes anything outside the turn, so
// that a replay can refuse to call what writes unless it was asked to. A tool
// declares its own (ToolInit.Effect); of storage the contract says it (RUN-2,
// Seam.Effect); of any other user code nobody knows.
type Effect string

// The effects. EffectUnknown is the zero value.
const (
	EffectUnknown Effect = ""
	EffectReads   Effect = "reads"
	EffectWrites  Effect = "writes"
)

// MayWrite reports whether code of this effect has to be taken for writing: all
// that is not known to do nothing but read.
func (e Effect) MayWrite() bool { return e != EffectReads }

// Effect is what a call of the seam does: a storage obligation that fetches or
// refreshes reads, one that stores, mutates or deletes writes. Of every other
// seam it is unknown; a tool's path does not say which tool stands behind it, and
// Tool.Effect does.
func (s Seam) Effect() Effect {
	if s.Label == LabelStorage {
		_, verb, _ := strings.Cut(s.Name, ".")
		switch KindByName(verb).Touches() {
		case TouchReading:
			return EffectReads
		case TouchWriting:
			return EffectWrites
		}
	}
	return EffectUnknown
}
