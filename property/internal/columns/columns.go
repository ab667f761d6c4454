// Package columns shows strands side by side, for violations that depend on the order of strands.
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

// The limits of what is shown: the number of rows, how many of them come before the first
// difference in order, the gap between columns, and the width of a column. If the columns of all
// strands would be narrower than that, the strands share one column.
const (
	strandRows  = 16
	rowsBefore  = 2
	columnGap   = "  "
	leastColumn = 16
)

// row is an operation that is shown; a nil x marks the end.
type row struct {
	x       *adk.Crossing
	leftOut int // how many operations before it are not shown
}

// Of shows the operations of each strand in a column, from where the order of a run differs from
// the usual one, in lines of at most width characters. It is empty if the order does not differ, or
// if what is shown has fewer than two strands. If there are too many operations, it shows those
// near the difference and near the crossings with the numbers in around, and says how many are left
// out.
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

// nearest returns the operations nearest to the one with index to, and to the crossings with the
// given numbers, in their order.
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

// columns writes rows with a column for each strand.
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

// oneColumn writes rows that name their strand.
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

// operationText describes an operation in a few words, in at most most characters.
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
