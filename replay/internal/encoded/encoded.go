// Package encoded finds placeholders that live code was given and has encoded: in a URL, in hex, or
// in base64, alone or within other data. The recorder found the secret in the same encodings, and
// put the placeholder in the place of the encoded secret. So a text with an encoded placeholder and
// the recorded text are the same if everything else is.
package encoded

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// Recorded has those texts of a recording that matter here. The zero value has none.
type Recorded struct {
	marked []string            // texts with placeholders
	says   []string            // texts that contain encoded placeholders, as where live code was recorded again
	known  map[string]bool     // the placeholders in marked; nil until needed
	data   map[string][]inData // base64 with placeholders in marked, by its keys
}

// Add adds a text of the recording. All must be added before the first call of Instead.
func (r *Recorded) Add(text string) {
	if strings.Contains(text, wire.PlaceholderBegin) {
		r.marked = append(r.marked, text)
	}
	if Is(text) {
		r.says = append(r.says, text)
	}
}

// begins are the beginnings of encoded placeholders: in URLs, in hex, and in base64 after 0, 1 or 2
// bytes modulo 3. In base64 they have only the digits that belong to the placeholder alone.
var begins = []string{"%5Bredacted", "%5bredacted", hex.EncodeToString([]byte(wire.PlaceholderBegin)), strings.ToUpper(hex.EncodeToString([]byte(wire.PlaceholderBegin))),
	wholeDigits(0), wholeDigits(1), wholeDigits(2)}

func wholeDigits(before int) string {
	digits := base64.RawStdEncoding.EncodeToString([]byte("xx"[:before] + wire.PlaceholderBegin))
	return digits[(before*8+5)/6 : (before+len(wire.PlaceholderBegin))*8/6]
}

// Is reports whether a text may contain an encoded placeholder.
func Is(text string) bool {
	return slices.ContainsFunc(begins, func(begin string) bool { return strings.Contains(text, begin) })
}

// Instead calls give with each encoded placeholder in a text of live code, and what the recording
// has in its place. It ignores those for which the recording has nothing.
func (r *Recorded) Instead(text string, give func(said, recorded string)) {
	if len(r.marked) == 0 || !Is(text) { // usually nothing was redacted, and there is much text
		return
	}
	if r.known == nil {
		r.index()
	}
	for _, form := range []struct {
		found *regexp.Regexp
		plain func(string) string
	}{{inURL, fromURL}, {inHex, fromHex}} {
		for _, said := range form.found.FindAllString(text, -1) {
			if placeholder := form.plain(said); r.known[placeholder] && !r.saysItself(said) {
				give(said, placeholder)
			}
		}
	}
	for _, found := range r.inData(text) {
		give(found.said, found.recorded)
	}
}

// found is a run of base64 in a text, and what the recording has for it.
type found struct {
	from, to       int
	said, recorded string
	placeholders   int
}

// inData finds base64 in which placeholders are encoded. Where runs of the two alphabets overlap,
// the one with more placeholders counts.
func (r *Recorded) inData(text string) (all []found) {
	for _, digits := range alphabets {
		for _, at := range digits.runs.FindAllStringIndex(text, -1) {
			said := text[at[0]:at[1]]
			if !Is(said) || r.saysItself(said) {
				continue
			}
			d, decoded := read(said, digits)
			if recorded := r.recorded(d); decoded && recorded != "" {
				all = append(all, found{at[0], at[1], said, recorded, len(d.placeholders)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return b.placeholders - a.placeholders })
	var apart []found
	for _, f := range all {
		if !slices.ContainsFunc(apart, func(other found) bool { return f.from < other.to && other.from < f.to }) {
			apart = append(apart, f)
		}
	}
	return apart
}

// recorded is what the recording has that says the same; empty if there is nothing. The longest
// text wins: a placeholder alone may be base64 of a secret that fills its digits, but usually is
// not.
func (r *Recorded) recorded(said inData) (text string) {
	for _, key := range said.keys() {
		for _, d := range r.data[key] {
			if len(d.text) > len(text) && d.same(said) {
				text = d.text
			}
		}
	}
	return text
}

// InText is a text of live code in which encoded placeholders are replaced by what the recording
// has for them.
func (r *Recorded) InText(text string) string {
	var pairs []string
	r.Instead(text, func(said, recorded string) { pairs = append(pairs, said, recorded) })
	if len(pairs) == 0 {
		return text
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func (r *Recorded) saysItself(said string) bool {
	return slices.ContainsFunc(r.says, func(text string) bool { return strings.Contains(text, said) })
}

// index finds the placeholders of the recording, and what may be base64 with placeholders in it.
func (r *Recorded) index() {
	r.known, r.data = map[string]bool{}, map[string][]inData{}
	seen := map[string]bool{}
	for _, text := range r.marked {
		for _, placeholder := range wire.Placeholder.FindAllString(text, -1) {
			r.known[placeholder] = true
		}
		for _, digits := range alphabets {
			for _, run := range digits.runs.FindAllString(text, -1) {
				if seen[run] || !strings.Contains(run, wire.PlaceholderBegin) {
					continue
				}
				seen[run] = true
				d, _ := read(run, digits)
				for _, key := range d.keys() {
					r.data[key] = append(r.data[key], d)
				}
			}
		}
	}
}

var (
	inURL = regexp.MustCompile(`%5[Bb]redacted(?:%3[Aa]|:)[a-z0-9-]+(?:%3[Aa]|:)[0-9]+%5[Dd]`)
	inHex = regexp.MustCompile(begins[2] + `(?:[0-9a-f]{2})+?5d|` + begins[3] + `(?:[0-9A-F]{2})+?5D`)
)

var unescaped = strings.NewReplacer("%5B", "[", "%5b", "[", "%3A", ":", "%3a", ":", "%5D", "]", "%5d", "]")

func fromURL(said string) string { return unescaped.Replace(said) }

func fromHex(said string) string {
	plain, _ := hex.DecodeString(said) // valid, as inHex matches it
	return string(plain)
}
