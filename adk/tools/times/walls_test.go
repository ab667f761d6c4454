package times

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// BAT-9: a day begins at the first moment that shows its date, also if the zone skips midnight or
// shows it twice.
func TestDaysBegin(t *testing.T) {
	without := 0
	for _, name := range []string{"America/Santiago", "America/Havana", "Africa/Cairo", "Asia/Beirut", "America/St_Johns", "America/Toronto", "America/Sao_Paulo",
		"Asia/Tehran", "Europe/Oslo", "Australia/Lord_Howe", "America/Asuncion", "Atlantic/Azores", "Asia/Amman"} {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		for noon := time.Date(1900, 1, 1, 12, 0, 0, 0, zone); noon.Year() < 2038; noon = noon.AddDate(0, 0, 1) {
			if _, changes := noon.ZoneBounds(); changes.IsZero() || changes.Sub(noon) > 24*time.Hour {
				continue
			}
			for away := 0; away <= 2; away++ {
				day := moment{Time: noon}.wall().AddDate(0, 0, away)
				begins := dayIn(zone, day)
				if got := begins.Format(time.DateOnly); got != day.Format(time.DateOnly) || begins.Add(-1).Format(time.DateOnly) >= got {
					t.Fatalf("%s: %s begins at %s", name, day.Format(time.DateOnly), begins)
				}
				if !asWall(begins).Equal(day) {
					without++
				}
			}
		}
	}
	assert.Greater(t, without, 500, "days without midnight")
}

// BAT-9: a time that a zone skips becomes later by the length of the gap. A moment that is not moved
// stays the same, also if the wall clock shows its time twice.
func TestWalls(t *testing.T) {
	zone, err := time.LoadLocation("America/Santiago")
	require.NoError(t, err)
	assert.Equal(t, "2026-09-06T01:30:00-03:00", in(zone, time.Date(2026, 9, 6, 0, 30, 0, 0, time.UTC)).Format(time.RFC3339))
	assert.Equal(t, "2026-09-06T01:00:00-03:00", in(zone, time.Date(2026, 9, 6, 1, 0, 0, 0, time.UTC)).Format(time.RFC3339))
	for _, twice := range []string{"2026-04-04T23:30:00-03:00", "2026-04-04T23:30:00-04:00"} {
		at, err := time.Parse(time.RFC3339, twice)
		require.NoError(t, err)
		m := moment{at.In(zone), true}
		assert.Equal(t, twice, m.moved(m.wall()).Format(time.RFC3339))
	}
	apia, err := time.LoadLocation("Pacific/Apia")
	require.NoError(t, err)
	assert.Equal(t, "2011-12-31T00:00:00+14:00", dayIn(apia, time.Date(2011, 12, 30, 0, 0, 0, 0, time.UTC)).Format(time.RFC3339), "a day that never was")
}
