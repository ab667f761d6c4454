package wanted

import (
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
)

// Write is what somebody was called for who changes something for it.
type Write struct {
	By, What string // who, and a JSON text
	Key      string // an idempotency key beside it
}

// Writing reads the crossings of a run, in their order, for what it asks others to write.
type Writing struct{ aborted bool }

// Take gives what a crossing asks somebody to write. An aborted turn asks only for what undoes.
func (r *Writing) Take(x *adk.Crossing) (w Write, writes bool) {
	switch x.Kind {
	case adk.KindCancel:
		r.aborted = true
	case adk.KindAsk:
		if x.Phase == adk.Begin && x.Status == string(adk.EffectWrites) && (!r.aborted || x.Flag) {
			return Write{"ask " + x.Name, string(x.JSON), x.Key}, true
		}
	}
	return Write{}, false
}

// IDs are those that were made in a run, by which an attempt tells itself apart from another. The zero
// value has none.
type IDs struct {
	all  []string
	gone *strings.Replacer // nil where an id came since
}

// Take takes in what a crossing makes.
func (ids *IDs) Take(x *adk.Crossing) {
	if x.Kind.Names(adk.MadeID) && x.Name != "" {
		ids.all, ids.gone = append(ids.all, x.Name), nil
	}
}

// Apart parts a write. general is what each attempt at it has in common: all of it but for ids and
// idempotency keys. Who is asked takes two for one where what sets them apart is the same too, and
// where that is empty never.
func (ids *IDs) Apart(w Write) (general, one string) {
	if ids.gone == nil {
		slices.SortFunc(ids.all, func(a, b string) int { return len(b) - len(a) }) // one may begin with another
		pairs := make([]string, 0, 2*len(ids.all))
		for _, id := range ids.all {
			pairs = append(pairs, id, "")
		}
		ids.gone = strings.NewReplacer(pairs...)
	}
	what := ids.gone.Replace(w.What)
	general = w.By + httpform.WithoutKeys(what)
	if what != w.What || w.Key != "" || httpform.HasKey(w.What) {
		one = w.What + "\n" + w.Key
	}
	return general, one
}
