// Package likeness says how much two requests have in common, so that a changed one can be
// held against the recorded one that it most likely was.
package likeness

import (
	"encoding/json"
	"strings"

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

// Words are the words of a request, and how many there are.
type Words struct {
	count map[string]int
	all   int
}

// Alike is the part of the words of two requests that are in both: 1 for the same.
func Alike(a, b *Words) float64 {
	if a.all+b.all == 0 {
		return 1
	}
	both := 0
	for word, n := range a.count {
		both += min(n, b.count[word])
	}
	return 2 * float64(both) / float64(a.all+b.all)
}

// AtMost is what Alike is at most, as far as the numbers of words say.
func AtMost(a, b *Words) float64 {
	if a.all+b.all == 0 {
		return 1
	}
	return 2 * float64(min(a.all, b.all)) / float64(a.all+b.all)
}

// wordsOf counts the words of a request, each with the member that it stands in, and
// all other values. It goes through the request once.
func wordsOf(request json.RawMessage) *Words {
	words := &Words{count: map[string]int{}}
	add := func(word string) {
		words.count[word]++
		words.all++
	}
	var value any
	if json.Unmarshal(request, &value) != nil {
		add(string(request))
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
				add(name + "=" + word)
			}
		default:
			text, _ := json.Marshal(value)
			add(name + "=" + string(text))
		}
	}
	walk("", value)
	return words
}
