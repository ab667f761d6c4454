package times_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/internal/trial"
	"github.com/adkreplay/adkreplay/adk/tools/times"
	"github.com/adkreplay/adkreplay/fakes"
)

// TestMain makes the tests use Go's own time zone database on every machine. By default the machine's
// comes first.
func TestMain(m *testing.M) {
	_ = os.Setenv("ZONEINFO", filepath.Join(runtime.GOROOT(), "lib", "time", "zoneinfo.zip"))
	os.Exit(m.Run())
}

var none times.Options

// BAT-9: a date plus or minus a duration; a day beyond the end of a month becomes the month's last day.
func TestDateAdd(t *testing.T) {
	add := func(date, direction string, more ...any) string {
		return trial.Object(append([]any{"date", date, "direction", direction}, more...)...)
	}
	trial.Check(t, times.DateAdd(none), []trial.Case{
		{"B-162", add("2026-03-15", "add", "days", 7), "Adding 7 days to 2026-03-15: Sunday, March 22, 2026"}, {"B-162", add("2026-03-15", "subtract", "months", 1), "Subtracting 1 month from 2026-03-15: Sunday, February 15, 2026"}, {"B-162", add("2026-01-01", "add", "years", 1, "months", 2, "days", 3), "Adding 1 year, 2 months, 3 days to 2026-01-01: Thursday, March 4, 2027"},
		{"clamped", add("2026-01-31", "add", "months", 1), "…: Saturday, February 28, 2026"}, {"leap", add("2024-02-29", "add", "years", 1), "…February 28, 2025"}, {"B-163", add("2026-03-15T14:05:00Z", "add", "days", 1), "…Monday, March 16, 2026 at 2:05:00 PM UTC"}, {"B-163", add("2026-03-15", "add", "hours", 1), "Adding 1 hour to 2026-03-15: Sunday, March 15, 2026 at 1:00:00 AM UTC"}, {"half", add("2026-03-15", "subtract", "hours", 1.5), "Subtracting 1.5 hours…March 14, 2026 at 10:30:00 PM UTC"},
		{"zero", add("2026-03-15", "add"), "Adding 0 to 2026-03-15: Sunday, March 15, 2026"}, {"now", add("now", "add", "days", 1), "Adding 1 day to now: Thursday, January 2, 2025 at 12:00:00 AM UTC"}, {"B-164", add("2026-03-15", "shift"), trial.ARGS}, {"B-164", add("not a date", "add"), "Error: Could not parse…"}, {"far", add("9999-12-31", "add", "days", 1), "Error: …out of the years…"}, {"far", add("0001-01-01", "subtract", "hours", 1e9), "Error: …out of the years…"}, {"far", add("2026-01-01", "add", "seconds", 1e300), "Error: …out of the years…"},
		{"exact", add("2026-03-08T01:30", "add", "hours", 1, "timezone", "America/New_York"), "…March 8, 2026 at 3:30:00 AM EDT"}, {"zone", add("2026-03-15", "add", "timezone", "Atlantis"), "Error: Invalid timezone…"}, {"machine", add("2026-03-15", "add", "timezone", "Local"), "Error: Invalid timezone…"}, {"long", add("0001-01-01", "add", "hours", 8e7), "…9127…"},
	})
}

