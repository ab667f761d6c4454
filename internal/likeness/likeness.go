// Package likeness measures how much two requests have in common, so that a changed request can be
// matched with the recorded one that it most likely was.
package likeness

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/adkreplay/adkreplay/adk"
)

// Likeness is what an ask is compared by with another one that may answer it: whom it asks, the
// method and path of a request over HTTP, and the words of the request.
type Likeness struct {
	Of, Method, Path string
	Words            *Words
}

// Of returns the likeness of an ask.
func Of(x *adk.Crossing) *Likeness {
	var request struct{ Method, Path string }
	_ = json.Unmarshal(x.JSON, &request) // a request that is not an object has neither
	return &Likeness{x.Name, request.Method, request.Path, wordsOf(x.JSON)}
}

// AsksAt reports whether two requests use the same method and path, or neither is a request over
// HTTP. Some servers have the model in the path; the model is part of what is asked and is ignored
// here.
func (l *Likeness) AsksAt(other *Likeness) bool {
	if l.Method != other.Method || l.Path == other.Path {
		return l.Method == other.Method
	}
	return slices.ContainsFunc(beforeModels, func(folder string) bool {
		one, other := withoutModel(l.Path, folder), withoutModel(other.Path, folder)
		return one != "" && one == other
	})
}

// beforeModels are the path segments after which servers have the model:
// /v1beta/models/flash:generateContent, /openai/deployments/small/chat/completions,
// /model/small/invoke.
var beforeModels = []string{"/models/", "/deployments/", "/model/"}

// withoutModel returns a path without the segment after folder, or "" if the path does not contain
// folder followed by such a segment.
func withoutModel(path, folder string) string {
	before, behind, _ := strings.Cut(path, folder)
	if end := strings.IndexAny(behind, "/:"); end >= 0 {
		return before + folder + behind[end:]
	}
	return ""
}

// Words counts the words of a request. A random id differs in the next similar request; therefore
// an id counts only if both requests have it.
type Words struct {
	count, ids map[string]int
	all, allID int
}

// Alike returns the fraction of the words of two requests that both have: 1 for equal requests.
func Alike(a, b *Words) float64 {
	return part(inBoth(a.count, b.count), inBoth(a.ids, b.ids), a, b)
}

// AtMost returns an upper bound of Alike that depends only on the numbers of words.
func AtMost(a, b *Words) float64 { return part(min(a.all, b.all), min(a.allID, b.allID), a, b) }

// part returns which fraction of the words of two requests the given numbers of common words and
// ids are.
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

// Parts returns the words of a short request, split into their parts. A key such as
// cache:docs:login is a single word and differs entirely from another key, although most of their
// parts are equal. Parts returns nil for a request with more than a few words, since enough of its
// whole words stay the same when it changes.
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

// few is the largest number of words of a short request.
const few = 4

// RandomID matches random UUIDs: version 4, which is all random, and version 7, which begins with a
// time.
var RandomID = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)

// SameButForIDs reports whether two requests are equal except for random UUIDs, which differ in
// each run. It stops reading at the first other difference.
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

// endOfID returns the end of the id that contains a position of a text, or 0 if there is none.
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

// withoutIDs counts the ids in a word and returns the word without them.
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

// wordsOf counts the words of a request, each together with the name of its member, and all other
// values. It walks the request once.
func wordsOf(request json.RawMessage) *Words { return countIn(request, (*Words).add) }

// add counts a word, unless it is empty because it consisted of ids.
func (w *Words) add(name, word string) {
	if word != "" {
		w.count[name+"="+word]++
		w.all++
	}
}

// countIn walks a request and calls add for each word of its texts.
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
