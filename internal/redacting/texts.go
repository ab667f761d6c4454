package redacting

import (
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// Texts takes secrets out of texts that stand alone, outside of traces: the same secret has
// the same placeholder in all of them. It is safe for concurrent use.
type Texts struct {
	rules    *Compiled
	mu       sync.Mutex
	numbered map[string]int // of each secret
}

// NewTexts begins anew with numbers.
func NewTexts(rules *Compiled) *Texts { return &Texts{rules: rules, numbered: map[string]int{}} }

// Text is a text without what the patterns find in it, and all of it a placeholder where a
// path covers it.
func (t *Texts) Text(text string, path ...string) string {
	if text == "" {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if kind := t.rules.covering(path); kind != "" {
		return t.placeholder(kind, text)
	}
	var b strings.Builder
	end := 0
	for _, s := range newRedactor(t.rules).spans(text) {
		b.WriteString(text[end:s.From])
		b.WriteString(t.placeholder(s.Kind, text[s.From:s.To]))
		end = s.To
	}
	return b.String() + text[end:]
}

func (t *Texts) placeholder(kind, secret string) string {
	n, known := t.numbered[secret]
	if !known {
		n = len(t.numbered) + 1
		t.numbered[secret] = n
	}
	return wire.PlaceholderOf(kind, n)
}

// Covers reports whether a path rule takes out all that lies under a path.
func (rules *Compiled) Covers(path ...string) bool { return rules.covering(path) != "" }

// covering is the kind of the first rule that says something of a place on the way along a
// path, whose names are in lower case; empty for none.
func (rules *Compiled) covering(path []string) string {
	for n := range path {
		if kind := rules.kindOf(path[:n+1]); kind != "" {
			return kind
		}
	}
	return ""
}
