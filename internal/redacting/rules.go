package redacting

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/streamre"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// Compiled are rules that have been checked. The runs of a recorder share them.
type Compiled struct {
	paths    []pathRule
	longest  int // how many names the longest path has
	patterns []*streamre.Pattern
	literals []*streamre.Pattern // searched together with what paths have found
}

// pathRule is one of Rules.Paths.
type pathRule struct {
	kind  string
	names []string // in lower case
}

// Compile checks rules, and returns an error that lists everything that is wrong in them.
func Compile(r *redact.Rules) (*Compiled, error) {
	var wrong []error
	rules := &Compiled{}
	for _, path := range r.Paths {
		rule, err := newPathRule(path)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("replay: RecordOptions.Redact: the path %q: %w", path, err))
		}
		rules.paths = append(rules.paths, rule)
		rules.longest = max(rules.longest, len(rule.names))
	}
	for i, p := range r.Patterns {
		compiled, err := streamre.Compile(p.Kind, p.Expr)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("replay: RecordOptions.Redact: the pattern %q: %w", p.Kind, err))
			continue
		}
		compiled.Rank = i
		if _, ok := compiled.Literal(); ok {
			rules.literals = append(rules.literals, compiled)
		} else {
			rules.patterns = append(rules.patterns, compiled)
		}
	}
	return rules, errors.Join(wrong...)
}

// any reports whether there are any rules.
func (rules *Compiled) any() bool {
	return len(rules.paths)+len(rules.patterns)+len(rules.literals) > 0
}

// Text redacts a text that does not belong to a run.
func (rules *Compiled) Text(text string) string { return newRedactor(rules).textAt(nil, text) }

func newPathRule(path string) (pathRule, error) {
	names := strings.Split(strings.ToLower(path), ".")
	if slices.Contains(names, "") {
		return pathRule{}, errors.New("a name in it is empty: want names with dots between, such as args.password")
	}
	return pathRule{KindOf(names[len(names)-1]), names}, nil
}

// KindOf returns the kind of the secrets that a path with this last name finds.
func KindOf(name string) string {
	return cmp.Or(strings.Trim(streamre.NotKind.ReplaceAllString(strings.ToLower(name), "-"), "-"), "field")
}

// kindOf returns the kind of the first rule that covers a path, or "" for none. The names of the
// path must be in lower case.
func (rules *Compiled) kindOf(path []string) string {
	for _, rule := range rules.paths {
		if rule.covers(path) {
			return rule.kind
		}
	}
	return ""
}

func (rule pathRule) covers(path []string) bool {
	if len(path) < len(rule.names) {
		return false
	}
	last := path[len(path)-len(rule.names):]
	for i, name := range rule.names {
		if name != "*" && name != last[i] && !(name == "args" && last[i] == "arguments") { // models use both names
			return false
		}
	}
	return true
}

// leastHunted is the smallest length, in bytes, of a text found by its path that is looked for
// everywhere. Shorter ones would be found within ordinary words.
const leastHunted = 8

// redactor knows the secrets of one run.
type redactor struct {
	rules    *Compiled
	Texts    streamre.Texts    // the literal texts to look for
	hunting  map[string]bool   // those of them that were found in the run
	hunted   int               // how many secrets have texts among those
	numbered map[string]string // the placeholder of each secret
	names    map[string]string // the names of seams, as they were first written
	sums     map[string]string // the checksums of tool calls, and those of the redacted calls
	secrets  int               // how many different ones there are
	Count    int               // placeholders so far
	carries  bool              // count placeholders that are in the run already
	of       *conversation     // the conversation of the run; nil for none
}

func newRedactor(rules *Compiled) *redactor {
	r := &redactor{rules: rules, hunting: map[string]bool{}, numbered: map[string]string{}, names: map[string]string{}, sums: map[string]string{}}
	for _, p := range rules.literals {
		text, _ := p.Literal()
		r.Texts.Add(p.Kind, p.Rank, text)
	}
	return r
}