// BAT-9: distances between dates: days are counted by the calendar, hours by the clock.
func TestDateDiff(t *testing.T) {
	diff := func(from, to, unit string, more ...any) string {
		return trial.Object(append([]any{"from", from, "to", to, "unit", unit}, more...)...)
	}
	trial.Check(t, times.DateDiff(none), []trial.Case{
		{"B-165", diff("2026-03-01", "2026-03-15", "days"), "2026-03-15 is 14 days after 2026-03-01"}, {"B-165", diff("2026-03-01", "2026-03-01", "days"), "2026-03-01 is 0 days after 2026-03-01"}, {"B-165", diff("2026-03-15", "2026-03-01", "days"), "2026-03-01 is 14 days before 2026-03-15"}, {"B-165", diff("2026-03-01T08:00", "2026-03-01T14:30", "hours"), "…6.5 hours after…"}, {"B-165", diff("2026-01-15", "2026-04-15", "months"), "…3 months after…"},
		{"rest", diff("2026-01-01", "2026-02-15", "months"), "…1.5 months…"}, {"years", diff("2024-02-29", "2026-02-28", "years"), "…2 years…"}, {"weeks", diff("2026-03-01", "2026-03-18", "weeks"), "…2.4286 weeks…"}, {"calendar", diff("2026-03-07", "2026-03-09", "days", "timezone", "America/New_York"), "…2 days…"}, {"clock", diff("2026-03-07", "2026-03-09", "hours", "timezone", "America/New_York"), "…47 hours…"}, {"seconds", diff("2026-03-01T00:00:00.5Z", "2026-03-01T00:00:01Z", "seconds"), "…0.5 seconds…"},
		{"B-166", diff("2026-03-01", "2026-03-01", "fortnights"), trial.ARGS}, {"B-166", diff("x", "2026-03-01", "days"), "Error: Could not parse…"}, {"B-166", diff("2026-03-01", "2026-02-30", "days"), "Error: Could not parse…"},
	})
	var cases []trial.Case
	for seconds, want := range map[string]string{"0": "0 seconds", "1": "1 second", "125": "2 minutes and 5 seconds", "3725": "1 hour, 2 minutes and 5 seconds", "86400": "1 day", "-125": "-2 minutes and 5 seconds", "0.9": "0 seconds", "-0.5": "0 seconds", "34822861": "1 year, 1 month, 1 week, 1 day, 1 hour, 1 minute and 1 second", "1e300": "…years…"} {
		cases = append(cases, trial.Case{"B-167", `{"seconds":` + seconds + `}`, want})
	}
	trial.Check(t, times.DurationFormat(), append(cases, trial.Case{"B-167", `{}`, trial.ARGS}))
}

