package property

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/forging"
)

// bodiesAsMarked: the bytes that are read of an artifact have the hash in its mark, or the reading
// fails (ART-23). A mark without a hash is not checked.
type bodiesAsMarked struct {
	hashes map[int]string // hashes in the marks, by operations that are not done
}

func (w *bodiesAsMarked) see(s *history, x *adk.Crossing) {
	if x.Phase == adk.Begin {
		media, _ := x.Record.(*adk.Media)
		if media == nil {
			return
		}
		mark, _ := media.Stashed(forging.StashKey)
		if hash, hashed := forging.HashOf(mark.Value); hashed {
			put(&w.hashes, x.Op, hash)
		}
		return
	}
	data, read := x.Value.([]byte)
	hash, marked := w.hashes[x.Op]
	delete(w.hashes, x.Op)
	if !read || !marked || s.op == nil {
		return
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
		s.breaks(since(s.op.began), "what was read of an artifact is not what its mark says")
	}
}

// questionsChangeNothing: within the call of a forged tool, or below it, nothing is stored and no
// set is changed (ART-26).
type questionsChangeNothing struct {
	asked map[int]bool // executions of forged tools, by operation
}

func (w *questionsChangeNothing) see(s *history, x *adk.Crossing) {
	if x.Kind.LeadsTo() == adk.LabelTool {
		if tool, _ := x.Record.(*adk.Tool); tool != nil && forging.IsForged(tool) {
			put(&w.asked, x.Op, true)
		}
		return
	}
	for c := s.at; c != nil && len(w.asked) > 0; c = c.parent {
		if c.op != nil && w.asked[c.op.number] {
			s.breaks(since(c.began), "a question to an artifact makes a %s", x.Kind)
			return
		}
	}
}