// carried counts the placeholders that a line has already. A secret that is found from now on gets
// a number that none of them has.
func (r *redactor) carried(line []byte) {
	if !r.carries {
		return
	}
	for _, found := range wire.Placeholder.FindAllSubmatch(line, -1) {
		r.Count++
		if n, err := strconv.Atoi(string(found[2])); err == nil {
			r.secrets = max(r.secrets, n)
		}
	}
}

// placeholder returns what to write in place of a secret.
func (r *redactor) placeholder(kind, secret string) string {
	text, known := r.known(secret)
	if !known {
		secret = unescapedHTML(secret)
		r.secrets++
		text = wire.PlaceholderOf(kind, r.secrets)
		r.numbered[secret] = text
		for _, other := range r.learnForms(kind, secret) {
			r.numbered[other] = text
		}
	}
	r.Count += strings.Count(text, wire.PlaceholderBegin) // what was encoded may hold several placeholders
	return text
}

// known returns the placeholder of a secret that has one, however it is escaped.
func (r *redactor) known(secret string) (text string, known bool) {
	text, known = r.numbered[secret]
	for plain := unescaped(secret); !known && plain != nil; plain = unescaped(plain.text) {
		text, known = r.numbered[plain.text]
	}
	return text, known
}

// learnForms looks for the other forms of a secret from now on, and returns them.
func (r *redactor) learnForms(kind, secret string) []string {
	others := Forms(secret)[1:]
	r.hunt(kind, others...)
	return others
}

// learnNew is like learnForms, for a secret that may have no placeholder yet, and reports whether
// there are new texts to look for.
func (r *redactor) learnNew(kind, secret string) bool {
	if _, known := r.known(secret); known {
		return false
	}
	before := r.hunted
	r.learnForms(kind, unescapedHTML(secret))
	return r.hunted > before
}

// found returns the placeholder for a whole text that a path found and, if hunt is set, looks for
// the text everywhere from now on.
func (r *redactor) found(kind, secret string, hunt bool) string {
	if r.isNoSecret(secret) {
		return secret
	}
	if hunt {
		r.huntOf(kind, secret)
	}
	return r.placeholder(kind, secret)
}

// huntOf looks everywhere for what a path has found, also in later runs of the conversation.
func (r *redactor) huntOf(kind, secret string) {
	r.hunt(kind, secret)
	if r.of != nil && len(secret) >= leastHunted {
		r.of.Add(found{kind, secret}, struct{}{})
	}
}

// hunt looks everywhere for texts that are the forms of one secret.
func (r *redactor) hunt(kind string, texts ...string) {
	var wanted []string
	for _, text := range texts {
		if len(text) >= leastHunted && !r.hunting[text] {
			r.hunting[text] = true
			wanted = append(wanted, text)
		}
	}
	if len(wanted) == 0 {
		return
	}
	r.Texts.Add(kind, r.hunted-beforeRules, wanted...)
	r.hunted++
}

// beforeRules is the difference by which the ranks of hunted texts are lower than those of the
// rules' patterns.
const beforeRules = 1 << 30

// KindHash is the kind of the placeholders for hashes of bodies, which no rule names.
const KindHash = "hash"

// LeastHash is the smallest number of digits of a hash that ids and keys contain.
const LeastHash = 16

// huntHash looks everywhere for the hash of a body, and for those prefixes of it that ids and keys
// contain.
func (r *redactor) huntHash(hash string) {
	for _, digits := range []int{len(hash), 32, LeastHash} {
		if digits <= len(hash) {
			r.hunt(KindHash, hash[:digits])
		}
	}
}

// Text redacts a single text, without looking for JSON in it.
func (r *redactor) Text(text string) string { return r.cut(text, r.spans) }

// textAt redacts a single text to which the names of path lead.
func (r *redactor) textAt(path []string, text string) string {
	return r.cut(text, func(text string) []streamre.Span { return r.spansAt(path, text) })
}