// BAT-9: weekdays, weeks and periods of the calendar.
func TestCalendar(t *testing.T) {
	trial.Check(t, times.DateNthWeekday(none), []trial.Case{
		{"B-168", trial.Object("nth", "2nd", "weekday", "friday", "month", 3, "year", 2026), "2nd friday of March 2026: 2026-03-13\nFormatted: Friday, March 13, 2026"}, {"B-168", trial.Object("nth", "last", "weekday", "monday", "month", 1, "year", 2025), "last monday of January 2025: 2025-01-27…"}, {"B-168", trial.Object("nth", "1", "weekday", "sunday", "month", 2, "year", 2024), "…2024-02-04…"}, {"this year", trial.Object("nth", "first", "weekday", "wednesday", "month", 1), "…2025-01-01…"},
		{"B-169", trial.Object("nth", "5", "weekday", "monday", "month", 2, "year", 2026), "Error: …no 5th monday…it has 4"}, {"B-169", trial.Object("nth", "1", "weekday", "monday", "month", 13, "year", 2026), "Error: Month must be 1–12"}, {"B-169", trial.Object("nth", "1", "weekday", "someday", "month", 1), trial.ARGS}, {"nth", trial.Object("nth", "sixth", "weekday", "monday", "month", 1), "Error: nth…"}, {"year", trial.Object("nth", "1", "weekday", "monday", "month", 1, "year", 0), "Error: Year…"},
	})
	trial.Check(t, times.DateCalendarInfo(none), []trial.Case{
		{"B-170", trial.Object("date", "2026-03-15"), "Date: 2026-03-15\n\nISO week number: 11 (ISO year: 2026)\nDay of year: 74 / 365\nDay of week: 7 (Sunday)\nWeek of month: 3\nWeekend: Yes\n\nCalendar quarter: Q1\nFiscal quarter: FQ1 (FY2026, begins in January)"}, {"B-170", trial.Object("date", "2026-03-16"), "…Week of month: 4\nWeekend: No…"}, {"B-170", trial.Object("date", "2026-03-15", "fiscal_year_start_month", 7), "…Fiscal quarter: FQ3 (FY2025, begins in July)"}, {"B-170", trial.Object("date", "March 15 2026"), "Date: 2026-03-15…"}, {"B-170", trial.Object("date", "gibberish"), "Error: Could not parse…"}, {"iso year", trial.Object("date", "2027-01-01"), "…ISO week number: 53 (ISO year: 2026)…"},
	})
	period := func(date, period, boundary string, more ...any) string {
		return trial.Object(append([]any{"date", date, "period", period, "boundary", boundary}, more...)...)
	}
	trial.Check(t, times.DatePeriod(none), []trial.Case{
		{"B-172", period("2026-03-15", "month", "start"), "Start of month containing 2026-03-15: 2026-03-01T00:00:00.000Z\nFormatted: Sunday, March 1, 2026 at 12:00:00 AM UTC"}, {"B-172", period("2026-03-15", "year", "end"), "End of year containing 2026-03-15: 2026-12-31T23:59:59.999Z…"}, {"B-172", period("2026-02-15", "quarter", "start"), "…2026-01-01…"}, {"B-172", period("2026-03-15", "isoweek", "start"), "…2026-03-09…"}, {"week", period("2026-03-15", "week", "end"), "…2026-03-15T23:59:59.999Z…"}, {"B-172", period("2026-03-15", "year", "start", "fiscal_year_start_month", 7), "…: 2025-07-01…"}, {"quarter", period("2026-03-15", "quarter", "start", "fiscal_year_start_month", 2), "…: 2026-02-01…"}, {"B-172", period("2026-03-15", "fortnight", "start"), trial.ARGS},
		{"offset", period("2026-03-15", "month", "start", "offset", -3), "…: 2025-12-01…"}, {"offset", period("2026-03-15", "day", "end", "offset", 1), "…: 2026-03-16T23:59…"}, {"far", period("2026-03-15", "year", "start", "offset", 9000), "Error: …"}, {"zone", period("2026-03-29", "day", "end", "timezone", "Europe/Oslo"), "…T23:59:59.999+02:00…CEST"}, {"bad", period("x", "day", "end"), "Error: Could not parse…"},
	})
	trial.Check(t, times.DateBusinessDays(none), []trial.Case{
		{"B-173", trial.Object("from", "2026-03-02", "to", "2026-03-06"), "Business days from 2026-03-02 to 2026-03-06: 4"}, {"B-173", trial.Object("from", "2026-03-02", "to", "2026-03-02"), "…: 0"}, {"B-173", trial.Object("from", "2026-03-06", "to", "2026-03-02"), "…: -4"}, {"B-173", trial.Object("from", "2026-03-02", "add_days", 5), "+5 business days from 2026-03-02: 2026-03-09\nFormatted: Monday, March 9, 2026"}, {"B-173", trial.Object("from", "2026-03-09", "add_days", -5), "-5 business days from 2026-03-09: 2026-03-02…"}, {"B-173", trial.Object("from", "2026-03-02"), "Error: either to or add_days is needed"},
		{"holidays", trial.Object("from", "2026-03-02", "to", "2026-03-16", "holidays", []string{"2026-03-04", "2026-03-07", "March 4, 2026"}), "…: 9"}, {"holidays", trial.Object("from", "2026-03-02", "add_days", 1, "holidays", []string{"2026-03-03"}), "…: 2026-03-04…"}, {"holidays", trial.Object("from", "2026-03-02", "to", "2026-03-03", "holidays", []string{"x"}), "Error: holidays: …"}, {"long", trial.Object("from", "0001-01-01", "to", "9999-12-31"), "…: 2608614"}, {"far", trial.Object("from", "9999-12-31", "add_days", 5), "Error: …"}, {"bad", trial.Object("from", "x", "add_days", 1), "Error: Could not parse…"},
	})
}

// BAT-9: counting business days by weeks gives the same number as counting them one by one.
func TestBusinessDaysOneByOne(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for from := range 9 {
		for length := range 20 {
			a, b := start.AddDate(0, 0, from), start.AddDate(0, 0, from+length)
			n := 0
			for day := a.AddDate(0, 0, 1); !day.After(b); day = day.AddDate(0, 0, 1) {
				if wd := day.Weekday(); wd != time.Saturday && wd != time.Sunday {
					n++
				}
			}
			answer, err := trial.Answer(times.DateBusinessDays(none), trial.Object("from", a.Format(time.DateOnly), "to", b.Format(time.DateOnly)))
			require.NoError(t, err)
			assert.True(t, strings.HasSuffix(answer, ": "+json.Number(jsonInt(n)).String()), "%s, want %d", answer, n)
		}
	}
}

