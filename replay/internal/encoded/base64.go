package encoded

import (
	"regexp"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file reads base64 in which placeholders stand. In live code's they are encoded with all
// else. In the recording one stands for the digits that were the secret's alone; those beside it
// say a part of a byte of the secret, and where in the digits what follows begins hangs on how
// long the secret was. So what is between two is read from each place where it may begin.

// alphabet is one of the two of base64.
type alphabet struct {
	digits string
	runs   *regexp.Regexp // of digits and placeholders
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// alphabets are the usual one, whose last digits URLs and forms escape, and that for URLs.
var alphabets = []alphabet{newAlphabet(letters+"+/", `[A-Za-z0-9+/]|%2[BbFf]`), newAlphabet(letters+"-_", `[A-Za-z0-9_-]`)}

func newAlphabet(digits, digit string) alphabet {
	return alphabet{digits, regexp.MustCompile(`(?:` + digit + `|` + wire.Placeholder.String() + `)+(?:=|%3[Dd]){0,2}`)}
}

// inData is a text in base64 with placeholders in it.
type inData struct {
	text         string
	placeholders []string
	between      [][]string // what may stand before the first, between two and behind the last
	plus         string     // how it writes the digit +; empty where it has none
}

// keys are those by which it is found: its placeholders, and what may stand before them.
func (d inData) keys() (all []string) {
	of := strings.Join(d.placeholders, "")
	for _, lead := range d.between[0] {
		all = append(all, of+lead)
	}
	return all
}

// same reports whether two say the same, of which the placeholders are.
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

// segment is what stands in base64 beside literal placeholders.
type segment struct {
	placeholders []string // that are encoded in it
	readings     []reading
}

// reading is one of the ways in which digits may be read.
type reading struct {
	parts []string // of the text, between the encoded placeholders
	left  int      // how many bits are left over behind the last byte
	zero  bool     // they are all none
}

// readSegment reads digits from wherever they may begin: the first of a run at one of four
// digits, as letters may stand before that are none of it, those behind a placeholder behind
// none, two or four bits of the secret's last byte. Where an encoded placeholder is found, that
// is the way to read them.
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

// decode are the bytes of digits behind so many bits, and how many bits are left over.
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

// end says that the text ends behind a segment, with a padding: no bit behind the last byte is of
// anything, and who pads does so wherever that is called for.
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

// between are what may stand at each place of a segment.
func (s segment) between() [][]string {
	all := make([][]string, len(s.placeholders)+1)
	for _, r := range s.readings {
		for i, part := range r.parts {
			all[i] = append(all[i], part)
		}
	}
	return all
}
