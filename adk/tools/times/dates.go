package times

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

const dateForms = "a date such as 2026-03-15, 2026-03-15T14:05:00Z, now, tomorrow, next friday, in 3 days or March 15, 2026"

// zoneArg returns the argument for the zone, which nearly all tools have.
func zoneArg() spec.Arg {
	return spec.Text("timezone", "the time zone, such as Europe/Oslo").Default("UTC")
}

// reading returns how the dates of a call are parsed.
func (o Options) reading(c spec.Call) (*reading, error) {
	zone, err := o.zone(c.Text("timezone"))
	return &reading{zone: zone, now: c.DC.Now}, err
}

// dated returns the reading, and the date in an argument of the call.
func (o Options) dated(c spec.Call, argument string) (r *reading, date moment, err error) {
	if r, err = o.reading(c); err == nil {
		date, err = r.date(c.Text(argument))
	}
	return r, date, err
}

// manyYears bounds an amount of years; it exceeds the range of the years 1 to 9999.
const manyYears = 10_000

// DateAdd returns the tool that adds a duration to a date, or subtracts it.
func DateAdd(o Options) *adk.Tool {
	return spec.Tool{
		Name: "date_add",
		Description: "Adds a duration to a date, or subtracts it. Months and years keep the day, or take the last one of the month; days are calendar days, hours are exact. " +
			"Give the date as " + dateForms + ".",
		Args: []spec.Arg{
			spec.Text("date", "the date").Required(), spec.Word("direction", "add or subtract", "add", "subtract").Required(),
			spec.Int("years", "years", -manyYears, manyYears).Default(0), spec.Int("months", "months", -12*manyYears, 12*manyYears).Default(0),
			spec.Int("weeks", "weeks", -53*manyYears, 53*manyYears).Default(0), spec.Int("days", "days", -366*manyYears, 366*manyYears).Default(0),
			spec.Number("hours", "hours").Default(0), spec.Number("minutes", "minutes").Default(0), spec.Number("seconds", "seconds").Default(0), zoneArg(),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			_, date, err := o.dated(c, "date")
			if err != nil {
				return "", err
			}
			sign, words := 1, "Adding %s to %s: %s"
			if c.Text("direction") == "subtract" {
				sign, words = -1, "Subtracting %s from %s: %s"
			}
			result, err := added(date, c, sign)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf(words, parts(c), c.Text("date"), result.long()), nil
		},
	}.Make()
}

// added adds years and months first, then days, then exact time.
func added(date moment, c spec.Call, sign int) (moment, error) {
	wall := addMonths(date.wall(), sign*(12*c.Int("years")+c.Int("months")))
	t := date.moved(wall.AddDate(0, 0, sign*(7*c.Int("weeks")+c.Int("days")))).Time
	seconds := float64(sign) * (float64(c.Number("hours")*3600) + float64(c.Number("minutes")*60) + c.Number("seconds"))
	if math.Abs(seconds) > 366*86400*manyYears {
		return moment{}, fmt.Errorf("the result is out of the years 1 to 9999")
	}
	whole, rest := math.Modf(seconds)
	for ; math.Abs(whole) > 1e9; whole -= math.Copysign(1e9, whole) { // a Duration holds at most 292 years
		t = t.Add(time.Duration(math.Copysign(1e9, whole)) * time.Second)
	}
	t = t.Add(time.Duration(whole)*time.Second + time.Duration(math.Round(rest*1e3))*time.Millisecond)
	if t.Year() < 1 || t.Year() > 9999 {
		return moment{}, fmt.Errorf("the result is out of the years 1 to 9999")
	}
	return moment{t, date.hasTime || seconds != 0}, nil
}

// parts describes the amounts that are not zero.
func parts(c spec.Call) string {
	var words []string
	for _, unit := range []string{"years", "months", "weeks", "days", "hours", "minutes", "seconds"} {
		if n := c.Number(unit); n != 0 {
			words = append(words, counted(n, unit))
		}
	}
	if len(words) == 0 {
		return "0"
	}
	return strings.Join(words, ", ")
}

// counted describes a number of units, whose name is given in the plural.
func counted(n float64, units string) string {
	if math.Abs(n) == 1 {
		units = strings.TrimSuffix(units, "s")
	}
	return spec.Digits(n) + " " + units
}

// DateDiff returns the tool that says how far two dates are apart.
func DateDiff(o Options) *adk.Tool {
	return spec.Tool{
		Name:        "date_diff",
		Description: "Says how far two dates are apart in one unit, to 4 decimals. Days, weeks, months and years go by the calendar. Give a date as " + dateForms + ".",
		Args: []spec.Arg{
			spec.Text("from", "the one date").Required(), spec.Text("to", "the other").Required(),
			spec.Word("unit", "the unit", "seconds", "minutes", "hours", "days", "weeks", "months", "years").Required(), zoneArg(),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			r, from, err := o.dated(c, "from")
			if err != nil {
				return "", err
			}
			to, err := r.date(c.Text("to"))
			if err != nil {
				return "", err
			}
			direction := "after"
			if to.Before(from.Time) {
				from, to, direction = to, from, "before"
			}
			distance := spec.Round(distanceIn(from, to, c.Text("unit")), 4)
			return fmt.Sprintf("%s is %s %s %s %s", c.Text("to"), spec.Digits(distance), c.Text("unit"), direction, c.Text("from")), nil
		},
	}.Make()
}