func jsonInt(n int) string { text, _ := json.Marshal(n); return string(text) }

// BAT-9: dates in words follow a closed grammar, and no date is guessed from a part of a text.
func TestDateParse(t *testing.T) {
	var cases []trial.Case
	parse := func(id, text, want string, more ...any) {
		cases = append(cases, trial.Case{id, trial.Object(append([]any{"text", text, "reference_date", "2026-05-15T12:00:00Z"}, more...)...), want})
	}
	parse("B-171", "yesterday", "ISO: 2026-05-14T12:00:00.000Z\nFormatted: Thursday, May 14, 2026 at 12:00:00 PM UTC")
	for text, iso := range map[string]string{
		"in 2 weeks": "2026-05-29T12:00", "March 5, 2026": "2026-03-05T12:00", "5 March 2026": "2026-03-05T12:00", "March 5th": "2026-03-05T12:00", "mar 5 2026": "2026-03-05T12:00", "today": "2026-05-15T12:00", "Tomorrow at 3pm": "2026-05-16T15:00", "tomorrow at 3:30 PM": "2026-05-16T15:30", "today at 00:05": "2026-05-15T00:05", "today at 12am": "2026-05-15T00:00",
		"next friday": "2026-05-22T12:00", "last friday": "2026-05-08T12:00", "this friday": "2026-05-15T12:00", "this monday": "2026-05-11T12:00", "next monday": "2026-05-18T12:00", "next week": "2026-05-22T12:00", "last month": "2026-04-15T12:00", "next year": "2027-05-15T12:00", "3 days ago": "2026-05-12T12:00", "in 1 day": "2026-05-16T12:00", "2 months ago": "2026-03-15T12:00", "in 3 hours": "2026-05-15T15:00", "2 days ago at 9": "2026-05-13T09:00", "in 2 weeks at 3:30pm": "2026-05-29T15:30", "90 minutes ago": "2026-05-15T10:30", "in 5 years": "2031-05-15T12:00",
		"2026-03-05": "2026-03-05T12:00", "2026-03-05T08:30+02:00": "2026-03-05T06:30", "now": "2026-05-15T12:00", "March 5, 2026 at 9": "2026-03-05T09:00", "March 5, 2026, at 9": "2026-03-05T09:00",
	} {
		parse("B-171", text, "ISO: "+iso+":00.000Z…")
	}
	for _, text := range []string{"asdfqwerty", "", " ", "next", "in days", "in -2 days", "in 2 fortnights", "in 3 hours at 9", "in 3 days at", "in 3 days soon", "tomorrow maybe", "maybe tomorrow", "February 30", "March 32", "March", "5", "March 5, 2026 at", "today at 25:00", "today at 13pm", "today at 3:5", "today,", "2026-13-01", "20260305", "the 5th of March", strings.Repeat("today ", 1000)} {
		parse("B-171", text, "Error: Could not parse a date from…")
	}
	parse("zone", "today at 9", "ISO: 2026-05-15T09:00:00.000+09:00\nFormatted: …9:00:00 AM JST", "timezone", "Asia/Tokyo")
	trial.Check(t, times.DateParse(none), append(cases,
		trial.Case{"B-171", trial.Object("text", "today", "reference_date", "nope"), "Error: Invalid reference_date…"}, trial.Case{"clock", trial.Object("text", "today"), "ISO: 2025-01-01T12:00:00.000Z…"}))
}

