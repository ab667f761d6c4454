package oracle

import (
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property/turn"
)

// halfKept: the connection broke in the middle of an answer, the turn was acked, and a
// message is kept that is the beginning of what the undisturbed turn keeps. It is silent
// where anybody was told, and where the text says in some way that it breaks off: then it is
// no beginning of the whole.
func halfKept(r, undisturbed *Run) (found []exhibit) {
	broke := slices.IndexFunc(r.Faults, func(f Fault) bool {
		return f.Kind == turn.AskCut || f.Kind == turn.AskCutWithin || f.Kind == turn.AskStalled
	})
	if broke < 0 || r.status != adk.StatusAck || r.cancelled > 0 || r.tells(min(r.Faults[broke].At, len(r.Crossings))) {
		return nil
	}
	whole := undisturbed.keptMessages()
	for id, x := range r.keptMessages() {
		if usual := whole[id]; usual != nil && isBeginning(textKept(x), textKept(usual)) {
			found = append(found, r.exhibit(x, "the connection broke, and message %q is kept as %s, which is the beginning of %s", id, safetext.Said(textKept(x), longestClip), safetext.Said(textKept(usual), longestClip)))
		}
	}
	return found
}

func isBeginning(of, whole string) bool {
	of = strings.TrimSpace(of)
	return of != "" && of != strings.TrimSpace(whole) && strings.HasPrefix(whole, of)
}

// keptMessages are the last writes of messages that have a text.
func (r *Run) keptMessages() map[string]*adk.Crossing {
	all := map[string]*adk.Crossing{}
	for i := range r.Crossings {
		x := &r.Crossings[i]
		if m, is := x.Record.(*adk.Message); is && x.Phase == adk.Begin && m.Content() != nil && (x.Kind == adk.KindStore || x.Kind == adk.KindMutate) {
			all[m.ID()] = x
		}
	}
	return all
}

// textKept is the text of the message that is written.
func textKept(x *adk.Crossing) string { return x.Record.(*adk.Message).Content().String() }
