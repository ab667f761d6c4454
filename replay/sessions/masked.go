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

// This file redacts journals: it removes secrets from the texts of steps, and compares the
// remaining texts with the traces, each of which numbers its placeholders itself.

// masks removes secrets from steps. A nil masks, or one without texts, leaves steps as they are; in
// the latter case, the secrets were removed before.
type masks struct {
	texts *redacting.Texts
	// numbering identifies who numbered the placeholders. Journals with the same numbering have the
	// same placeholder for the same secret. It is empty if a process has one recorder for all its
	// hosts.
	numbering string
}

// newMasks returns masks for rules, or nil without rules.
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

// of returns masks whose numbering is that of a host.
func (m *masks) of(host string) *masks {
	if m == nil {
		return nil
	}
	return &masks{m.texts, m.texts.Text(host)}
}

// step returns a step without secrets. It keeps digests and words of the format, as traces do.
func (m *masks) step(s session.Step) session.Step {
	if m == nil || m.texts == nil {
		return s
	}
	for _, text := range []*string{&s.Host, &s.Tenant, &s.Session, &s.Delivery, &s.Turn} {
		*text = m.texts.Text(*text)
	}
	s.Keys = each(s.Keys, func(key string) string { // a key is one name per level in a trace
		return strings.Join(each(strings.Split(key, "."), func(name string) string { return m.texts.Text(name) }), ".")
	})
	s.Records = each(s.Records, m.record)
	return s
}

// record removes secrets from a commit's text of a record. The record's key is its id in a trace.
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

// each applies a function to all texts of a list. It returns nil for an empty list.
func each(list []string, to func(string) string) (other []string) {
	for _, text := range list {
		other = append(other, to(text))
	}
	return other
}

// isMasked reports whether a value contains a placeholder, so that its digest cannot be compared.
func isMasked[Text ~string | ~[]byte](text Text) bool {
	return wire.Placeholder.MatchString(string(text))
}

// isWhollyMasked reports whether a value is nothing but a placeholder. It then has no version, and
// is not JSON.
func isWhollyMasked(raw json.RawMessage) bool {
	return wire.Placeholder.FindString(string(raw)) == string(raw) && len(raw) > 0
}

// isNumberedApart reports whether several hosts numbered the redacted names of sessions
// independently, so that it is unknown which of these sessions are the same.
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

// sameKeys reports whether a journal and a trace may have the same keys, apart from order and
// redaction.
func sameKeys(told, left []string) bool {
	sorted := func(keys []string) []string {
		return slices.SortedStableFunc(slices.Values(keys), func(a, b string) int {
			return strings.Compare(wire.Placeholder.ReplaceAllString(a, ""), wire.Placeholder.ReplaceAllString(b, ""))
		})
	}
	return slices.EqualFunc(sorted(told), sorted(left), sameTold)
}

// isMaskedSession reports whether the name of a session is redacted.
func isMaskedSession(id session.SessionID) bool { return isMasked(id.Tenant) || isMasked(id.Session) }

// sameTold reports whether a text of a journal and one of a trace may be the same. A redacted part
// may be any text, because journal and trace number their placeholders independently, and a path
// may have found a secret in the trace only.
func sameTold(a, b string) bool { return a == b || mayBe(a, b) || mayBe(b, a) }

// mayBe reports whether a text equals another one, which may have placeholders for parts of it.
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
