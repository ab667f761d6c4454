package adk

import "strings"

// Effect says whether calling user code changes anything outside the turn, so that a replay can
// refuse to call code that writes unless it was asked to. A tool declares its own effect
// (ToolInit.Effect). The contract fixes the effects of the storage obligations (RUN-2,
// Seam.Effect). The effect of any other user code is unknown.
type Effect string

// The effects. EffectUnknown is the zero value.
const (
	EffectUnknown Effect = ""
	EffectReads   Effect = "reads"
	EffectWrites  Effect = "writes"
)

// MayWrite reports whether code with this effect may change something. Everything except
// EffectReads counts as writing, EffectUnknown included.
func (e Effect) MayWrite() bool { return e != EffectReads }

// Effect returns what a call of the seam does. A storage obligation that fetches or refreshes
// reads; one that stores, mutates or deletes writes. The effect of every other seam is unknown: the
// path of a tool's seam does not identify the tool, whose effect Tool.Effect gives.
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
