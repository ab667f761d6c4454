package texts

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/internal/pattern"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// compiled compiles a pattern of RE2 with its flags. The flags i, m and s count, all others have no
// effect (BAT-6). The pattern is checked for use on the given text.
func compiled(expr, flags, text string) (*regexp.Regexp, error) {
	known := ""
	for _, flag := range "ims" {
		if strings.ContainsRune(flags, flag) {
			known += string(flag)
		}
	}
	if known != "" {
		expr = "(?" + known + ")" + expr
	}
	re, size, err := pattern.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("Invalid regex (RE2 has no look-around and no back references): %w", err)
	}
	if int64(size)*int64(len(text)) > pattern.MaxSteps {
		return nil, fmt.Errorf("Invalid regex: it takes too many steps in a text of %d bytes", len(text))
	}
	return re, nil
}

// maxMatches is the greatest number of matches in an answer of string_extract.
const maxMatches = 500

// StringExtract returns the tool string_extract, which returns all matches of a pattern.
func StringExtract() *adk.Tool {
	return spec.Tool{
		Name:        "string_extract",
		Description: "Gives all matches of a regular expression (RE2) in a text, or of one of its groups, as a JSON list of at most 500.",
		Args: []spec.Arg{
			spec.Text("text", "the text").Required(), spec.Text("pattern", "the regular expression, in the syntax of RE2").Required(),
			spec.Text("flags", "of i (any case), m (lines) and s (dot matches newline)").Default("g"), spec.Int("group", "the group wanted; 0 is the whole match", 0, 1000).Default(0),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			re, err := compiled(c.Text("pattern"), c.Text("flags"), c.Text("text"))
			if err != nil {
				return "", err
			}
			group := c.Int("group")
			if group > re.NumSubexp() {
				return "", fmt.Errorf("the pattern has no group %d; its last is %d", group, re.NumSubexp())
			}
			return extract(re, c.Text("text"), group), nil
		},
	}.Make()
}

func extract(re *regexp.Regexp, text string, group int) string {
	found := []any{}
	places := re.FindAllStringSubmatchIndex(text, maxMatches)
	for _, place := range places {
		if from, to := place[2*group], place[2*group+1]; from >= 0 {
			found = append(found, text[from:to])
		}
	}
	if len(found) == 0 {
		return "No matches found."
	}
	answer := jsontree.Text(found)
	if len(places) == maxMatches {
		answer += " (truncated at 500)"
	}
	return answer
}

// maxPlaces is the greatest number of offsets of matches and their groups in memory.
const maxPlaces = 1_000_000

func regexReplace(s string, o options) (any, error) {
	expr, err := o.required("pattern")
	if err != nil {
		return nil, err
	}
	replacement, err := o.required("replacement")
	if err != nil {
		return nil, err
	}
	flags, err := o.text("flags", "g")
	if err != nil {
		return nil, err
	}
	re, err := compiled(expr, flags, s)
	if err != nil {
		return nil, err
	}
	matches := 0
	re.ReplaceAllStringFunc(s, func(string) string { matches++; return "" })
	if int64(matches)*int64(re.NumSubexp()+1) > maxPlaces {
		return nil, fmt.Errorf("more than %d matches, groups counted each", maxPlaces)
	}
	pieces := piecesOf(replacement, re)
	if int64(matches)*int64(len(pieces)) > maxPieces {
		return nil, fmt.Errorf("%d matches to replace by %d texts and groups each: want at most %d together", matches, len(pieces), maxPieces)
	}
	var out strings.Builder
	last := 0
	for _, place := range re.FindAllStringSubmatchIndex(s, -1) {
		out.WriteString(s[last:place[0]])
		last = place[1]
		for _, p := range pieces {
			out.WriteString(p.text)
			if p.group >= 0 && place[2*p.group] >= 0 {
				out.WriteString(s[place[2*p.group]:place[2*p.group+1]])
			}
			if out.Len() > maxWork {
				return nil, errTooLong
			}
		}
	}
	out.WriteString(s[last:])
	return out.String(), nil
}

// maxPieces is the greatest number of replacement pieces in all matches.
const maxPieces = 5_000_000

// piece is a part of a replacement: a text, followed by the match of a group; -1 means no group.
type piece struct {
	text  string
	group int
}

// piecesOf parses a replacement as ECMAScript does: $1, $&, $<name> and $$.
func piecesOf(replacement string, re *regexp.Regexp) (all []piece) {
	named := strings.LastIndexByte(replacement, '>') // no name ends after this
	for whole := len(replacement); ; {
		at := strings.IndexByte(replacement, '$')
		if at < 0 || at+1 == len(replacement) {
			return append(all, piece{replacement, -1})
		}
		text, rest := replacement[:at], replacement[at+1:]
		switch c := rest[0]; {
		case c == '$':
			all, rest = append(all, piece{replacement[:at+1], -1}), rest[1:]
		case c == '&':
			all, rest = append(all, piece{text, 0}), rest[1:]
		case c >= '1' && c <= '9' && int(c-'0') <= re.NumSubexp():
			i, size := int(c-'0'), 1
			if len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9' && 10*i+int(rest[1]-'0') <= re.NumSubexp() {
				i, size = 10*i+int(rest[1]-'0'), 2
			}
			all, rest = append(all, piece{text, i}), rest[size:]
		case c == '<' && named > whole-len(rest):
			end := strings.IndexByte(rest, '>')
			all, rest = append(all, piece{text, re.SubexpIndex(rest[1:end])}), rest[end+1:]
		default:
			all = append(all, piece{replacement[:at+1], -1})
		}
		replacement = rest
	}
}
