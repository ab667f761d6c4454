package state

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/ordered"
)

// ShownTokens counts the tokens of what an executor can put into a prompt. It counts each record
// only once, and for a view that grows it examines only what is new. NewShownTokens makes one.
type ShownTokens struct {
	encoding adk.Encoding
	worth    map[adk.Record]int // tokens of records, each counted once
	of       *View              // the view that was counted last
	sets     [sets]shownSet
}

// shownSet holds the running totals of a set that was counted: up[i] is the number of tokens of the
// first i+1 records at the moment asked.
type shownSet struct {
	up    []int
	asked ordered.Moment
}

// NewShownTokens returns a counter for an encoding; "" means adk.EncodingO200kBase.
func NewShownTokens(encoding adk.Encoding) *ShownTokens {
	return &ShownTokens{encoding: encoding, worth: map[adk.Record]int{}}
}

// Of returns the number of tokens of the prompt, the instructions and the texts of all records of a
// view.
func (s *ShownTokens) Of(v *View) int {
	if s.of != v {
		s.of, s.sets = v, [sets]shownSet{}
	}
	tokens := v.SystemPrompt.EstimateTokens(s.encoding)
	for i := range v.Sets {
		tokens += s.ofSet(&s.sets[i], &v.Sets[i])
	}
	return tokens
}

func (s *ShownTokens) ofSet(shown *shownSet, set *ordered.Set[string, adk.Record]) (tokens int) {
	now, same := set.Since(shown.asked)
	shown.asked, shown.up = now, shown.up[:min(same, len(shown.up))]
	if n := len(shown.up); n > 0 {
		tokens = shown.up[n-1]
	}
	for i := len(shown.up); i < set.Len(); i++ {
		tokens += s.record(set.At(i))
		shown.up = append(shown.up, tokens)
	}
	return tokens
}

func (s *ShownTokens) record(record adk.Record) int {
	tokens, known := s.worth[record]
	if !known {
		for _, text := range textsOf(record) {
			tokens += text.EstimateTokens(s.encoding)
		}
		s.worth[record] = tokens
	}
	return tokens
}

// textsOf returns the texts of a record that a model may read.
func textsOf(record adk.Record) []*adk.Tokenizable {
	switch r := record.(type) {
	case interface{ Content() *adk.Tokenizable }:
		if text := r.Content(); text != nil {
			return []*adk.Tokenizable{text}
		}
	case *adk.Tokenizable:
		return []*adk.Tokenizable{r}
	case *adk.ToolCall:
		return toolCallTexts(r)
	}
	return nil
}

func toolCallTexts(call *adk.ToolCall) []*adk.Tokenizable {
	args, _ := canonical.Marshal(call.Args())
	texts := []*adk.Tokenizable{adk.NewTokenizable(call.Tool()), adk.NewTokenizable(string(args))}
	if text, ok := call.Results().(*adk.Tokenizable); ok {
		texts = append(texts, text)
	}
	return texts
}
