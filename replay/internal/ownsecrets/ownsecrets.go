// Package ownsecrets handles secrets that live code has of its own, such as a token from its
// environment that is part of the URLs it asks. A redacted recording has placeholders there, and it
// is no longer known which secrets they stand for. So whatever such code says in the place of a
// placeholder stands for it, and must be the same in all places of the run.
package ownsecrets

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// leastLong is the length in bytes from which a secret is looked for in other places: shorter ones
// are found in half of all words.
const leastLong = 8

// Secrets are those of the live code of one run. A nil *Secrets has none, and finds none. Secrets
// is not safe for concurrent use.
type Secrets struct {
	tree   *calls.Tree
	isLive func(*calls.Call) bool
	fields wire.Apart
	rules  *redacting.Compiled // nil where none are known

	own      map[string]bool         // the placeholders that live code used before anyone gave them to it; nil until needed
	said     map[string]string       // what live code says, by the placeholder that it stands for
	stands   map[string]string       // the same the other way round
	forms    map[string]string       // the placeholders, by all encodings of secrets that are long enough to be looked for
	instead  *strings.Replacer       // replaces forms by placeholders; nil where there are none
	requests map[int]json.RawMessage // what new asks say, with placeholders for their secrets
}

// New knows no secrets yet. isLive reports whether a recorded call is live. rules are those by
// which the recording was redacted; nil where they are not known. Invalid rules are ignored.
func New(tree *calls.Tree, isLive func(*calls.Call) bool, fields wire.Apart, rules *redact.Rules) *Secrets {
	s := &Secrets{tree: tree, isLive: isLive, fields: fields, said: map[string]string{}, stands: map[string]string{}, forms: map[string]string{}, requests: map[int]json.RawMessage{}}
	if rules != nil {
		if compiled, err := redacting.Compile(rules); err == nil {
			s.rules = compiled
		}
	}
	return s
}

// InRequest is a request with placeholders for the secrets that are known.
func (s *Secrets) InRequest(request json.RawMessage) json.RawMessage {
	if s == nil || s.instead == nil {
		return request
	}
	return json.RawMessage(s.instead.Replace(string(request)))
}

// Pair reports whether a JSON text that live code says equals a recorded one except for secrets
// that live code has of its own. If so, the secrets stand for the placeholders from then on.
func (s *Secrets) Pair(recorded, said string) bool {
	if s == nil || !strings.Contains(recorded, wire.PlaceholderBegin) {
		return false
	}
	places := wire.Placeholder.FindAllStringIndex(recorded, -1)
	first, last := places[0], places[len(places)-1]
	if !strings.HasPrefix(said, recorded[:first[0]]) || !strings.HasSuffix(said, recorded[last[1]:]) {
		return false
	}
	found := between(recorded, places).FindStringSubmatch(said)
	if found == nil {
		return false
	}
	pairs := map[string]string{}
	for i, place := range places {
		placeholder, secret := recorded[place[0]:place[1]], plain(found[i+1])
		if secret == placeholder {
			continue
		}
		if other, ok := pairs[placeholder]; ok && other != secret || !s.may(placeholder, secret) {
			return false
		}
		pairs[placeholder] = secret
	}
	if len(pairs) == 0 || !s.hasOwn(pairs) && !s.finds(recorded, said) {
		return false
	}
	for placeholder, secret := range pairs {
		s.pair(placeholder, secret)
	}
	return true
}

// PairMembers is Pair for the members of a request that has changed elsewhere. It returns the
// request with the recorded value of each member in which only secrets differ.
func (s *Secrets) PairMembers(recorded, said json.RawMessage) json.RawMessage {
	if s == nil || !bytes.Contains(recorded, []byte(wire.PlaceholderBegin)) {
		return said
	}
	for _, member := range compare.JSONDiff("", string(recorded), string(said)) {
		name := memberName.FindString(member.Field)
		if name == "" || !s.Pair(member.Want, member.Got) {
			continue
		}
		written := fmt.Appendf(nil, "%q:%s", name, member.Got)
		if bytes.Count(said, written) == 1 { // else it is not known which of them it is
			said = bytes.Replace(said, written, fmt.Appendf(nil, "%q:%s", name, member.Want), 1)
		}
	}
	return said
}

// memberName matches the name of a member at the end of its path.
var memberName = regexp.MustCompile(`\w+$`)

