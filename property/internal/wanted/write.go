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

// Write is what somebody was called for who changes something for it.
type Write struct {
	By, What string // who, and a JSON text
	Key      string // an idempotency key beside it
}

// Writing reads the crossings of a run, in their order, for what it asks others to write.
type Writing struct{ aborted bool }

// Take gives what a crossing asks somebody to write, who may do it twice. An aborted turn asks only
// for what undoes.
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

// IDs are those that were made in a run, by which an attempt tells itself apart from another. The zero
// value has none.
type IDs struct {
	at     map[string]int // the crossings that made them
	marked *strings.Replacer
}

// Take takes in what a crossing makes.
func (ids *IDs) Take(x *adk.Crossing) {
	if !x.Kind.Names(adk.MadeID) || x.Name == "" {
		return
	}
	if ids.at == nil {
		ids.at = map[string]int{}
	}
	ids.at[x.Name], ids.marked = x.Seq, nil
}

// Parts are those of a write.
type Parts struct {
	// General is what each attempt at it has in common: all of it but for ids and idempotency keys,
	// under whatever name a request has the key that is said beside it.
	General string
	// One is all of it: who is asked takes two for one where that is the same. It is empty where
	// nothing sets them apart, who is asked never knows then.
	One string
	// IDs are those in it, in their order, and Latest is the crossing that made the last of them;
	// zero where there are none.
	IDs    string
	Latest int
}

// Apart parts a write.
func (ids *IDs) Apart(w Write) (p Parts) {
	what, in, latest := ids.without(w.What)
	key, beside, later := ids.without(w.Key)
	p = Parts{General: w.By + withoutKey(httpform.WithoutKeys(what), key), IDs: in + "\n" + beside, Latest: max(latest, later)}
	if what != w.What || w.Key != "" || httpform.HasKey(w.What) {
		p.One = w.What + "\n" + w.Key
	}
	return p
}

// withoutKey is a request, as JSON, without the texts in it that are the key beside it, in a body that
// is a text as well: to be compared. One that has nothing else in it is left as it is, since what it is
// about may be its key, as the order is that is called off.
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

// quotedIn is a text as it stands in JSON.
func quotedIn(text string) string {
	quoted, _ := unescaped.Marshal(text) // a text always has a JSON
	return string(quoted)
}

// names are those of members.
var names = regexp.MustCompile(`"(?:[^"\\]|\\.)*"\s*:`)

// mark is what no text has that is JSON.
const mark = "\x00"

// without is a text without its ids, and these.
func (ids *IDs) without(text string) (rest, in string, latest int) {
	if ids.marked == nil {
		all := slices.SortedFunc(maps.Keys(ids.at), func(a, b string) int { return len(b) - len(a) }) // one may begin with another
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
