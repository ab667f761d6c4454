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

// Condition is a limit on a figure, such as "tokens.out > +10%". It says when the figure has gone
// too far. ParseCondition makes one.
type Condition struct {
	// Text is the condition as it was given, and Name the name of the figure.
	Text, Name string
	sign       string // + or - for a limit on the change from the other folder
	percent    bool
	operator   string
	bound      float64
	lasting    bool // the bound is a duration
}

// errNoFigure is the error of a condition on an unknown figure.
var errNoFigure = errors.New("there is no such figure")

var (
	conditionForm = regexp.MustCompile(`^\s*(\S.*?)\s*(>=|<=|>|<)\s*([+-]?)\s*([^\s+-]\S*)\s*$`)
	numeral       = regexp.MustCompile(`^\d+(\.\d+)?$`)
)

// ParseCondition parses a condition: the name of a row, one of > >= < <=, and a bound. The bound is
// a number, or a duration in the syntax of time.ParseDuration. A bound with a sign is on the change
// from the other folder, and may also be a percentage. The error says what is wrong.
func ParseCondition(text string) (Condition, error) {
	m := conditionForm.FindStringSubmatch(text)
	if m == nil {
		return Condition{}, fmt.Errorf("%s: want a figure, one of > >= < <=, and a number, as in 'tokens.out > +10%%'", safetext.Quoted(text))
	}
	c := Condition{Text: text, Name: m[1], operator: m[2], sign: m[3]}
	number, percent := strings.CutSuffix(m[4], "%")
	switch {
	case numeral.MatchString(number):
		bound, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return Condition{}, fmt.Errorf("%s: %w", safetext.Quoted(text), err)
		}
		c.bound, c.percent = bound, percent
	default:
		bound, err := time.ParseDuration(m[4])
		if err != nil {
			return Condition{}, fmt.Errorf("%s: %s is no bound: want a number, a share such as +10%%, or a duration such as 150ms or 1m30s", safetext.Quoted(text), safetext.Quoted(m[4]))
		}
		c.bound, c.lasting = float64(bound), true
	}
	if c.percent && c.sign == "" {
		return Condition{}, fmt.Errorf("%s: a share is of a change: write +%s or -%s", safetext.Quoted(text), m[4], m[4])
	}
	if c.sign == "-" {
		c.bound = -c.bound
	}
	return c, nil
}

// Compares reports whether the condition is on a change, and so needs two folders.
func (c Condition) Compares() bool { return c.sign != "" }

// Holds reports whether a figure has reached the bound, and describes the figure. A figure that
// only some traces have, such as one of a tool, is 0 if it has no row. The error says that there
// can be no such figure.
func (c Condition) Holds(t Table) (words string, holds bool, err error) {
	d, err := c.figure(t.Figures)
	if err != nil || !c.isReached(d) {
		return "", false, err
	}
	words = c.Text + ": it is " + t.words(d.Unit, d.Now)
	if c.Compares() {
		words += ", and was " + t.words(d.Unit, d.Was)
	}
	return words, true, nil
}

// figure returns the figure that the condition is on.
func (c Condition) figure(figures []Difference) (Difference, error) {
	d := Difference{Name: c.Name, Unit: Number}
	known, alike := inFamily(c.Name)
	for _, one := range figures {
		if one.Name == c.Name {
			d, known = one, true
		}
	}
	switch {
	case !known && alike != nil:
		return d, fmt.Errorf("%s: %w: want one of %s", safetext.Quoted(c.Name), errNoFigure, strings.Join(alike, ", "))
	case !known:
		return d, fmt.Errorf("%s: %w", safetext.Quoted(c.Name), errNoFigure)
	case c.lasting && d.Unit != Duration:
		return d, fmt.Errorf("%s: %s is no time: give a bound without a unit", safetext.Quoted(c.Text), c.Name)
	case !c.lasting && !c.percent && c.bound != 0 && d.Unit == Duration:
		return d, fmt.Errorf("%s: %s is a time: give a bound with a unit, as in 2s or 150ms", safetext.Quoted(c.Text), c.Name)
	}
	return d, nil
}

// isReached reports whether a figure has reached the bound.
func (c Condition) isReached(d Difference) bool {
	measured := d.Now
	switch {
	case c.percent:
		percent, ok := d.Percent()
		if !ok { // it was 0, so any change is more than any percentage
			return (c.operator[0] == '>') == (d.Change() > 0)
		}
		measured = percent
	case c.Compares():
		measured = d.Change()
	}
	switch c.operator {
	case ">":
		return measured > c.bound
	case ">=":
		return measured >= c.bound
	case "<":
		return measured < c.bound
	}
	return measured <= c.bound
}
