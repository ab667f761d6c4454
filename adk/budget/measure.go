package budget

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// Package adk has no ranks for these encodings and estimates them by the length of a text. A
// Counter can count them exactly.
const (
	EncodingGemini adk.Encoding = "gemini"
	EncodingLlama2 adk.Encoding = "llama2"
)

// Encodings returns the encodings that can be used without a Counter (TOK-4).
func Encodings() []adk.Encoding {
	return append(exactEncodings(), EncodingGemini, EncodingLlama2, adk.EncodingClaude)
}

// exactEncodings returns the encodings that package adk counts exactly.
func exactEncodings() []adk.Encoding {
	return []adk.Encoding{
		adk.EncodingGPT2, adk.EncodingR50kBase, adk.EncodingP50kBase, adk.EncodingP50kEdit, adk.EncodingCL100kBase, adk.EncodingO200kBase,
	}
}

// Counter counts the tokens of a text. known is false if it does not know the encoding; exact is
// false for an estimate. A Counter must be a pure function, because one measuring calls it only
// once for each text and encoding (TOK-3). A negative count is ignored, as if the encoding were
// unknown.
type Counter func(text string, encoding adk.Encoding) (n int, exact, known bool)

// Usage is how many tokens a prompt counts, part by part.
type Usage struct {
	Encoding             adk.Encoding
	SystemPrompt         int
	StandingInstructions int
	Memories             int
	Retrievables         int
	Timeline             int
	// Exact reports whether every text was counted exactly.
	Exact bool
}

// Total is the sum of the parts.
func (u Usage) Total() int {
	return u.SystemPrompt + u.StandingInstructions + u.Memories + u.Retrievables + u.Timeline
}

// PerBucket returns the parts by name, as logs and messages have them.
func (u Usage) PerBucket() map[string]any {
	return map[string]any{
		"systemPrompt": u.SystemPrompt, "standingInstructions": u.StandingInstructions,
		"memories": u.Memories, "retrievables": u.Retrievables, "timeline": u.Timeline,
	}
}

// Measure counts what a view holds: the texts of its records as they are, all thoughts, whether
// they are shown or not, and the results of its tool calls as rendered (prompt.Assembly.Results),
// by call id (BUD-2). All of it counts, whatever the order in which the buckets are sent, and even
// if they are not sent at all (BUD-3). With a nil counter, adk.EstimateTokens counts everything.
func Measure(view prompt.View, results map[string]prompt.Content, encoding adk.Encoding, counter Counter) Usage {
	return measured(view, results, encoding, counter).usage
}

// figures are a usage, and the counts of the single records that can be shed.
type figures struct {
	usage                            Usage
	retrievables, memories, messages []int
}

func measured(view prompt.View, results map[string]prompt.Content, encoding adk.Encoding, counter Counter) figures {
	m := newMeter(encoding, counter)
	f := figures{usage: Usage{Encoding: encoding, SystemPrompt: m.text(view.SystemPrompt)}}
	for _, text := range view.Instructions {
		f.usage.StandingInstructions += m.text(text)
	}
	f.memories = make([]int, len(view.Memories))
	for i, memory := range view.Memories {
		f.memories[i] = m.record(memory.Content())
		f.usage.Memories += f.memories[i]
	}
	f.retrievables = make([]int, len(view.Retrievables))
	for i, r := range view.Retrievables {
		f.retrievables[i] = m.record(r.Content())
		f.usage.Retrievables += f.retrievables[i]
	}
	f.messages = make([]int, len(view.Messages))
	for i, message := range view.Messages {
		f.messages[i] = m.record(message.Content())
		f.usage.Timeline += f.messages[i]
	}
	for _, thought := range view.Thoughts {
		f.usage.Timeline += m.record(thought.Content())
	}
	for _, call := range view.ToolCalls {
		f.usage.Timeline += m.text(results[call.ID()].Texts())
	}
	f.usage.Exact = m.exact
	return f
}

// meter counts texts in one encoding.
type meter struct {
	encoding adk.Encoding
	counter  Counter
	counts   map[string]int // of texts that the counter has counted
	ours     bool           // whether adk counts the encoding exactly
	exact    bool           // whether all were counted exactly so far
}

func newMeter(encoding adk.Encoding, counter Counter) *meter {
	return &meter{encoding: encoding, counter: counter, counts: map[string]int{}, ours: slices.Contains(exactEncodings(), encoding), exact: true}
}

// record counts the text of a record, nil for none. Without a counter, the record itself caches the
// count.
func (m *meter) record(text *adk.Tokenizable) int {
	if text == nil {
		return 0
	}
	if m.counter != nil {
		return m.text(text.String())
	}
	m.exact = m.exact && m.ours
	return text.EstimateTokens(m.encoding)
}

func (m *meter) text(text string) int {
	if text == "" {
		return 0
	}
	if n, met := m.counts[text]; met {
		return n
	}
	n, exact := m.count(text)
	m.exact = m.exact && exact
	if m.counter != nil {
		m.counts[text] = n
	}
	return n
}

func (m *meter) count(text string) (n int, exact bool) {
	if m.counter != nil {
		if n, exact, known := m.counter(text, m.encoding); known && n >= 0 {
			return n, exact
		}
	}
	return adk.EstimateTokens(text, m.encoding), m.ours
}