// BAT-3: time zones and the current time.
func TestClocks(t *testing.T) {
	trial.Check(t, times.GetCurrentTime(none), []trial.Case{
		{"B-174", `{}`, "UTC: Wednesday, January 1, 2025 at 12:00:00 AM UTC"}, {"B-174", `{"timezone":"America/New_York"}`, "America/New_York: Tuesday, December 31, 2024 at 7:00:00 PM EST"}, {"B-174", `{"timezone":"Atlantis"}`, "Error: Invalid timezone…"}, {"path", `{"timezone":"../etc/passwd"}`, "Error: Invalid timezone…"}, {"empty", `{"timezone":""}`, "Error: Invalid timezone…"},
	})
	trial.Check(t, times.ConvertTime(none), []trial.Case{
		{"B-175", `{"source_timezone":"UTC","time":"12:00","target_timezone":"UTC"}`, "12:00 UTC = 12:00 UTC"}, {"B-175", `{"source_timezone":"UTC","time":"12:00","target_timezone":"America/New_York"}`, "12:00 UTC = 07:00 America/New_York"}, {"B-175", `{"source_timezone":"Asia/Tokyo","time":"09:00"}`, "09:00 Asia/Tokyo = 00:00 UTC"},
		{"another day", `{"source_timezone":"Asia/Tokyo","time":"08:59"}`, "08:59 Asia/Tokyo = 23:59 UTC the day before"}, {"another day", `{"source_timezone":"America/New_York","time":"19:00"}`, "19:00 America/New_York = 00:00 UTC the next day"}, {"another day", `{"source_timezone":"Asia/Tokyo","time":"15:00","target_timezone":"America/New_York"}`, "15:00 Asia/Tokyo = 01:00 America/New_York"},
		{"B-176", `{"source_timezone":"X","time":"09:00"}`, "Error: Invalid source_timezone…"}, {"B-176", `{"source_timezone":"UTC","time":"09:00","target_timezone":"X"}`, "Error: Invalid target_timezone…"}, {"B-176", `{"source_timezone":"UTC","time":"25:99"}`, "Error: Invalid time…"}, {"time", `{"source_timezone":"UTC","time":"9"}`, "Error: Invalid time…"}, {"time", `{"source_timezone":"UTC","time":""}`, "Error: Invalid time…"},
	})
}

// BAT-3: the clock is read at most once in a call, and only if the arguments need it. The zones are
// those of the options.
func TestClockIsReadOnce(t *testing.T) {
	reads := 0
	for args, want := range map[string]int{
		trial.Object("from", "now", "to", "tomorrow", "unit", "days"): 1, trial.Object("from", "2026-01-01", "to", "2026-01-02", "unit", "days"): 0, trial.Object("from", "March 5", "to", "in 3 days", "unit", "days"): 1,
	} {
		reads = 0
		_, err := trial.In(t.Context(), fakes.NewStorage().Storage(), func(ctx context.Context, dc *adk.DispatchContext) (string, error) {
			return trial.Execute(ctx, dc, times.DateDiff(none), args)
		}, func(x *adk.Crossing) {
			if x.Kind == adk.KindNow {
				reads++
			}
		})
		require.NoError(t, err)
		assert.Equal(t, want, reads, args)
	}
	fixed := times.Options{Zones: func(name string) (*time.Location, error) { return time.FixedZone("Z"+name, 3600), nil }}
	trial.Check(t, times.GetCurrentTime(fixed), []trial.Case{{"zones", `{"timezone":"Mars"}`, "Mars: Wednesday, January 1, 2025 at 1:00:00 AM ZMars"}})
}

