package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/steady"
)

// This file shows strands side by side where an order of theirs is what goes wrong.

// The most rows that are shown, how many of them stand before the first at which the
// order is another one, and how wide a column is at most.
const (
	strandRows  = 16
	rowsBefore  = 2
	columnWidth = 36
)

// besideEachOther are the operations of strands in a column each, from where the order of
// a run parts from the usual one; empty where it does not.
func besideEachOther(usual, ordered []adk.Crossing) string {
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
	return columns(rows, strands)
}

// columns are rows with a column for each strand.
func columns(rows []*adk.Crossing, strands []int) string {
	table := [][]string{make([]string, len(strands))}
	for at, strand := range strands {
		table[0][at] = fmt.Sprintf("strand %d", strand)
	}
	for _, x := range rows {
		row := make([]string, len(strands))
		row[slices.Index(strands, x.Strand)] = operationText(x)
		table = append(table, row)
	}
	width := 0
	for _, row := range table {
		for _, cell := range row {
			width = max(width, len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, row := range table {
		line := ""
		for _, cell := range row {
			line += fmt.Sprintf("%-*s  ", width, cell)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// operationText is an operation in a few words: what is done, to what.
func operationText(x *adk.Crossing) string {
	parts := []string{x.Kind.String()}
	for _, of := range []string{string(x.Collection), x.Name} {
		if of != "" {
			parts = append(parts, of)
		}
	}
	if key := keyOf(x); key != "" {
		parts = append(parts, key)
	}
	text := []rune(safetext.Line(strings.Join(parts, " ")))
	if len(text) > columnWidth {
		text = append(text[:columnWidth-1], '…')
	}
	return string(text)
}
