package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
	"github.com/adkreplay/adkreplay/property/turn"
)

// notWhole are the faults that leave an answer incomplete or missing, and what they do. Faults with
// a successful but empty answer are not among them: code may take that for an answer.
var notWhole = map[turn.FaultKind]string{
	turn.AskCut: "the connection broke", turn.AskCutWithin: "the connection broke", turn.AskStalled: "the connection broke",
	turn.ChatRefusal: "the model refused",
	turn.AskRefused:  nobodyAnswered, turn.AskTimeout: nobodyAnswered, turn.AskDown: nobodyAnswered, turn.AskDownOne: nobodyAnswered,
	turn.AskBusy: nobodyAnswered, turn.AskFailed: nobodyAnswered, turn.AskUnavailable: nobodyAnswered, turn.AskUnauthorized: nobodyAnswered,
}

const nobodyAnswered = "there was no answer"

// halfKept finds a message or a memory that is the beginning of what the undisturbed turn keeps,
// after an answer broke off or was missing, in a turn that was acked. It is silent if the failure
// was reported to anybody. A text that says somehow that it breaks off is not the beginning of the
// whole text.
func halfKept(r, undisturbed *Run) (found []exhibit) {
	broke := slices.IndexFunc(r.Faults, func(f Fault) bool { return notWhole[f.Kind] != "" })
	if broke < 0 || r.status != adk.StatusAck || r.cancelled > 0 || r.tells(min(r.Faults[broke].At, len(r.Crossings)), undisturbed) {
		return nil
	}
	whole := undisturbed.keptTexts()
	for ref, x := range r.keptTexts() {
		if usual := whole[ref]; usual != nil && isBeginning(textOf(x.Record), textOf(usual.Record)) {
			found = append(found, r.exhibit(x, "%s, and %s is kept as %s, which is the beginning of %s", notWhole[r.Faults[broke].Kind], ref, safetext.Said(textOf(x.Record), longestClip), safetext.Said(textOf(usual.Record), longestClip)))
		}
	}
	return found
}

func isBeginning(of, whole string) bool {
	of = strings.TrimSpace(of)
	return of != "" && of != strings.TrimSpace(whole) && strings.HasPrefix(whole, of)
}

// keptTexts returns the last writes of messages and memories with a text, by kind and id.
func (r *Run) keptTexts() map[string]*adk.Crossing {
	all := map[string]*adk.Crossing{}
	for i := range r.Crossings {
		x := &r.Crossings[i]
		if x.Phase == adk.Begin && (x.Kind == adk.KindStore || x.Kind == adk.KindMutate) && textOf(x.Record) != "" {
			all[fmt.Sprintf("%s %q", x.Record.RecordKind(), wanted.Key(x))] = x
		}
	}
	return all
}