// BAT-9: days are counted by the calendar also where a day begins at 01:00, because the clock is set
// forward at midnight.
func TestDaysWithoutMidnight(t *testing.T) {
	zoned := func(zone string, more ...any) string { return trial.Object(append(more, "timezone", zone)...) }
	const santiago, cairo, havana = "America/Santiago", "Africa/Cairo", "America/Havana" // on 2026-09-06, 2026-04-24 and 2027-03-14
	trial.Check(t, times.DateCalendarInfo(none), []trial.Case{
		{"info", zoned(santiago, "date", "2026-09-06"), "Date: 2026-09-06…Day of week: 7 (Sunday)…"}, {"info", zoned(cairo, "date", "2026-04-24"), "Date: 2026-04-24…"}, {"info", zoned(havana, "date", "2027-03-14"), "Date: 2027-03-14…(Sunday)…"},
	})
	trial.Check(t, times.DateAdd(none), []trial.Case{
		{"on", zoned(santiago, "date", "2026-09-05", "direction", "add", "days", 1), "Adding 1 day to 2026-09-05: Sunday, September 6, 2026"}, {"over", zoned(santiago, "date", "2026-09-05", "direction", "add", "days", 2, "hours", 1), "…Monday, September 7, 2026 at 1:00:00 AM -03"}, {"month", zoned(santiago, "date", "2026-08-06", "direction", "add", "months", 1, "hours", 1), "…Sunday, September 6, 2026 at 2:00:00 AM -03"},
		{"from", zoned(santiago, "date", "2026-09-06", "direction", "add", "months", 1, "hours", 1), "…Tuesday, October 6, 2026 at 1:00:00 AM -03"}, {"back", zoned(santiago, "date", "2026-09-07", "direction", "subtract", "days", 1), "…Sunday, September 6, 2026"}, {"time", zoned(santiago, "date", "2026-09-05T00:30", "direction", "add", "days", 1), "…Sunday, September 6, 2026 at 1:30:00 AM -03"}, {"time", zoned(santiago, "date", "2026-09-06 00:30", "direction", "add"), "…Sunday, September 6, 2026 at 1:30:00 AM -03"},
	})
	trial.Check(t, times.DateDiff(none), []trial.Case{
		{"days", zoned(cairo, "from", "2026-04-24", "to", "2026-04-25", "unit", "days"), "2026-04-25 is 1 days after 2026-04-24"}, {"days", zoned(santiago, "from", "2026-09-05", "to", "2026-09-06", "unit", "days"), "…1 days…"}, {"weeks", zoned(santiago, "from", "2026-09-06", "to", "2026-09-13", "unit", "weeks"), "…1 weeks…"}, {"months", zoned(santiago, "from", "2026-08-06", "to", "2026-09-06", "unit", "months"), "…1 months…"}, {"clock", zoned(santiago, "from", "2026-09-06", "to", "2026-09-07", "unit", "hours"), "…23 hours…"},
	})
	trial.Check(t, times.DateNthWeekday(none), []trial.Case{{"nth", zoned(santiago, "nth", "1", "weekday", "sunday", "month", 9, "year", 2026), "…: 2026-09-06\nFormatted: Sunday, September 6, 2026"}})
	trial.Check(t, times.DateParse(none), []trial.Case{
		{"named", zoned(santiago, "text", "September 6, 2026"), "ISO: 2026-09-06T12:00:00.000-03:00…"}, {"at", zoned(santiago, "text", "September 6, 2026 at 0:30"), "ISO: 2026-09-06T01:30:00.000-03:00…"}, {"tomorrow", zoned(santiago, "text", "tomorrow", "reference_date", "2026-09-05"), "ISO: 2026-09-06T12:00…"}, {"next", zoned(santiago, "text", "next sunday", "reference_date", "2026-09-05"), "ISO: 2026-09-06T12:00…"}, {"today", zoned(santiago, "text", "today", "reference_date", "2026-09-06"), "ISO: 2026-09-06T12:00…"}, {"month", zoned(santiago, "text", "next month", "reference_date", "2026-08-06"), "ISO: 2026-09-06T12:00…"},
	})
	trial.Check(t, times.DatePeriod(none), []trial.Case{
		{"start", zoned(santiago, "date", "2026-09-06T12:00", "period", "day", "boundary", "start"), "…: 2026-09-06T01:00:00.000-03:00…"}, {"end", zoned(santiago, "date", "2026-09-05T12:00", "period", "day", "boundary", "end"), "…: 2026-09-05T23:59:59.999-04:00…"}, {"offset", zoned(santiago, "date", "2026-09-06", "period", "day", "boundary", "start", "offset", 1), "…: 2026-09-07T00:00:00.000-03:00…"}, {"twice", zoned(havana, "date", "2026-11-01T12:00", "period", "day", "boundary", "start"), "…: 2026-11-01T00:00:00.000-04:00…"},
	})
	trial.Check(t, times.DateBusinessDays(none), []trial.Case{
		{"to", zoned(santiago, "from", "2026-09-04", "to", "2026-09-06"), "Business days from 2026-09-04 to 2026-09-06: 0"}, {"holiday", zoned(santiago, "from", "2026-09-06", "to", "2026-09-07"), "Business days from 2026-09-06 to 2026-09-07: 1"},
	})
}
