package trace

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// formerDigests has the digests of states that an earlier version of the format has in the
// place of today's, and the other way round. What is no digest of the state that the
// crossings before it lead to stays as it is: it differs in any version.
type formerDigests struct{ fold *state.Fold }

// formerIn is what a trace of a version needs; nil where its digests are today's.
func formerIn(version int) *formerDigests {
	if wire.HasSums(version) {
		return nil
	}
	return &formerDigests{state.New()}
}

// read puts today's digest into a crossing that was read.
func (f *formerDigests) read(x *adk.Crossing) {
	if f == nil {
		return
	}
	if x.Kind.Uses(adk.FieldDigest) && x.Digest == f.fold.FormerDigest(x.Call) {
		x.Digest = f.fold.Digest(x.Call)
	}
	_ = f.fold.Apply(x) // whether an engine tells it is asked elsewhere
}

// written is a crossing with the digest of then.
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