// secondsIn has the units with a fixed length.
var secondsIn = map[string]float64{"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "weeks": 7 * 86400}

func distanceIn(a, b moment, unit string) float64 {
	from, to := a.Time, b.Time
	if unit == "days" || unit == "weeks" || unit == "months" || unit == "years" {
		from, to = a.wall(), b.wall()
	}
	if unit == "months" || unit == "years" {
		step := 1
		if unit == "years" {
			step = 12
		}
		return wholeAndRest(from, to, step)
	}
	return secondsBetween(from, to) / secondsIn[unit]
}

func secondsBetween(from, to time.Time) float64 {
	return float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
}

// wholeAndRest returns the number of whole steps of months, plus the rest as a part of the next
// step.
func wholeAndRest(from, to time.Time, step int) float64 {
	n := ((to.Year()-from.Year())*12 + int(to.Month()-from.Month())) / step
	for n > 0 && addMonths(from, n*step).After(to) {
		n--
	}
	start, end := addMonths(from, n*step), addMonths(from, (n+1)*step)
	return float64(n) + secondsBetween(start, to)/secondsBetween(start, end)
}

// DurationFormat returns the tool that writes seconds in words.
func DurationFormat() *adk.Tool {
	return spec.Tool{
		Name:        "duration_format",
		Description: "Writes a number of seconds in words, from years (of 365 days), months (of 30) and weeks down to seconds. Fractions are cut off.",
		Args:        []spec.Arg{spec.Number("seconds", "the seconds").Required()},
		Answer:      func(_ context.Context, c spec.Call) (string, error) { return duration(c.Number("seconds")), nil },
	}.Make()
}

func duration(seconds float64) string {
	left, sign := math.Trunc(math.Abs(seconds)), ""
	if seconds < 0 && left > 0 {
		sign = "-"
	}
	var words []string
	for _, u := range []struct {
		name    string
		seconds float64
	}{{"years", 365 * 86400}, {"months", 30 * 86400}, {"weeks", 7 * 86400}, {"days", 86400}, {"hours", 3600}, {"minutes", 60}, {"seconds", 1}} {
		n := math.Floor(left / u.seconds)
		left = math.Mod(left, u.seconds)
		if n > 0 {
			words = append(words, counted(n, u.name))
		}
	}
	switch n := len(words); n {
	case 0:
		return "0 seconds"
	case 1:
		return sign + words[0]
	default:
		return sign + strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// DateParse returns the tool that parses a date in words.
func DateParse(o Options) *adk.Tool {
	return spec.Tool{
		Name: "date_parse",
		Description: "Reads a date in English: today, tomorrow, yesterday, now; next, last or this weekday, week, month or year; in 3 days, 2 weeks ago; March 5, 2026; " +
			"each with a time behind it (at 3pm), or ISO 8601. Without a time it is noon.",
		Args: []spec.Arg{
			spec.Text("text", "the date in words").Required(), spec.Text("reference_date", "the date to count from, in ISO 8601; now if it is not given"), zoneArg(),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			r, err := o.reading(c)
			if err != nil {
				return "", err
			}
			if c.Text("reference_date") != "" {
				reference, err := r.date(c.Text("reference_date"))
				if err != nil {
					return "", fmt.Errorf("Invalid reference_date: %w", err)
				}
				r.met = reference.Time
			}
			date, err := r.date(c.Text("text"))
			if err != nil {
				return "", err
			}
			date = date.noon()
			return fmt.Sprintf("ISO: %s\nFormatted: %s", date.Format(instant), date.Format(longTime)), nil
		},
	}.Make()
}

// GetCurrentTime returns the tool that tells the current time.
func GetCurrentTime(o Options) *adk.Tool {
	return spec.Tool{
		Name:        "get_current_time",
		Description: "Says what time it is now in a time zone.",
		Args:        []spec.Arg{zoneArg()},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			zone, err := o.zone(c.Text("timezone"))
			if err != nil {
				return "", err
			}
			return c.Text("timezone") + ": " + c.DC.Now().In(zone).Format(longTime), nil
		},
	}.Make()
}

// ConvertTime returns the tool that converts a wall time of today into another zone.
func ConvertTime(o Options) *adk.Tool {
	return spec.Tool{
		Name:        "convert_time",
		Description: "Says what a time of day (HH:MM) in one time zone is in another one, today.",
		Args: []spec.Arg{
			spec.Text("source_timezone", "the zone of the time").Required(), spec.Text("time", "the time of day, such as 09:30").Required(),
			spec.Text("target_timezone", "the zone wanted").Default("UTC"),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			source, err := o.zone(c.Text("source_timezone"))
			if err != nil {
				return "", badZone("source_timezone", c.Text("source_timezone"))
			}
			target, err := o.zone(c.Text("target_timezone"))
			if err != nil {
				return "", badZone("target_timezone", c.Text("target_timezone"))
			}
			hour, minute, ok := clock(c.Text("time"))
			if !ok || !strings.Contains(c.Text("time"), ":") {
				return "", fmt.Errorf("Invalid time %.20q, want HH:MM from 00:00 to 23:59", c.Text("time"))
			}
			today := c.DC.Now().In(source)
			t := in(source, time.Date(today.Year(), today.Month(), today.Day(), hour, minute, 0, 0, time.UTC))
			answer := fmt.Sprintf("%02d:%02d %s = %s %s", hour, minute, c.Text("source_timezone"), t.In(target).Format("15:04"), c.Text("target_timezone"))
			switch day := t.In(target).YearDay() - t.YearDay(); {
			case day == 1 || day < -1: // or a year later
				answer += " the next day"
			case day != 0:
				answer += " the day before"
			}
			return answer, nil
		},
	}.Make()
}
