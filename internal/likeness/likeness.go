// Package likeness says how much two requests have in common, so that a changed one can be
// held against the recorded one that it most likely was.
package likeness

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/adkreplay/adkreplay/adk"
)

// Likeness is what an ask is compared by with another one that may answer it: who is
// asked, of a request over HTTP its method and path, and the words of the request.
type Likeness struct {
	Of, Method, Path string
	Words            *Words
}

// Of is what an ask is compared by.
func Of(x *adk.Crossing) *Likeness {
	var request struct{ Method, Path string }
	_ = json.Unmarshal(x.JSON, &request) // what is no object has neither
	return &Likeness{x.Name, request.Method, request.Path, wordsOf(x.JSON)}
}

// AsksAt reports whether two requests ask by the same method on the same path, or outside HTTP. The
// model that some servers have in the path is what is asked there, and no part of where.
func (l *Likeness) AsksAt(other *Likeness) bool {
	if l.Method != other.Method || l.Path == other.Path {
		return l.Method == other.Method
	}
	return slices.ContainsFunc(beforeModels, func(folder string) bool {
		one, other := withoutModel(l.Path, folder), withoutModel(other.Path, folder)
		return one != "" && one == other
	})
}

// beforeModels are the folders in which servers have their models: /v1beta/models/flash:generateContent,
// /openai/deployments/small/chat/completions, /model/small/invoke.
var beforeModels = []string{"/models/", "/deployments/", "/model/"}

// withoutModel is a path without what follows a folder; empty where it does not have that.
func withoutModel(path, folder string) string {
	before, behind, _ := strings.Cut(path, folder)
	if end := strings.IndexAny(behind, "/:"); end >= 0 {
		return before + folder + behind[end:]
	}
	return ""
}

// Words are the words of a request, and how many there are. An id that was made at random is
// another one in the next request like it, and so counts where both have the same, and else not.
type Words struct {
	count, ids map[string]int
	all, allID int
}

// Alike is the part of the words of two requests that are in both: 1 for the same.
func Alike(a, b *Words) float64 {
	return part(inBoth(a.count, b.count), inBoth(a.ids, b.ids), a, b)
}

// AtMost is what Alike is at most, as far as the numbers of words say.
func AtMost(a, b *Words) float64 { return part(min(a.all, b.all), min(a.allID, b.allID), a, b) }

// part is which part of the words of two requests so many are, and so many ids.
func part(words, ids int, a, b *Words) float64 {
	if all := a.all + b.all + 2*ids; all > 0 {
		return 2 * float64(words+ids) / float64(all)
	}
	return 1
}

func inBoth(a, b map[string]int) (both int) {
	for word, n := range a {
		both += min(n, b[word])
	}
	return both
}

// Parts are the words of a short request taken to pieces: a key such as cache:docs:login is one
// word, and another key none of it, though they have most in common. It is nil of a request that
// has more than a few words, of which some are the same where it was changed.
func Parts(request json.RawMessage) *Words {
	if wordsOf(request).all > few {
		return nil
	}
	return countIn(request, func(words *Words, name, word string) {
		for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			words.add(name, part)
		}
	})
}

// few is how many words a short request has at most.
const few = 4

// RandomID finds the UUIDs that are made at random, in full or but for their time: versions 4 and 7.
var RandomID = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)

// SameButForIDs reports whether two requests say the same, but for such ids: these are others in
// each run. Of two that differ elsewhere it reads no further than there.
func SameButForIDs(a, b json.RawMessage) bool {
	if len(a) != len(b) {
		return false
	}
	for at := 0; at < len(a); at++ {
		if a[at] == b[at] {
			continue
		}
		end := endOfID(a, at)
		if end == 0 || end != endOfID(b, at) {
			return false
		}
		at = end - 1
	}
	return true
}

// endOfID is where the id ends that a place of a text is in; 0 where it is in none.
func endOfID(text []byte, at int) int {
	from := max(0, at-sizeOfID+1)
	for _, id := range RandomID.FindAllIndex(text[from:min(len(text), at+sizeOfID)], -1) {
		if from+id[0] <= at && at < from+id[1] {
			return from + id[1]
		}
	}
	return 0
}

const (
	sizeOfID    = 36
	hyphensOfID = 4
)

// withoutIDs counts the ids of a word, and gives what is left of it.
func (w *Words) withoutIDs(name, word string) string {
	if len(word) < sizeOfID || strings.Count(word, "-") < hyphensOfID {
		return word
	}
	return RandomID.ReplaceAllStringFunc(word, func(id string) string {
		w.ids[name+"="+id]++
		w.allID++
		return ""
	})
}

// wordsOf counts the words of a request, each with the member that it stands in, and
// all other values. It goes through the request once.
func wordsOf(request json.RawMessage) *Words { return countIn(request, (*Words).add) }

// add counts a word; what had nothing but ids in it is none.
func (w *Words) add(name, word string) {
	if word != "" {
		w.count[name+"="+word]++
		w.all++
	}
}

// countIn is wordsOf with what counts a word of a text.
func countIn(request json.RawMessage, add func(words *Words, name, word string)) *Words {
	words := &Words{count: map[string]int{}, ids: map[string]int{}}
	var value any
	if json.Unmarshal(request, &value) != nil {
		words.add("", string(request))
		return words
	}
	var walk func(name string, value any)
	walk = func(name string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, member := range value {
				walk(name, member)
			}
		case []any:
			for _, element := range value {
				walk(name, element)
			}
		case string:
			for word := range strings.FieldsSeq(value) {
				add(words, name, words.withoutIDs(name, word))
			}
		default:
			text, _ := json.Marshal(value)
			words.add(name, string(text))
		}
	}
	walk("", value)
	return words
}
