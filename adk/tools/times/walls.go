package times

import "time"

// Dates are calculated in wall time: what clock and calendar show, represented as a time in UTC,
// which has no jumps. Only the functions here convert it to a zone's time at the end, because a
// zone may skip some wall times and have others twice.

// asWall returns what clock and calendar show at t.
func asWall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// wall returns what clock and calendar show; for a day it is midnight, even if the day begins
// later.
func (m moment) wall() time.Time {
	if !m.hasTime {
		return time.Date(m.Year(), m.Month(), m.Day(), 0, 0, 0, 0, time.UTC)
	}
	return asWall(m.Time)
}

// in returns the time at which a zone shows a wall time. If the zone skips that wall time, the
// result is later by the length of the jump.
func in(zone *time.Location, wall time.Time) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), zone)
	if missing := wall.Sub(asWall(t)); missing > 0 { // t lies before the jump
		t = t.Add(missing)
	}
	return t
}

// dayIn returns the beginning of a wall time's day: midnight, the first of two midnights, or the
// time to which the zone jumps if it skips midnight.
func dayIn(zone *time.Location, wall time.Time) time.Time {
	midnight := time.Date(wall.Year(), wall.Month(), wall.Day(), 0, 0, 0, 0, time.UTC)
	t := in(zone, midnight)
	since, _ := t.ZoneBounds()
	if since.IsZero() {
		return t
	}
	if !asWall(t).Equal(midnight) {
		return since
	}
	if back := asWall(since.Add(-1)).Sub(asWall(since)) + 1; back > 0 && t.Add(-back).Before(since) {
		return t.Add(-back)
	}
	return t
}

// dayOf returns the beginning of the day that is later days after that of t.
func dayOf(t time.Time, later int) time.Time {
	return dayIn(t.Location(), asWall(t).AddDate(0, 0, later))
}

// moved returns the moment at which clock and calendar show wall. If they already show that, it
// returns the moment itself.
func (m moment) moved(wall time.Time) moment {
	switch {
	case !m.hasTime:
		m.Time = dayIn(m.Location(), wall)
	case !wall.Equal(m.wall()):
		m.Time = in(m.Location(), wall)
	}
	return m
}
