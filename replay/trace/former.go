package trace

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// formerDigests translates between the state digests of an earlier format version and those of
// today. A digest that does not match the state to which the crossings before it lead stays
// unchanged: it is wrong in every version.
type formerDigests struct{ fold *state.Fold }

// formerIn returns the translator that a trace of the given version needs, or nil if its digests
// are computed as today.
func formerIn(version int) *formerDigests {
	if wire.HasSums(version) {
		return nil
	}
	return &formerDigests{state.New()}
}

// read replaces the digest of a crossing that was read by today's.
func (f *formerDigests) read(x *adk.Crossing) {
	if f == nil {
		return
	}
	if x.Kind.Uses(adk.FieldDigest) && x.Digest == f.fold.FormerDigest(x.Call) {
		x.Digest = f.fold.Digest(x.Call)
	}
	_ = f.fold.Apply(x) // other code checks whether an engine can emit x
}

// written returns x with the digest of the earlier version. It copies x if the digest changes.
func (f *formerDigests) written(x *adk.Crossing) *adk.Crossing {
	if f == nil {
		return x
	}
	if x.Kind.Uses(adk.FieldDigest) && x.Digest == f.fold.Digest(x.Call) {
		then := *x
		then.Digest = f.fold.FormerDigest(x.Call)
		x = &then
	}
	_ = f.fold.Apply(x)
	return x
}
