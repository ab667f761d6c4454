package stats

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// Gate is a bound that a figure must not come to, such as "tokens.out > +10%". It is made
// by ParseGate.
type Gate struct {
	// Text is the gate as it was given, and Name the figure that it is on.
	Text, Name string
	sign       string // + or - of what is measured from the other folder
	percent    bool
	operator   string
	bound      float64
	lasting    bool // the bound is a duration
}

// ErrNoFigure is of a gate on what is no figure.
var ErrNoFigure = errors.New("there is no such figure")

var (
	gateForm = regexp.MustCompile(`^\s*(\S.*?)\s*(>=|<=|>|<)\s*([+-]?)\s*([^\s+-]\S*)\s*$`)
	numeral  = regexp.MustCompile(`^\d+(\.\d+)?$`)
)

// ParseGate reads a gate: a name of a row, one of > >= < <=, and a bound. A bound with a
// sign is on how much more or less the figure is than in the other folder: a number, a
// duration as time.ParseDuration has it, or a share in percent. The error says what is
// wrong with it.
func ParseGate(text string) (Gate, error) {
	m := gateForm.FindStringSubmatch(text)
	if m == nil {
		return Gate{}, fmt.Errorf("%s: want a figure, one of > >= < <=, and a number, as in 'tokens.out > +10%%'", safetext.Quoted(text))
	}
	g := Gate{Text: text, Name: m[1], operator: m[2], sign: m[3]}
	number, percent := strings.CutSuffix(m[4], "%")
	switch {
	case numeral.MatchString(number):
		bound, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return Gate{}, fmt.Errorf("%s: %w", safetext.Quoted(text), err)
		}
		g.bound, g.percent = bound, percent
	default:
		bound, err := time.ParseDuration(m[4])
		if err != nil {
			return Gate{}, fmt.Errorf("%s: %s is no bound: want a number, a share such as +10%%, or a duration such as 150ms or 1m30s", safetext.Quoted(text), safetext.Quoted(m[4]))
		}
		g.bound, g.lasting = float64(bound), true
	}
	if g.percent && g.sign == "" {
		return Gate{}, fmt.Errorf("%s: a share is of a change: write +%s or -%s", safetext.Quoted(text), m[4], m[4])
	}
	if g.sign == "-" {
		g.bound = -g.bound
	}
	return g, nil
}

// Compares reports whether the gate is on a change, and so needs two folders.
func (g Gate) Compares() bool { return g.sign != "" }

// Broken reports whether a figure has come to the bound, and says in words what it is. Of
// what only some traces have, such as a tool, there are none where it has no row. The error
// is that there can be no such figure.
func (g Gate) Broken(t Table) (words string, broken bool, err error) {
	d, err := g.figure(t.Figures)
	if err != nil || !g.isReached(d) {
		return "", false, err
	}
	words = g.Text + ": it is " + t.words(d.Unit, d.Now)
	if g.Compares() {
		words += ", and was " + t.words(d.Unit, d.Was)
	}
	return words, true, nil
}

// figure is the one that the gate is on.
func (g Gate) figure(figures []Difference) (Difference, error) {
	d := Difference{Name: g.Name, Unit: Number}
	known, alike := inFamily(g.Name)
	for _, one := range figures {
		if one.Name == g.Name {
			d, known = one, true
		}
	}
	switch {
	case !known && alike != nil:
		return d, fmt.Errorf("%s: %w: want one of %s", safetext.Quoted(g.Name), ErrNoFigure, strings.Join(alike, ", "))
	case !known:
		return d, fmt.Errorf("%s: %w", safetext.Quoted(g.Name), ErrNoFigure)
	case g.lasting && d.Unit != Duration:
		return d, fmt.Errorf("%s: %s is no time: give a bound without a unit", safetext.Quoted(g.Text), g.Name)
	case !g.lasting && !g.percent && g.bound != 0 && d.Unit == Duration:
		return d, fmt.Errorf("%s: %s is a time: give a bound with a unit, as in 2s or 150ms", safetext.Quoted(g.Text), g.Name)
	}
	return d, nil
}

// isReached reports whether a figure has come to the bound.
func (g Gate) isReached(d Difference) bool {
	measured := d.Now
	switch {
	case g.percent:
		percent, is := d.Percent()
		if !is { // it was nothing: any share of that is less
			return (g.operator[0] == '>') == (d.Change() > 0)
		}
		measured = percent
	case g.Compares():
		measured = d.Change()
	}
	switch g.operator {
	case ">":
		return measured > g.bound
	case ">=":
		return measured >= g.bound
	case "<":
		return measured < g.bound
	}
	return measured <= g.bound
}
