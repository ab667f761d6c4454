package times

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// ordinals are the names of a weekday's place in its month; 0 is the last.
var ordinals = map[string]int{
	"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5,
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": 0,
}

var ordinalNames = []string{"last", "1st", "2nd", "3rd", "4th", "5th"}

// DateNthWeekday returns the tool date_nth_weekday, which finds the nth weekday of a month.
func DateNthWeekday(o Options) *adk.Tool {
	return spec.Tool{
		Name:        "date_nth_weekday",
		Description: "Finds the nth or the last weekday of a month, such as the 2nd friday of March; of this year if none is given.",
		Args: []spec.Arg{
			spec.Text("nth", "1 to 5, first to fifth, or last").Required(),
			spec.Word("weekday", "the weekday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday").Required(),
			spec.Int("month", "the month, 1 to 12", -1_000_000, 1_000_000).Required(), spec.Int("year", "the year", -1_000_000, 1_000_000), zoneArg(),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			r, err := o.reading(c)
			if err != nil {
				return "", err
			}
			nth, known := ordinals[strings.ToLower(strings.TrimSpace(c.Text("nth")))]
			month, year := time.Month(c.Int("month")), c.Int("year")
			switch {
			case !known:
				return "", fmt.Errorf("nth %.20q is not known, want 1 to 5, first to fifth, or last", c.Text("nth"))
			case month < 1 || month > 12:
				return "", fmt.Errorf("Month must be 1–12")
			case !c.Has("year"):
				year = r.today().Year()
			case year < 1 || year > 9999:
				return "", fmt.Errorf("Year must be 1–9999")
			}
			return nthWeekday(nth, c.Text("weekday"), month, year)
		},
	}.Make()
}

func nthWeekday(nth int, weekday string, month time.Month, year int) (string, error) {
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	day := 1 + (isoWeekday(weekdays[weekday])-isoWeekday(first.Weekday())+7)%7
	last := first.AddDate(0, 1, -1).Day()
	there := (last-day)/7 + 1
	if nth == 0 {
		day += 7 * (there - 1)
	} else if day += 7 * (nth - 1); nth > there {
		return "", fmt.Errorf("there is no %s %s in %s %d: it has %d", ordinalNames[nth], weekday, month, year, there)
	}
	date := first.AddDate(0, 0, day-1)
	return fmt.Sprintf("%s %s of %s %d: %s\nFormatted: %s", ordinalNames[nth], weekday, month, year, date.Format(time.DateOnly), date.Format(longDay)), nil
}

func fiscalArg() spec.Arg {
	return spec.Int("fiscal_year_start_month", "the month in which the fiscal year begins", 1, 12).Default(1)
}

// DateCalendarInfo returns the tool date_calendar_info, which tells the facts of a day.
func DateCalendarInfo(o Options) *adk.Tool {
	return spec.Tool{
		Name:        "date_calendar_info",
		Description: "Tells the facts of a day: ISO week, day of the year, week of the month (from Monday), weekend, calendar and fiscal quarter. Give the date as " + dateForms + ".",
		Args:        []spec.Arg{spec.Text("date", "the date").Required(), zoneArg(), fiscalArg()},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			_, date, err := o.dated(c, "date")
			if err != nil {
				return "", err
			}
			return calendarInfo(date.Time, c.Int("fiscal_year_start_month")), nil
		},
	}.Make()
}

func calendarInfo(t time.Time, fiscalStart int) string {
	isoYear, week := t.ISOWeek()
	weekday := isoWeekday(t.Weekday())
	weekend := "No"
	if weekday > 5 {
		weekend = "Yes"
	}
	ofMonth := (t.Day()+isoWeekday(time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC).Weekday())-2)/7 + 1
	fiscal := periodStart(t, "year", fiscalStart)
	fiscalQuarter := ((int(t.Month())-fiscalStart+12)%12)/3 + 1
	return strings.Join([]string{
		"Date: " + t.Format(time.DateOnly), "",
		fmt.Sprintf("ISO week number: %d (ISO year: %d)", week, isoYear),
		fmt.Sprintf("Day of year: %d / %d", t.YearDay(), time.Date(t.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()),
		fmt.Sprintf("Day of week: %d (%s)", weekday, t.Weekday()),
		fmt.Sprintf("Week of month: %d", ofMonth),
		"Weekend: " + weekend, "",
		fmt.Sprintf("Calendar quarter: Q%d", (int(t.Month())-1)/3+1),
		fmt.Sprintf("Fiscal quarter: FQ%d (FY%d, begins in %s)", fiscalQuarter, fiscal.Year(), fiscal.Month()),
	}, "\n")
}

