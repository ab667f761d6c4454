package encoded

import (
	"regexp"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file reads base64 that contains placeholders. In texts of live code, they are encoded like
// everything else. In the recording, a placeholder replaces the digits that belong to the secret
// alone; the digits next to it still have a few bits of the secret, and it depends on the length of
// the secret where in these digits the following bytes begin. So the digits between two
// placeholders are read from each position where a byte may begin.

// alphabet is one of the two alphabets of base64.
type alphabet struct {
	digits string
	runs   *regexp.Regexp // matches digits and placeholders
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// alphabets are the standard one, whose last two digits are escaped in URLs and forms, and the one
// for URLs.
var alphabets = []alphabet{newAlphabet(letters+"+/", `[A-Za-z0-9+/]|%2[BbFf]`), newAlphabet(letters+"-_", `[A-Za-z0-9_-]`)}

func newAlphabet(digits, digit string) alphabet {
	return alphabet{digits, regexp.MustCompile(`(?:` + digit + `|` + wire.Placeholder.String() + `)+(?:=|%3[Dd]){0,2}`)}
}

// inData is a base64 text with placeholders in it.
type inData struct {
	text         string
	placeholders []string
	between      [][]string // the possible texts before the first, between two and after the last
	plus         string     // how it writes the digit +; empty where it has none
}

// keys are the keys by which it is found: its placeholders together with each possible text before
// them.
func (d inData) keys() (all []string) {
	of := strings.Join(d.placeholders, "")
	for _, lead := range d.between[0] {
		all = append(all, of+lead)
	}
	return all
}

// same reports whether two texts with the same placeholders say the same.
func (d inData) same(other inData) bool {
	for i, may := range d.between {
		if !slices.ContainsFunc(may, func(text string) bool { return slices.Contains(other.between[i], text) }) {
			return false
		}
	}
	return d.plus == "" || other.plus == "" || d.plus == other.plus
}

// read reads a run of an alphabet; decoded reports whether a placeholder was encoded in it.
func read(run string, in alphabet) (d inData, decoded bool) {
	d.text = run
	switch {
	case strings.Contains(run, "+"):
		d.plus = "+"
	case strings.Contains(strings.ToUpper(run), "%2B"):
		d.plus = "%2B"
	}
	padding := paddings.FindString(run)
	digits := escapedDigits.Replace(strings.TrimSuffix(run, padding))
	literal := wire.Placeholder.FindAllString(digits, -1)
	segments := wire.Placeholder.Split(digits, -1)
	for i, segment := range segments {
		if i > 0 {
			d.placeholders = append(d.placeholders, literal[i-1])
		}
		s := readSegment(segment, in, i == 0)
		decoded = decoded || len(s.placeholders) > 0
		if i == len(segments)-1 {
			s.end(padding)
		}
		d.placeholders = append(d.placeholders, s.placeholders...)
		d.between = append(d.between, s.between()...)
	}
	return d, decoded
}

var (
	paddings      = regexp.MustCompile(`(?:=|%3[Dd])*$`)
	escapedDigits = strings.NewReplacer("%2B", "+", "%2b", "+", "%2F", "/", "%2f", "/")
)

// segment is a part of a base64 text between literal placeholders.
type segment struct {
	placeholders []string // those that are encoded in it
	readings     []reading
}

// reading is one of the possible ways to read digits.
type reading struct {
	parts []string // of the decoded text, between the encoded placeholders
	left  int      // how many bits are left after the last byte
	zero  bool     // all of these are 0
}

// readSegment reads digits from each position where a byte may begin. The first segment may begin
// at any of its first four digits, as letters that do not belong to it may come before. A later one
// begins after zero, two or four bits of the secret's last byte. If an encoded placeholder is
// found, that is the only reading.
func readSegment(digits string, in alphabet, first bool) (s segment) {
	for n := range 4 {
		var lead, text string
		var r reading
		valid := false
		switch {
		case first && n <= len(digits):
			lead = digits[:n] + "|"
			text, r.left, r.zero, valid = decode(digits[n:], in, 0)
		case !first && n < 3:
			text, r.left, r.zero, valid = decode(digits, in, 2*n)
		}
		if !valid {
			continue
		}
		r.parts = wire.Placeholder.Split(text, -1)
		r.parts[0] = lead + r.parts[0]
		if found := wire.Placeholder.FindAllString(text, -1); len(found) > 0 {
			return segment{found, []reading{r}}
		}
		s.readings = append(s.readings, r)
	}
	return s
}

// decode returns the bytes of digits after the first skip bits, and how many bits are left over.
func decode(digits string, in alphabet, skip int) (text string, left int, zero, valid bool) {
	bits := 6*len(digits) - skip
	if bits < 0 || bits%8 == 6 {
		return "", 0, false, false
	}
	plain := make([]byte, 0, bits/8)
	word, have := 0, -skip
	for i := range len(digits) {
		word, have = (word<<6|strings.IndexByte(in.digits, digits[i]))&(1<<14-1), have+6
		if have >= 8 {
			have -= 8
			plain = append(plain, byte(word>>have))
		}
	}
	return string(plain), have, word&(1<<have-1) == 0, true
}

// end is called for the last segment, with the padding of the text. It keeps only the readings that
// can end there: all bits after the last byte must be 0, and a text with padding has it wherever it
// is needed.
func (s *segment) end(padding string) {
	var ended []reading
	for _, r := range s.readings {
		ways := []string{"", "=", "%3D"}
		switch {
		case !r.zero:
			continue
		case r.left > 0 && padding == "":
			ways = ways[:1]
		case r.left > 0 && padding == strings.Repeat("=", r.left/2):
			ways = ways[1:2]
		case r.left > 0 && strings.EqualFold(padding, strings.Repeat("%3D", r.left/2)):
			ways = ways[2:]
		case r.left > 0 || padding != "":
			continue
		}
		for _, way := range ways {
			parts := slices.Clone(r.parts)
			parts[len(parts)-1] += "|" + way
			ended = append(ended, reading{parts: parts})
		}
	}
	s.readings = ended
}

// between returns the possible texts in each place of a segment.
func (s segment) between() [][]string {
	all := make([][]string, len(s.placeholders)+1)
	for _, r := range s.readings {
		for i, part := range r.parts {
			all[i] = append(all[i], part)
		}
	}
	return all
}
