package texts

import (
	"context"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// The limits of comparing (BAT-4).
const (
	maxDiffed   = 20_000 // lines or words of a text
	maxShown    = 60     // changed lines
	maxDistance = 5_000  // characters of a text
)

// TextDiff returns the tool that says what changed between two texts.
func TextDiff() *adk.Tool {
	return spec.Tool{
		Name:        "text_diff",
		Description: "Says what changed from one text to another, by lines or by words: how many were added and removed, and the first 60 of them. At most 20000 lines or words each.",
		Args: []spec.Arg{
			spec.Text("text_a", "the text as it was").Required(), spec.Text("text_b", "the text as it is").Required(),
			spec.Word("mode", "what to compare", "lines", "words").Default("lines"),
		},
		Answer: func(ctx context.Context, c spec.Call) (string, error) {
			if c.Text("text_a") == c.Text("text_b") {
				return "Texts are identical — no differences found.", nil
			}
			split, unit := func(s string) []string { return strings.Split(s, "\n") }, "line"
			if c.Text("mode") == "words" {
				split, unit = strings.Fields, "word"
			}
			a, b := split(c.Text("text_a")), split(c.Text("text_b"))
			if len(a) > maxDiffed || len(b) > maxDiffed {
				return "", fmt.Errorf("too large to compare: %d and %d %ss, want at most %d each", len(a), len(b), unit, maxDiffed)
			}
			edits, err := diff(ctx, a, b)
			if err != nil {
				return "", err
			}
			return told(edits, unit), nil
		},
	}.Make()
}

// edit is an element that a script keeps, removes or adds.
type edit struct {
	sign byte // ' ', '-' or '+'
	text string
}

func told(edits []edit, unit string) string {
	counts := map[byte]int{}
	var shown []string
	for _, e := range edits {
		counts[e.sign]++
		if e.sign != ' ' && strings.TrimSpace(e.text) != "" {
			shown = append(shown, string(e.sign)+" "+e.text)
		}
	}
	text := fmt.Sprintf("+%s added, -%s removed, %d unchanged", counted(counts['+'], unit), counted(counts['-'], unit), counts[' '])
	if len(shown) == 0 {
		return text
	}
	more := len(shown) - maxShown
	shown = shown[:min(len(shown), maxShown)]
	text += "\n\n" + strings.Join(shown, "\n")
	if more > 0 {
		text += fmt.Sprintf("\n… (%d more lines truncated)", more)
	}
	return text
}

func counted(n int, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// diff returns a shortest script that turns a into b; of several, the one that removes first. The
// common beginning and end, and elements of only one list, need no search. The rest uses a table
// with one bit for each pair, at most 50 MB.
func diff(ctx context.Context, a, b []string) ([]edit, error) {
	var script []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		script = append(script, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	var tail []edit
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, edit{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	kept, err := common(ctx, a, b)
	if err != nil {
		return nil, err
	}
	i, j := 0, 0
	for _, pair := range append(kept, [2]int{len(a), len(b)}) {
		for ; i < pair[0]; i++ {
			script = append(script, edit{'-', a[i]})
		}
		for ; j < pair[1]; j++ {
			script = append(script, edit{'+', b[j]})
		}
		if i < len(a) && j < len(b) {
			script = append(script, edit{' ', a[i]})
			i, j = i+1, j+1
		}
	}
	for k := len(tail) - 1; k >= 0; k-- {
		script = append(script, tail[k])
	}
	return script, nil
}

// common returns a longest common subsequence, as the indexes of its elements in both lists.
func common(ctx context.Context, a, b []string) ([][2]int, error) {
	inBoth := shared(a, b)
	first, firstAt := places(a, inBoth)
	second, secondAt := places(b, inBoth)
	rows, err := table(ctx, first, second, len(inBoth))
	if err != nil {
		return nil, err
	}
	var pairs [][2]int
	i, j, left := 0, 0, rows.length(0, 0)
	for left > 0 {
		switch {
		case first[i] == second[j]:
			pairs = append(pairs, [2]int{firstAt[i], secondAt[j]})
			i, j, left = i+1, j+1, left-1
		case rows.length(i+1, j) == left:
			i++
		default:
			j++
		}
	}
	return pairs, nil
}

// shared numbers the elements that both lists have.
func shared(a, b []string) map[string]int {
	inA, numbers := map[string]bool{}, map[string]int{}
	for _, s := range a {
		inA[s] = true
	}
	for _, s := range b {
		if _, known := numbers[s]; inA[s] && !known {
			numbers[s] = len(numbers)
		}
	}
	return numbers
}

// places returns the numbers of the shared elements of a list, and their indexes.
func places(list []string, numbers map[string]int) (ids, at []int) {
	for i, s := range list {
		if id, ok := numbers[s]; ok {
			ids, at = append(ids, id), append(at, i)
		}
	}
	return ids, at
}

// lengths encodes the lengths of the longest common subsequences of all pairs of rests. In row i,
// bit j says that the length grows from the rest of b after j to the rest from j on.
type lengths struct {
	rows  [][]uint64
	width int
}

// table fills the rows from the last to the first, 64 elements at a time, by Hyyrö's bit-parallel
// method for common subsequences.
func table(ctx context.Context, a, b []int, ids int) (lengths, error) {
	width := len(b)
	words := (width + 63) / 64
	// Bit k stands for the element k places before the end of b.
	occurrences := make([][]uint64, ids)
	for j, id := range b {
		if occurrences[id] == nil {
			occurrences[id] = make([]uint64, words)
		}
		k := width - 1 - j
		occurrences[id][k/64] |= 1 << (k % 64)
	}
	l := lengths{make([][]uint64, len(a)+1), width}
	l.rows[len(a)] = make([]uint64, words)
	for i := len(a) - 1; i >= 0; i-- {
		if ctx.Err() != nil {
			return lengths{}, context.Cause(ctx)
		}
		l.rows[i] = grown(l.rows[i+1], occurrences[a[i]])
	}
	return l, nil
}

// grown returns the row before another one. a gains an element there that occurs in b at the bits
// of at: in each stretch between two ones, the lowest occurrence becomes the one.
func grown(row, at []uint64) []uint64 {
	next := make([]uint64, len(row))
	var carry, borrow uint64 = 1, 0
	for w := range row {
		x := row[w] | at[w]
		shifted := row[w]<<1 | carry
		carry = row[w] >> 63
		difference, out := bits.Sub64(x, shifted, borrow)
		borrow = out
		next[w] = x & (x ^ difference)
	}
	return next
}

// length returns the length of the longest common subsequence of a[i:] and b[j:].
func (l lengths) length(i, j int) (n int) {
	row, upTo := l.rows[i], l.width-j
	for w := 0; w < upTo/64; w++ {
		n += bits.OnesCount64(row[w])
	}
	if rest := upTo % 64; rest > 0 {
		n += bits.OnesCount64(row[upTo/64] & (1<<rest - 1))
	}
	return n
}

// StringSimilarity returns the tool that says how similar two texts are.
func StringSimilarity() *adk.Tool {
	return spec.Tool{
		Name:        "string_similarity",
		Description: "Says how far two texts of at most 5000 characters are apart: the edit distance, the likeness in percent, and a word for it.",
		Args: []spec.Arg{
			spec.Text("a", "a text").Required(), spec.Text("b", "another").Required(), spec.Bool("case_insensitive", "letters are alike, large or small"),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			a, b := strings.ToValidUTF8(c.Text("a"), "\uFFFD"), strings.ToValidUTF8(c.Text("b"), "\uFFFD")
			if c.Bool("case_insensitive") {
				a, b = strings.ToLower(a), strings.ToLower(b)
			}
			longer := max(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
			if longer > maxDistance {
				return "", fmt.Errorf("too large to compare: %d characters, want at most %d", longer, maxDistance)
			}
			distance, percent := levenshtein.ComputeDistance(a, b), 100.0
			if longer > 0 {
				percent = spec.Round(100*(1-float64(distance)/float64(longer)), 1)
			}
			if distance > 0 {
				percent = min(percent, 99.9) // a small difference in a long text must not round to 100%
			}
			return fmt.Sprintf("Edit distance: %d\nSimilarity: %s%% (%s)", distance, spec.Digits(percent), likeness(percent)), nil
		},
	}.Make()
}

func likeness(percent float64) string {
	for _, level := range []struct {
		from float64
		name string
	}{{100, "identical"}, {90, "very similar"}, {70, "similar"}, {50, "somewhat similar"}, {30, "different"}} {
		if percent >= level.from {
			return level.name
		}
	}
	return "very different"
}
