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

// The most rows that are shown, how many of them stand before the first at which the
// order is another one, what stands between two columns, and how wide one is at least:
// where strands are so many that they have no room for that, they have one together.
const (
	strandRows  = 16
	rowsBefore  = 2
	columnGap   = "  "
	leastColumn = 16
)

// Of are the operations of strands in a column each, from where the order of a run parts
// from the usual one, in lines of width characters at most; empty where it does not.
func Of(usual, ordered []adk.Crossing, width int) string {
	at, _ := steady.PartAt(usual, ordered)
	if at < 0 {
		return ""
	}
	var rows []*adk.Crossing
	before := 0
	for i := range ordered {
		x := &ordered[i]
		if x.Kind.Class() != adk.ClassOperation || x.Phase == adk.Done {
			continue
		}
		if rows = append(rows, x); i < at {
			before++
		}
	}
	rows = rows[max(0, before-rowsBefore):]
	rows = rows[:min(len(rows), strandRows)]
	var strands []int
	for _, x := range rows {
		if !slices.Contains(strands, x.Strand) {
			strands = append(strands, x.Strand)
		}
	}
	if len(strands) < 2 {
		return ""
	}
	slices.Sort(strands)
	return columns(rows, strands, width)
}

// columns are rows with a column for each strand.
func columns(rows []*adk.Crossing, strands []int, width int) string {
	most := (width+len(columnGap))/len(strands) - len(columnGap)
	if most < leastColumn {
		return oneColumn(rows, width)
	}
	widest := 0
	for _, x := range rows {
		widest = max(widest, utf8.RuneCountInString(operationText(x, most)))
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
	for _, x := range rows {
		write(func(strand int) string {
			if strand != x.Strand {
				return ""
			}
			return operationText(x, most)
		})
	}
	return b.String()
}

func nameOf(strand int) string { return fmt.Sprintf("strand %d", strand) }

// oneColumn are rows that say which strand they are of.
func oneColumn(rows []*adk.Crossing, width int) string {
	var b strings.Builder
	for _, x := range rows {
		name := nameOf(x.Strand) + ":" + columnGap
		b.WriteString(name + operationText(x, width-len(name)) + "\n")
	}
	return b.String()
}

// operationText is an operation in a few words: what is done, to what. It has most
// characters at most.
func operationText(x *adk.Crossing, most int) string {
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