// plain decodes a text from JSON, and from a URL if it is part of one.
func plain(written string) string {
	text := written
	if json.Unmarshal([]byte(`"`+written+`"`), &text) != nil {
		return written
	}
	if unescaped, err := url.PathUnescape(text); err == nil {
		return unescaped
	}
	return text
}

func (s *Secrets) pair(placeholder, secret string) {
	if s.said[placeholder] == secret {
		return
	}
	s.said[placeholder], s.stands[secret] = secret, placeholder
	if len(secret) < leastLong || s.isClear(secret) {
		return
	}
	for _, form := range redacting.Forms(secret) {
		s.forms[form] = placeholder
	}
	var both []string
	for _, form := range slices.SortedFunc(maps.Keys(s.forms), func(a, b string) int { // the longest first, as it may contain others
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	}) {
		both = append(both, form, s.forms[form])
	}
	s.instead = strings.NewReplacer(both...)
}

// between matches what is in the places of the placeholders of a text.
func between(recorded string, places [][]int) *regexp.Regexp {
	var pattern strings.Builder
	end := 0
	for _, place := range places {
		pattern.WriteString(regexp.QuoteMeta(recorded[end:place[0]]))
		pattern.WriteString(`((?:[^"\\]|\\.)+?)`)
		end = place[1]
	}
	return regexp.MustCompile(`^` + pattern.String() + regexp.QuoteMeta(recorded[end:]) + `$`)
}

// may reports whether a text may stand for a placeholder: it contains no placeholder, and neither
// of the two is paired with another.
func (s *Secrets) may(placeholder, secret string) bool {
	if strings.Contains(secret, wire.PlaceholderBegin) {
		return false
	}
	said, ok := s.said[placeholder]
	stands, taken := s.stands[secret]
	return (!ok || said == secret) && (!taken || stands == placeholder)
}

// isClear reports whether the recording itself contains a text. It is then a word like others
// there, and stands for a placeholder in no other place.
func (s *Secrets) isClear(text string) (ok bool) {
	s.eachField(func(_ *adk.Crossing, raw []byte) { ok = ok || bytes.Contains(raw, []byte(text)) })
	return ok
}

// hasOwn reports whether live code has the secrets of all these placeholders of its own: in the
// recording, live code said each of them first.
func (s *Secrets) hasOwn(pairs map[string]string) bool {
	if s.own == nil {
		s.own = map[string]bool{}
		s.lookWhoSaysFirst()
	}
	for placeholder := range pairs {
		if !s.own[placeholder] {
			return false
		}
	}
	return true
}

func (s *Secrets) lookWhoSaysFirst() {
	s.eachField(func(x *adk.Crossing, raw []byte) {
		by := s.tree.Calls[x.Call]
		byLiveCode := x.Kind.Class() == adk.ClassOperation && x.Phase != adk.Done && by != nil && s.isLive(by)
		for _, placeholder := range wire.Placeholder.FindAllString(string(raw), -1) {
			if _, met := s.own[placeholder]; !met {
				s.own[placeholder] = byLiveCode
			}
		}
	})
}

// eachField calls give with each field of the recording, as it is written.
func (s *Secrets) eachField(give func(x *adk.Crossing, raw []byte)) {
	for _, x := range s.tree.Lines {
		for _, use := range x.Kind.Fields(x.Phase) {
			if raw, err := s.fields.Append(use.Field, x); err == nil { // the comparison reports the error
				give(x, raw)
			}
		}
	}
}

// finds reports whether the rules, applied to a text, give the recorded one, up to the numbers of
// its placeholders.
func (s *Secrets) finds(recorded, said string) bool {
	return s.rules != nil && withoutNumbers(s.rules.Text(said)) == withoutNumbers(recorded)
}

func withoutNumbers(text string) string {
	return wire.Placeholder.ReplaceAllString(text, "[redacted:$1]")
}

// Stands stores what a new ask, by its number, says with placeholders for its secrets.
func (s *Secrets) Stands(seq int, request json.RawMessage) { s.requests[seq] = request }

// Requests are what new asks say, by their numbers, with placeholders for their secrets.
func (s *Secrets) Requests() map[int]json.RawMessage {
	if s == nil {
		return nil
	}
	return s.requests
}

// Instead are the placeholders for secrets that are long enough to be looked for, by all encodings
// of these secrets.
func (s *Secrets) Instead() map[string]string {
	if s == nil {
		return nil
	}
	return s.forms
}

// Placeholders are those that a secret stands for, sorted.
func (s *Secrets) Placeholders() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.said))
}