// DatePeriod returns the tool date_period, which finds the first or the last moment of a period.
func DatePeriod(o Options) *adk.Tool {
	return spec.Tool{
		Name: "date_period",
		Description: "Finds the first or the last moment of the day, week (from Monday), month, quarter or year that a date lies in, or of one so many periods away. " +
			"Quarters and years are fiscal ones where fiscal_year_start_month says so. Give the date as " + dateForms + ".",
		Args: []spec.Arg{
			spec.Text("date", "the date").Required(), spec.Word("period", "the period", "day", "week", "isoweek", "month", "quarter", "year").Required(),
			spec.Word("boundary", "the start or the end", "start", "end").Required(), spec.Int("offset", "so many periods later; earlier if negative", -1_000_000, 1_000_000).Default(0), zoneArg(), fiscalArg(),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			_, date, err := o.dated(c, "date")
			if err != nil {
				return "", err
			}
			period, fiscal := c.Text("period"), c.Int("fiscal_year_start_month")
			day, word := periodsOn(periodStart(date.Time, period, fiscal), period, c.Int("offset")), "Start"
			start := dayIn(date.Location(), day)
			if c.Text("boundary") == "end" {
				word, start = "End", dayIn(date.Location(), periodsOn(day, period, 1)).Add(-time.Millisecond)
			}
			if start.Year() < 1 || start.Year() > 9999 {
				return "", fmt.Errorf("the result is out of the years 1 to 9999")
			}
			return fmt.Sprintf("%s of %s containing %s: %s\nFormatted: %s", word, period, c.Text("date"), start.Format(instant), start.Format(longTime)), nil
		},
	}.Make()
}

// periodStart returns the first day of the period in which a time lies, as wall time.
func periodStart(t time.Time, period string, fiscal int) time.Time {
	day := moment{Time: t}.wall()
	switch period {
	case "week", "isoweek":
		return day.AddDate(0, 0, 1-isoWeekday(t.Weekday()))
	case "month":
		return day.AddDate(0, 0, 1-day.Day())
	case "quarter", "year":
		size := 12
		if period == "quarter" {
			size = 3
		}
		since := (int(t.Month()) - fiscal + 12) % 12 % size
		return day.AddDate(0, -since, 1-day.Day())
	}
	return day
}

func periodsOn(start time.Time, period string, n int) time.Time {
	switch period {
	case "week", "isoweek":
		return start.AddDate(0, 0, 7*n)
	case "month":
		return start.AddDate(0, n, 0)
	case "quarter":
		return start.AddDate(0, 3*n, 0)
	case "year":
		return start.AddDate(n, 0, 0)
	}
	return start.AddDate(0, 0, n)
}

// DateBusinessDays returns the tool date_business_days, which counts weekdays.
func DateBusinessDays(o Options) *adk.Tool {
	return spec.Tool{
		Name: "date_business_days",
		Description: "Counts the business days from one date to another (the first not counted, the last counted), or goes so many business days on. " +
			"Saturdays, Sundays and the holidays given are none. Give a date as " + dateForms + ".",
		Args: []spec.Arg{
			spec.Text("from", "the date to begin at").Required(), spec.Text("to", "the date to count to"), spec.Int("add_days", "how many business days to go on; back if negative", -10_000, 10_000),
			spec.TextList("holidays", "dates that are no business days"), zoneArg(),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			r, from, err := o.dated(c, "from")
			if err != nil {
				return "", err
			}
			free := holidays{}
			for _, text := range c.Items("holidays") {
				day, err := r.date(text)
				if err != nil {
					return "", fmt.Errorf("holidays: %w", err)
				}
				free[dayNumberOf(day.Time)] = true
			}
			switch {
			case c.Text("to") != "":
				to, err := r.date(c.Text("to"))
				if err != nil {
					return "", err
				}
				n := free.between(dayNumberOf(from.Time), dayNumberOf(to.Time))
				return fmt.Sprintf("Business days from %s to %s: %d", from.Format(time.DateOnly), to.Format(time.DateOnly), n), nil
			case c.Has("add_days"):
				return businessDaysOn(from.Time, c.Int("add_days"), free)
			}
			return "", fmt.Errorf("either to or add_days is needed")
		},
	}.Make()
}

// holidays are days by number.
type holidays map[int]bool

// dayNumberOf counts days from 1 January 1970, a Thursday.
func dayNumberOf(t time.Time) int {
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).Unix()
	return int(midnight / 86400) // exact, since UTC has no jumps
}

// weekdayOf returns the weekday of a day's number; 0 is Monday.
func weekdayOf(day int) int { return ((day+3)%7 + 7) % 7 }

func (h holidays) business(day int) bool { return weekdayOf(day) < 5 && !h[day] }

// between counts the business days after from, up to and including to. Backwards, it counts those
// before from, down to and including to, and returns a negative number.
func (h holidays) between(from, to int) int {
	first, last, sign := from+1, to, 1
	if to < from {
		first, last, sign = to, from-1, -1
	}
	days := last - first + 1
	n := days / 7 * 5
	for day := last - days%7 + 1; day <= last; day++ {
		if weekdayOf(day) < 5 {
			n++
		}
	}
	for day := range h {
		if day >= first && day <= last && weekdayOf(day) < 5 {
			n--
		}
	}
	return sign * n
}

func businessDaysOn(from time.Time, n int, free holidays) (string, error) {
	day, step := dayNumberOf(from), 1
	if n < 0 {
		step = -1
	}
	for left := n * step; left > 0; {
		if day += step; free.business(day) {
			left--
		}
	}
	date := time.Unix(int64(day)*86400, 0).UTC()
	if date.Year() < 1 || date.Year() > 9999 {
		return "", fmt.Errorf("the result is out of the years 1 to 9999")
	}
	return fmt.Sprintf("%+d business days from %s: %s\nFormatted: %s", n, from.Format(time.DateOnly), date.Format(time.DateOnly), date.Format(longDay)), nil
}
