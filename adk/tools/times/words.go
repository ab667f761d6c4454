package times

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// moment is a parsed date, with a time of day or at the beginning of its day.
type moment struct {
	time.Time
	hasTime bool
}

// The forms in which times are written.
const (
	longDay  = "Monday, January 2, 2006"
	longTime = longDay + " at 3:04:05 PM MST"
	instant  = "2006-01-02T15:04:05.000Z07:00"
)

// long writes a moment in words, with its time if it has one.
func (m moment) long() string {
	if m.hasTime {
		return m.Format(longTime)
	}
	return m.Format(longDay)
}

// noon returns the moment, or noon of its day if it has no time.
func (m moment) noon() moment {
	if !m.hasTime {
		m.Time = in(m.Location(), m.wall().Add(12*time.Hour))
	}
	return m
}

// reading parses dates in one zone with one clock.
type reading struct {
	zone *time.Location
	now  func() time.Time // called at most once
	met  time.Time
}

// today returns the current time in the zone.
func (r *reading) today() time.Time {
	if r.met.IsZero() {
		r.met = r.now()
	}
	return r.met.In(r.zone)
}

// isoForms are the accepted forms of ISO 8601. Times with a zone of their own are converted to the
// reading's zone.
var isoForms = []struct {
	layout  string
	hasTime bool
	hasZone bool
}{
	{"2006-01-02", false, false}, {"2006-01-02T15:04", true, false}, {"2006-01-02T15:04:05", true, false}, {"2006-01-02 15:04", true, false}, {"2006-01-02 15:04:05", true, false},
	{"2006-01-02T15:04Z07:00", true, true}, {"2006-01-02T15:04:05Z07:00", true, true},
}

// date parses a date of ISO 8601, or one in words (BAT-9). The whole text has to match.
func (r *reading) date(text string) (moment, error) {
	text = strings.TrimSpace(text)
	for _, form := range isoForms {
		t, err := time.Parse(form.layout, text)
		switch {
		case err != nil:
			continue
		case form.hasZone:
			t = t.In(r.zone)
		case form.hasTime:
			t = in(r.zone, t)
		default:
			t = dayIn(r.zone, t)
		}
		return inRange(moment{t, form.hasTime}, text)
	}
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(text, ",", " , ")))
	if len(words) > 0 && len(words) <= maxWords {
		if m, ok := r.words(words); ok {
			return inRange(m, text)
		}
	}
	return moment{}, fmt.Errorf("Could not parse a date from %.60q; want a form such as 2026-03-15, 2026-03-15T14:05:00Z, tomorrow, next friday, in 3 days or March 15, 2026", text)
}

const maxWords = 12

func inRange(m moment, text string) (moment, error) {
	if m.Year() < 1 || m.Year() > 9999 {
		return moment{}, fmt.Errorf("the date %.60q is out of the years 1 to 9999", text)
	}
	return m, nil
}

// words parses a date in words; all words have to match.
func (r *reading) words(words []string) (moment, bool) {
	if words[0] == "now" {
		return moment{r.today(), true}, len(words) == 1
	}
	if m, ok := r.distance(words[:min(3, len(words))]); ok {
		if rest := words[3:]; !m.hasTime {
			return atTime(m.Time, rest)
		}
		return m, len(words) == 3
	}
	day, rest, ok := r.day(words)
	if !ok {
		return moment{}, false
	}
	return atTime(day, rest)
}