// cut returns a text without the secrets that find finds in it.
func (r *redactor) cut(text string, find func(string) []streamre.Span) string {
	spans := find(text)
	if len(spans) == 0 {
		return text
	}
	more := false
	for _, s := range spans {
		more = r.learnSpan(s, text) || more
	}
	if more { // another form of one of them may be in the text, too
		spans = find(text)
	}
	var b strings.Builder
	end := 0
	for _, s := range spans {
		b.WriteString(text[end:s.From])
		b.WriteString(r.standsIn(s, text))
		end = s.To
	}
	b.WriteString(text[end:])
	return b.String()
}

// name redacts the name of a seam. It returns the same result for a name throughout the run,
// because the engine of a replay takes the name from the header or from the first line that has it.
func (r *redactor) name(name string) string {
	written, known := r.names[name]
	if !known {
		written = r.uncounted(name)
		r.names[name] = written
	}
	r.Count += strings.Count(written, wire.PlaceholderBegin) - strings.Count(name, wire.PlaceholderBegin)
	return written
}

// nameAs records how a name was written that no seam had yet.
func (r *redactor) nameAs(name, written string) {
	if _, known := r.names[name]; !known {
		r.names[name] = written
	}
}

// sumAs replaces the checksum of a tool call everywhere by that of the call with redacted
// arguments.
func (r *redactor) sumAs(sum, written string) {
	if sum != written && r.sums[sum] == "" {
		r.sums[sum] = written
		r.hunt(kindSum, sum)
	}
}

// kindSum is the kind of the checksums of tool calls, which no placeholder replaces.
const kindSum = "checksum"

// uncounted redacts a text without counting the placeholders, because it is not written itself.
func (r *redactor) uncounted(text string) string {
	count := r.Count
	text = r.textAt(nil, text)
	r.Count = count
	return text
}

// mostLevels is how many levels of JSON inside strings of JSON are examined.
const mostLevels = 4

// spans returns the secrets in a text, in order: in the text as it is written, and in the text
// without one or more levels of escapes. Overlapping secrets are joined.
func (r *redactor) spans(text string) []streamre.Span {
	spans := r.spansAsWritten(text)
	var levels []*plainText
	for plain := unescaped(text); plain != nil && len(levels) < mostLevels; plain = unescaped(plain.text) {
		levels = append(levels, plain)
		for _, s := range r.spansAsWritten(plain.text) {
			for _, level := range slices.Backward(levels) {
				s.From, s.To = level.written(s.From), level.written(s.To)
			}
			spans = append(spans, s)
		}
	}
	return merged(spans)
}

// spansAt is like spans, and also finds what paths cover in JSON within the text. The names of path
// lead to the text.
func (r *redactor) spansAt(path []string, text string) []streamre.Span {
	if len(r.rules.paths) == 0 || strings.IndexByte(text, '{') < 0 {
		return r.spans(text)
	}
	f := newMemberFinder(r, path)
	covered := f.End(text, f.Run(nil, text, len(text)))
	if len(covered) == 0 {
		return r.spans(text)
	}
	return merged(append(covered, r.spans(text)...))
}

func (r *redactor) spansAsWritten(text string) (spans []streamre.Span) {
	search := streamre.Search{Texts: &r.Texts}
	for one, ok := search.Next(text, len(text), true); ok; one, ok = search.Next(text, len(text), true) {
		spans = append(spans, one)
	}
	for _, p := range r.rules.patterns {
		if p.MayBeIn(text) {
			spans = append(spans, streamre.NewMatcher(p, 0).Whole(text)...)
		}
	}
	slices.SortFunc(spans, streamre.InOrder)
	return spans
}

// merged sorts spans and joins those that overlap.
func merged(spans []streamre.Span) []streamre.Span {
	slices.SortStableFunc(spans, func(a, b streamre.Span) int { return a.From - b.From })
	kept := spans[:0]
	for _, s := range spans {
		if last := len(kept) - 1; last >= 0 && s.From < kept[last].To {
			kept[last].Join(s)
			continue
		}
		kept = append(kept, s)
	}
	return kept
}
