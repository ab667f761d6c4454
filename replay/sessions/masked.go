package sessions

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// This file is what redaction means for a journal: which texts of a step it takes secrets out
// of, and how what is left of them is held against the traces, each of which has numbers of
// its own.

// masks takes secrets out of steps. Nil leaves them as they are, as does one without texts: then
// they were taken out before.
type masks struct {
	texts *redacting.Texts
	// numbering names whose numbers the placeholders have: journals of one numbering have the
	// same for the same secret. Empty is that of a process with one recorder for all its hosts.
	numbering string
}

// newMasks are those of rules; nil without rules.
func newMasks(rules *redact.Rules) (*masks, error) {
	if rules == nil {
		return nil, nil
	}
	compiled, err := redacting.Compile(rules)
	if err != nil {
		return nil, err
	}
	if compiled.Covers("stash", "session", "seed") {
		return nil, errors.New("sessions: RecordOptions.Redact: a path takes out session.seed, without which a trace is of no session's turn: want a path that names what is secret below session, such as session.auth")
	}
	return &masks{texts: redacting.NewTexts(compiled)}, nil
}

// of numbers on behalf of a host.
func (m *masks) of(host string) *masks {
	if m == nil {
		return nil
	}
	return &masks{m.texts, m.texts.Text(host)}
}

// step is a step without secrets. Digests and words of the format stay, as in traces.
func (m *masks) step(s session.Step) session.Step {
	if m == nil || m.texts == nil {
		return s
	}
	for _, text := range []*string{&s.Host, &s.Tenant, &s.Session, &s.Delivery, &s.Turn} {
		*text = m.texts.Text(*text)
	}
	s.Keys = each(s.Keys, func(key string) string { // which is a name a level in a trace
		return strings.Join(each(strings.Split(key, "."), func(name string) string { return m.texts.Text(name) }), ".")
	})
	s.Records = each(s.Records, m.record)
	return s
}

// record is how a commit says a record, without secrets: its key is the id that the record has
// in a trace.
func (m *masks) record(text string) string {
	what, digest := recordOf(text)
	name, key, _ := strings.Cut(what, " ")
	path := []string{"key"}
	if held := adk.CollectionName(collectionOf(what)).Holds(); held != "" && !strings.HasSuffix(name, ".delete") {
		path = []string{"record", strings.ToLower(string(held)), "id"}
	}
	text = name + " " + m.texts.Text(key, path...)
	if digest != "" {
		text += " " + digest
	}
	return text
}

// each is a list with another text for each, and nil for nil.
func each(list []string, to func(string) string) (other []string) {
	for _, text := range list {
		other = append(other, to(text))
	}
	return other
}

// isMasked reports whether a value has what stands for a secret in a redacted trace, whose
// digest nobody can compare.
func isMasked[Text ~string | ~[]byte](text Text) bool {
	return wire.Placeholder.MatchString(string(text))
}

// isWhollyMasked reports whether nothing is left of a value but what stands for it: it has no
// version any more, and is no JSON.
func isWhollyMasked(raw json.RawMessage) bool {
	return wire.Placeholder.FindString(string(raw)) == string(raw) && len(raw) > 0
}

// isNumberedApart reports whether nobody knows which session is which of those whose names are
// redacted: several have numbered them, each by itself.
func (j *Journal) isNumberedApart() bool {
	first := -1
	for i := range j.Steps {
		if !isMaskedSession(j.Steps[i].SessionID) {
			continue
		}
		if first < 0 {
			first = i
		}
		if j.placeOf(i).numbering != j.placeOf(first).numbering {
			return true
		}
	}
	return false
}

// sameKeys reports whether a journal and a trace may say the same keys, each in the order of
// how it says them.
func sameKeys(told, left []string) bool {
	sorted := func(keys []string) []string {
		return slices.SortedStableFunc(slices.Values(keys), func(a, b string) int {
			return strings.Compare(wire.Placeholder.ReplaceAllString(a, ""), wire.Placeholder.ReplaceAllString(b, ""))
		})
	}
	return slices.EqualFunc(sorted(told), sorted(left), sameTold)
}

// isMaskedSession reports whether the name of a session was redacted.
func isMaskedSession(id session.SessionID) bool { return isMasked(id.Tenant) || isMasked(id.Session) }

// sameTold reports whether two texts, of a journal and a trace, may be of one: what is redacted
// in one of them may be any text, since each numbers by itself, and a path may have found it
// in the trace alone.
func sameTold(a, b string) bool { return a == b || mayBe(a, b) || mayBe(b, a) }

// mayBe reports whether a text is another where that has placeholders.
func mayBe(masked, text string) bool {
	parts := wire.Placeholder.Split(masked, -1)
	rest, begins := strings.CutPrefix(text, parts[0])
	if !begins || len(parts) == 1 {
		return begins && rest == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		if rest == "" {
			return false
		}
		at := strings.Index(rest[1:], part)
		if at < 0 {
			return false
		}
		rest = rest[1+at+len(part):]
	}
	return len(rest) > len(parts[last]) && strings.HasSuffix(rest, parts[last])
}
