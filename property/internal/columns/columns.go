// Package columns shows strands side by side where an order of theirs is what goes wrong.
package columns

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property/internal/steady"
)

// The most rows that are shown, how many of them stand at most before the first at which the
// order is another one, what stands between two columns, and how wide one is at least:
// where strands are so many that they have no room for that, they have one together.
const (
	strandRows  = 16
	rowsBefore  = 2
	columnGap   = "  "
	leastColumn = 16
)

// row is an operation that is shown; nil is the end of them.
type row struct {
	x       *adk.Crossing
	leftOut int // how many before it are not shown
}

// Of are the operations of strands in a column each, from where the order of a run parts
// from the usual one, in lines of width characters at most; empty where it does not. Where they
// are too many, those around the parting and around some crossings are shown, by their numbers,
// and how many are left out.
func Of(usual, ordered []adk.Crossing, width int, around ...int) string {
	at, _ := steady.PartAt(usual, ordered)
	if at < 0 {
		return ""
	}
	var all []*adk.Crossing
	before := 0
	for i := range ordered {
		x := &ordered[i]
		if x.Kind.Class() != adk.ClassOperation || x.Phase == adk.Done {
			continue
		}
		if all = append(all, x); i < at {
			before++
		}
	}
	rows := nearest(all[max(0, before-rowsBefore):], min(before, rowsBefore), around)
	var strands []int
	for _, r := range rows {
		if r.x != nil && !slices.Contains(strands, r.x.Strand) {
			strands = append(strands, r.x.Strand)
		}
	}
	if len(strands) < 2 {
		return ""
	}
	slices.Sort(strands)
	return columns(rows, strands, width)
}

// nearest are the operations that are nearest to one of them, and to crossings with these
// numbers, in their order.
func nearest(all []*adk.Crossing, to int, around []int) (rows []row) {
	places := []int{to}
	for _, number := range around {
		behind := slices.IndexFunc(all, func(x *adk.Crossing) bool { return x.Seq > number })
		if behind < 0 {
			behind = len(all)
		}
		if number > 0 && behind > 0 {
			places = append(places, behind-1)
		}
	}
	far := func(i int) int {
		least := len(all)
		for _, place := range places {
			least = min(least, max(i-place, place-i))
		}
		return least
	}
	shown := make([]int, len(all))
	for i := range shown {
		shown[i] = i
	}
	slices.SortStableFunc(shown, func(a, b int) int { return far(a) - far(b) })
	shown = shown[:min(len(shown), strandRows)]
	slices.Sort(shown)
	next := 0
	for _, i := range shown {
		rows = append(rows, row{all[i], i - next})
		next = i + 1
	}
	return append(rows, row{nil, len(all) - next})
}

// between says how many operations are left out before a row.
func (r row) between() string {
	if r.leftOut == 0 {
		return ""
	}
	return "… " + safetext.Counted(r.leftOut, "operation") + "\n"
}

// columns are rows with a column for each strand.
func columns(rows []row, strands []int, width int) string {
	most := (width+len(columnGap))/len(strands) - len(columnGap)
	if most < leastColumn {
		return oneColumn(rows, width)
	}
	widest := 0
	for _, r := range rows {
		widest = max(widest, utf8.RuneCountInString(operationText(r.x, most)))
	}
	var b strings.Builder
	write := func(text func(strand int) string) {
		line := ""
		for _, strand := range strands {
			line += fmt.Sprintf("%-*s", widest, text(strand)) + columnGap
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	write(nameOf)
	for _, r := range rows {
		b.WriteString(r.between())
		if r.x == nil {
			break
		}
		write(func(strand int) string {
			if strand != r.x.Strand {
				return ""
			}
			return operationText(r.x, most)
		})
	}
	return b.String()
}

func nameOf(strand int) string { return fmt.Sprintf("strand %d", strand) }

// oneColumn are rows that say which strand they are of.
func oneColumn(rows []row, width int) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.between())
		if r.x != nil {
			name := nameOf(r.x.Strand) + ":" + columnGap
			b.WriteString(name + operationText(r.x, width-len(name)) + "\n")
		}
	}
	return b.String()
}

// operationText is an operation in a few words: what is done, to what. It has most
// characters at most.
func operationText(x *adk.Crossing, most int) string {
	if x == nil {
		return ""
	}
	parts := []string{x.Kind.String()}
	for _, of := range []string{string(x.Collection), x.Name} {
		if of != "" {
			parts = append(parts, of)
		}
	}
	switch {
	case x.Record != nil:
		parts = append(parts, x.Record.Key())
	case x.Key != "":
		parts = append(parts, x.Key)
	}
	text := []rune(safetext.Line(strings.Join(parts, " ")))
	if len(text) > most {
		text = append(text[:most-1], '…')
	}
	return string(text)
}