// distance parses "in 3 days" and "3 days ago".
func (r *reading) distance(words []string) (moment, bool) {
	sign := 1
	switch {
	case len(words) < 3:
		return moment{}, false
	case words[0] == "in":
		words = words[1:]
	case words[2] == "ago":
		sign = -1
	default:
		return moment{}, false
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 0 || n > 1_000_000 {
		return moment{}, false
	}
	n *= sign
	switch strings.TrimSuffix(words[1], "s") {
	case "second":
		return moment{r.today().Add(time.Duration(n) * time.Second), true}, true
	case "minute":
		return moment{r.today().Add(time.Duration(n) * time.Minute), true}, true
	case "hour":
		return moment{r.today().Add(time.Duration(n) * time.Hour), true}, true
	case "day":
		return r.daysAway(n), true
	case "week":
		return r.daysAway(7 * n), true
	case "month":
		return r.monthsAway(n), true
	case "year":
		return r.monthsAway(12 * n), true
	}
	return moment{}, false
}

func (r *reading) daysAway(n int) moment { return moment{dayOf(r.today(), n), false} }

func (r *reading) monthsAway(n int) moment {
	return moment{dayIn(r.zone, addMonths(asWall(r.today()), n)), false}
}

// day parses the words of a day, and returns those that follow.
func (r *reading) day(words []string) (day time.Time, rest []string, ok bool) {
	switch words[0] {
	case "today":
		return r.daysAway(0).Time, words[1:], true
	case "tomorrow":
		return r.daysAway(1).Time, words[1:], true
	case "yesterday":
		return r.daysAway(-1).Time, words[1:], true
	case "next", "last", "this":
		if len(words) > 1 {
			day, ok = r.relative(words[0], words[1])
			return day, words[2:], ok
		}
		return day, nil, false
	}
	return r.named(words)
}

func (r *reading) relative(which, what string) (time.Time, bool) {
	step := map[string]int{"next": 1, "last": -1, "this": 0}[which]
	switch what {
	case "week":
		return r.daysAway(7 * step).Time, true
	case "month":
		return r.monthsAway(step).Time, true
	case "year":
		return r.monthsAway(12 * step).Time, true
	}
	weekday, known := weekdays[what]
	if !known {
		return time.Time{}, false
	}
	away := isoWeekday(weekday) - isoWeekday(r.today().Weekday())
	if step > 0 && away <= 0 {
		away += 7
	} else if step < 0 && away >= 0 {
		away -= 7
	}
	return r.daysAway(away).Time, true
}

// named parses "March 5th, 2026" and "5 March 2026"; the year may be missing.
func (r *reading) named(words []string) (day time.Time, rest []string, ok bool) {
	if len(words) < 2 {
		return day, nil, false
	}
	month, monthFirst := months[words[0]]
	number := words[1]
	if !monthFirst {
		if month, ok = months[words[1]]; !ok {
			return day, nil, false
		}
		number = words[0]
	}
	n, ok := dayNumber(number)
	if !ok {
		return day, nil, false
	}
	rest, year := words[2:], 0
	after := rest
	if len(after) > 0 && after[0] == "," {
		after = after[1:]
	}
	if len(after) > 0 && len(after[0]) == 4 {
		if given, err := strconv.Atoi(after[0]); err == nil && given > 0 {
			year, rest = given, after[1:]
		}
	}
	if year == 0 {
		year = r.today().Year()
	}
	day = dayIn(r.zone, time.Date(year, month, n, 0, 0, 0, 0, time.UTC))
	return day, rest, day.Month() == month && day.Day() == n
}

// dayNumber parses 5 and 5th.
func dayNumber(word string) (int, bool) {
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		if cut, had := strings.CutSuffix(word, suffix); had {
			word = cut
			break
		}
	}
	n, err := strconv.Atoi(word)
	return n, err == nil && n >= 1 && n <= 31 && len(word) <= 2
}

// atTime parses what follows a day: nothing, or "at 3", "at 3:04 pm".
func atTime(day time.Time, words []string) (moment, bool) {
	if len(words) > 0 && words[0] == "," {
		words = words[1:]
		if len(words) == 0 {
			return moment{}, false
		}
	}
	if len(words) == 0 {
		return moment{day, false}, true
	}
	if words[0] != "at" || len(words) < 2 || len(words) > 3 {
		return moment{}, false
	}
	text := strings.Join(words[1:], "")
	half := ""
	for _, suffix := range []string{"am", "pm"} {
		if cut, had := strings.CutSuffix(text, suffix); had {
			text, half = cut, suffix
		}
	}
	hour, minute, ok := clock(text)
	switch {
	case !ok, half != "" && (hour < 1 || hour > 12):
		return moment{}, false
	case half == "am":
		hour %= 12
	case half == "pm":
		hour = hour%12 + 12
	}
	return moment{in(day.Location(), time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, time.UTC)), true}, true
}

// clock parses 3, 03 and 3:04.
func clock(text string) (hour, minute int, ok bool) {
	h, m, hasMinutes := strings.Cut(text, ":")
	hour, err := strconv.Atoi(h)
	if err != nil || len(h) > 2 || hour < 0 || hour > 23 || h[0] < '0' || h[0] > '9' {
		return 0, 0, false
	}
	if hasMinutes {
		minute, err = strconv.Atoi(m)
		if err != nil || len(m) != 2 || minute < 0 || minute > 59 || m[0] < '0' {
			return 0, 0, false
		}
	}
	return hour, minute, true
}

var weekdays, months = func() (map[string]time.Weekday, map[string]time.Month) {
	days, all := map[string]time.Weekday{}, map[string]time.Month{}
	for d := time.Sunday; d <= time.Saturday; d++ {
		days[strings.ToLower(d.String())] = d
	}
	for m := time.January; m <= time.December; m++ {
		all[strings.ToLower(m.String())] = m
		all[strings.ToLower(m.String()[:3])] = m
	}
	return days, all
}()

// isoWeekday returns Monday as 1 to Sunday as 7.
func isoWeekday(d time.Weekday) int { return (int(d)+6)%7 + 1 }

// addMonths adds months in wall time; if the month does not have the day, the result is its last
// day.
func addMonths(t time.Time, n int) time.Time {
	first := t.AddDate(0, n, 1-t.Day())
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}
