package redacting

import (
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// Texts removes secrets from texts that do not belong to traces. The same secret has the same
// placeholder in all of them. Texts is safe for concurrent use.
type Texts struct {
	rules    *Compiled
	mu       sync.Mutex
	numbered map[string]int // the number of each secret
}

// NewTexts returns a Texts that has numbered no secrets yet.
func NewTexts(rules *Compiled) *Texts { return &Texts{rules: rules, numbered: map[string]int{}} }

// Text returns a text without what the patterns find in it. If a path rule covers the path, it
// returns a placeholder for the whole text.
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

// Covers reports whether a path rule covers everything under a path.
func (rules *Compiled) Covers(path ...string) bool { return rules.covering(path) != "" }

// covering returns the kind of the first rule that covers a path or a prefix of it, or "" for none.
// The names of the path must be in lower case.
func (rules *Compiled) covering(path []string) string {
	for n := range path {
		if kind := rules.kindOf(path[:n+1]); kind != "" {
			return kind
		}
	}
	return ""
}
