package wanted

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// Write is a change that is asked of somebody.
type Write struct {
	By, What string // who is asked or called, and for what: a JSON text
	Key      string // an idempotency key next to the request
}

// Writing reads the crossings of a run, in their order, for the writes that it asks for.
type Writing struct{ aborted bool }

// Take returns the write that a crossing asks for, and whether it asks for one that must not be
// done twice. After an abort only asks that are made on purpose count, such as those that undo
// something.
func (r *Writing) Take(x *adk.Crossing) (w Write, writes bool) {
	switch x.Kind {
	case adk.KindCancel:
		r.aborted = true
	case adk.KindAsk:
		if x.Phase == adk.Begin && x.Status == string(adk.EffectWrites) && (!r.aborted || x.Flag) && !httpform.RepeatsSafely(x.JSON) {
			return Write{"ask " + x.Name, string(x.JSON), x.Key}, true
		}
	}
	return Write{}, false
}

// IDs holds the ids that were made in a run. They may be all that distinguishes one attempt from
// another. The zero value is empty.
type IDs struct {
	at     map[string]int // the crossings that made them
	marked *strings.Replacer
}

// Take records the id that a crossing makes.
func (ids *IDs) Take(x *adk.Crossing) {
	if !x.Kind.Names(adk.MadeID) || x.Name == "" {
		return
	}
	if ids.at == nil {
		ids.at = map[string]int{}
	}
	ids.at[x.Name], ids.marked = x.Seq, nil
}

// Parts are the parts of a write.
type Parts struct {
	// General is what all attempts at the write have in common: everything except ids and
	// idempotency keys. A key that is given next to the request is left out of the request too,
	// whatever its name.
	General string
	// One is the whole write: whoever is asked takes two writes for one if it is equal. It is empty
	// if the write has no ids and no key, so that nobody can recognize a repetition.
	One string
	// IDs are the ids in the write, in their order. Latest is the crossing that made the last of
	// them; zero if there are none.
	IDs    string
	Latest int
}

// Apart splits a write into its parts.
func (ids *IDs) Apart(w Write) (p Parts) {
	what, in, latest := ids.without(w.What)
	key, beside, later := ids.without(w.Key)
	p = Parts{General: w.By + withoutKey(httpform.WithoutKeys(what), key), IDs: in + "\n" + beside, Latest: max(latest, later)}
	if what != w.What || w.Key != "" || httpform.HasKey(w.What) {
		p.One = w.What + "\n" + w.Key
	}
	return p
}

// withoutKey removes a key from a JSON request, also from a body that is itself a text, for
// comparison. A request with nothing else in it is returned unchanged: its key may be what it is
// about, such as the order to cancel.
func withoutKey(request, key string) string {
	if key == "" {
		return request
	}
	quoted := quotedIn(key)
	inText := quotedIn(quoted)
	inText = inText[1 : len(inText)-1]
	rest := strings.NewReplacer(quoted, `""`, inText, `\"\"`).Replace(request)
	if !strings.ContainsFunc(names.ReplaceAllString(rest, ""), func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
		return request
	}
	return rest
}

// quotedIn returns a text as it is written in JSON.
func quotedIn(text string) string {
	quoted, _ := unescaped.Marshal(text) // a text can always be marshaled
	return string(quoted)
}

// names matches the names of members.
var names = regexp.MustCompile(`"(?:[^"\\]|\\.)*"\s*:`)

// mark does not occur in JSON text.
const mark = "\x00"

// without returns a text without its ids, the ids, and the crossing of the latest one.
func (ids *IDs) without(text string) (rest, in string, latest int) {
	if ids.marked == nil {
		all := slices.SortedFunc(maps.Keys(ids.at), func(a, b string) int { return len(b) - len(a) }) // one id may be the beginning of another
		var pairs []string
		for _, id := range all {
			pairs = append(pairs, id, mark+id+mark)
		}
		ids.marked = strings.NewReplacer(pairs...)
	}
	for i, part := range strings.Split(ids.marked.Replace(text), mark) {
		if i%2 == 0 {
			rest += part
			continue
		}
		in, latest = in+part+"\n", max(latest, ids.at[part])
	}
	return rest, in, latest
}
