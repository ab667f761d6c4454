package stats

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// Table is a list of figures to write, of one folder or of two.
type Table struct {
	// Figures are those of Compare. For one folder, Was is not used.
	Figures []Difference
	// Compared says that there are two folders.
	Compared bool
	// Currency is the currency of money.
	Currency string
}

// TableOf returns the table of some figures, compared with those of another folder unless before is
// nil.
func TableOf(before, now *Figures) Table {
	t := Table{Figures: Compare(now, now)}
	if before != nil {
		t = Table{Figures: Compare(before, now), Compared: true}
	}
	if now.Cost != nil {
		t.Currency = now.Cost.Currency
	}
	return t
}

// WriteMarkdown writes the table for people. It omits rows that are 0 everywhere.
func (t Table) WriteMarkdown(w io.Writer) error {
	rows := [][]string{{"figure", "value"}}
	if t.Compared {
		rows = [][]string{{"figure", "was", "now", "change"}}
	}
	for _, d := range t.Figures {
		switch {
		case d.Was == 0 && d.Now == 0:
		case t.Compared:
			rows = append(rows, []string{cell(d.Name), t.words(d.Unit, d.Was), t.words(d.Unit, d.Now), t.change(d)})
		default:
			rows = append(rows, []string{cell(d.Name), t.words(d.Unit, d.Now)})
		}
	}
	var out strings.Builder
	for i, row := range rows {
		writeRow(&out, row, rows)
		if i == 0 {
			writeRule(&out, rows)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// cell returns a name that stays within its cell.
func cell(name string) string {
	return strings.ReplaceAll(safetext.Line(name), "|", `\|`)
}

func writeRow(out *strings.Builder, row []string, all [][]string) {
	for i, text := range row {
		blanks := strings.Repeat(" ", columnWidth(all, i)-utf8.RuneCountInString(text))
		if i == 0 {
			out.WriteString("| " + text + blanks)
		} else {
			out.WriteString(" | " + blanks + text)
		}
	}
	out.WriteString(" |\n")
}

func writeRule(out *strings.Builder, all [][]string) {
	for i := range all[0] {
		width := columnWidth(all, i)
		if i == 0 {
			out.WriteString("| " + strings.Repeat("-", width) + " |")
		} else {
			out.WriteString(" " + strings.Repeat("-", width-1) + ": |") // aligns numbers to the right
		}
	}
	out.WriteString("\n")
}

// leastWidth is the width of the shortest rule in Markdown.
const leastWidth = 3

func columnWidth(all [][]string, column int) int {
	width := leastWidth
	for _, row := range all {
		width = max(width, utf8.RuneCountInString(row[column]))
	}
	return width
}

// words formats a value for people.
func (t Table) words(unit Unit, v float64) string {
	switch unit {
	case Duration:
		return shortly(time.Duration(v)).String()
	case Money:
		return strings.TrimSpace(fmt.Sprintf("%.4f %s", v, safetext.Line(t.Currency)))
	}
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// shortly rounds a duration to three digits.
func shortly(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for unit*1000 <= d.Abs() {
		unit *= 10
	}
	return d.Round(unit)
}

// change formats the change of a figure for people.
func (t Table) change(d Difference) string {
	if d.Change() == 0 {
		return ""
	}
	sign := ""
	if d.Change() > 0 {
		sign = "+"
	}
	words := sign + t.words(d.Unit, d.Change())
	if percent, ok := d.Percent(); ok {
		words += fmt.Sprintf(" (%s%.1f%%)", sign, percent)
	}
	return words
}

// WriteCSV writes all figures for programs. Durations are in nanoseconds, and percentages are
// numbers such as 10 for 10 percent.
func (t Table) WriteCSV(w io.Writer) error {
	plain := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	rows := [][]string{{"figure", "unit", "value"}}
	if t.Compared {
		rows = [][]string{{"figure", "unit", "was", "now", "change", "percent"}}
	}
	for _, d := range t.Figures {
		row := []string{safetext.Line(d.Name), string(d.Unit)}
		if !t.Compared {
			rows = append(rows, append(row, plain(d.Now)))
			continue
		}
		share := ""
		if percent, ok := d.Percent(); ok {
			share = plain(percent)
		}
		rows = append(rows, append(row, plain(d.Was), plain(d.Now), plain(d.Change()), share))
	}
	return csv.NewWriter(w).WriteAll(rows)
}
