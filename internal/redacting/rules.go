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

// Compiled are rules that were checked. They are shared by the runs of a recorder.
type Compiled struct {
	paths    []pathRule
	longest  int // how many names the longest path has
	patterns []*streamre.Pattern
	literals []*streamre.Pattern // which are found together with what paths have found
}

// pathRule is one of Rules.Paths.
type pathRule struct {
	kind  string
	names []string // in lower case
}

// Compile checks rules, and names everything that is wrong in them.
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

// any reports whether there is a rule, so that anything may be redacted.
func (rules *Compiled) any() bool {
	return len(rules.paths)+len(rules.patterns)+len(rules.literals) > 0
}

// Text is a text that stands alone without what the rules find in it.
func (rules *Compiled) Text(text string) string { return newRedactor(rules).textAt(nil, text) }

func newPathRule(path string) (pathRule, error) {
	names := strings.Split(strings.ToLower(path), ".")
	if slices.Contains(names, "") {
		return pathRule{}, errors.New("a name in it is empty: want names with dots between, such as args.password")
	}
	return pathRule{KindOf(names[len(names)-1]), names}, nil
}

// KindOf is the kind of what a path finds that ends with a name.
func KindOf(name string) string {
	return cmp.Or(strings.Trim(streamre.NotKind.ReplaceAllString(strings.ToLower(name), "-"), "-"), "field")
}

// kindOf is the kind of the first rule that says something of a path, whose
// names are in lower case; empty for none.
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
		if name != "*" && name != last[i] && !(name == "args" && last[i] == "arguments") { // as models are told and tell them
			return false
		}
	}
	return true
}

// leastHunted is the length from which a text that was found by its path is
// looked for everywhere. Shorter ones would be found in half of all words.
const leastHunted = 8

// redactor knows the secrets of one run.
type redactor struct {
	rules    *Compiled
	Texts    streamre.Texts    // what is looked for by its letters
	hunting  map[string]bool   // those of them that were found in the run
	hunted   int               // how many secrets have some among those
	numbered map[string]string // the placeholder of each secret
	names    map[string]string // of seams, as they were written first
	sums     map[string]string // of tool calls, as what was redacted has them
	secrets  int               // how many different ones there are
	Count    int               // placeholders so far
	carries  bool              // those that are there already count too
	of       *conversation     // that the run is of; nil for none
}

func newRedactor(rules *Compiled) *redactor {
	r := &redactor{rules: rules, hunting: map[string]bool{}, numbered: map[string]string{}, names: map[string]string{}, sums: map[string]string{}}
	for _, p := range rules.literals {
		text, _ := p.Literal()
		r.Texts.Add(p.Kind, p.Rank, text)
	}
	return r
}

// carried takes in the placeholders that a line has already: what is found from now on is
// another secret than they stand for, and has another number.
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

// placeholder is what stands in the place of a secret.
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
	r.Count += strings.Count(text, wire.PlaceholderBegin) // what was encoded may hold several
	return text
}

// known is the placeholder of a secret that has one, however it is escaped here.
func (r *redactor) known(secret string) (text string, known bool) {
	text, known = r.numbered[secret]
	for plain := unescaped(secret); !known && plain != nil; plain = unescaped(plain.text) {
		text, known = r.numbered[plain.text]
	}
	return text, known
}

// learnForms has the other ways to write a secret looked for from now on, and gives them.
func (r *redactor) learnForms(kind, secret string) []string {
	others := Forms(secret)[1:]
	r.hunt(kind, others...)
	return others
}

// learnNew is learnForms of a secret that has no placeholder so far, and reports whether
// there is more to look for since.
func (r *redactor) learnNew(kind, secret string) bool {
	if _, known := r.known(secret); known {
		return false
	}
	before := r.hunted
	r.learnForms(kind, unescapedHTML(secret))
	return r.hunted > before
}

// found is placeholder for a whole text that a path found, and has it looked for
// from now on.
func (r *redactor) found(kind, secret string, hunt bool) string {
	if r.isNoSecret(secret) {
		return secret
	}
	if hunt {
		r.huntOf(kind, secret)
	}
	return r.placeholder(kind, secret)
}

// huntOf has what a path has found looked for everywhere, and in the later runs of the
// conversation.
func (r *redactor) huntOf(kind, secret string) {
	r.hunt(kind, secret)
	if r.of != nil && len(secret) >= leastHunted {
		r.of.Add(found{kind, secret}, struct{}{})
	}
}

// hunt has texts looked for everywhere: one secret, in the ways to write it.
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

// beforeRules is what the ranks of the rules' own patterns are greater by than those of what
// is hunted.
const beforeRules = 1 << 30

// KindHash is the kind of what stands for the hash of a body, of which no rule says anything.
const KindHash = "hash"

// LeastHash is how many digits of a hash are the fewest that ids and keys have of it.
const LeastHash = 16

// huntHash has the hash of a body looked for everywhere, and the beginnings of it that
// are a part of ids and keys.
func (r *redactor) huntHash(hash string) {
	for _, digits := range []int{len(hash), 32, LeastHash} {
		if digits <= len(hash) {
			r.hunt(KindHash, hash[:digits])
		}
	}
}

// Text redacts a text that stands alone, in which no JSON is looked for.
func (r *redactor) Text(text string) string { return r.cut(text, r.spans) }

// textAt redacts a text that stands alone, under names that lead to it.
func (r *redactor) textAt(path []string, text string) string {
	return r.cut(text, func(text string) []streamre.Span { return r.spansAt(path, text) })
}

// cut is a text without what is found in it.
func (r *redactor) cut(text string, find func(string) []streamre.Span) string {
	spans := find(text)
	if len(spans) == 0 {
		return text
	}
	more := false
	for _, s := range spans {
		more = r.learnSpan(s, text) || more
	}
	if more { // one of them may stand there in another form as well
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

// name redacts the name of a seam. It is written the same way throughout: the engine of a
// replay has the name as the header, or the first line that has it, gave it.
func (r *redactor) name(name string) string {
	written, known := r.names[name]
	if !known {
		written = r.uncounted(name)
		r.names[name] = written
	}
	r.Count += strings.Count(written, wire.PlaceholderBegin) - strings.Count(name, wire.PlaceholderBegin)
	return written
}

// nameAs says how a name was written that had no seam yet.
func (r *redactor) nameAs(name, written string) {
	if _, known := r.names[name]; !known {
		r.names[name] = written
	}
}

// sumAs has the checksum of a tool call written everywhere as that of what its arguments have become.
func (r *redactor) sumAs(sum, written string) {
	if sum != written && r.sums[sum] == "" {
		r.sums[sum] = written
		r.hunt(kindSum, sum)
	}
}

// kindSum is the kind of the checksums of tool calls, for which no placeholder stands.
const kindSum = "checksum"

// uncounted is text for what is not written itself.
func (r *redactor) uncounted(text string) string {
	count := r.Count
	text = r.textAt(nil, text)
	r.Count = count
	return text
}

// mostLevels is how deep JSON is looked into that stands in JSON as a text.
const mostLevels = 4

// spans are the secrets in a text, in their order: as it is written, and without its escapes,
// of which there may be levels. Those that overlap are one.
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

// spansAt is spans, and what paths cover in JSON within the text, which names lead to.
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
