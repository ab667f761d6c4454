package times

import "time"

// Dates are counted on the wall: what clock and calendar show there, kept as a time of UTC,
// which has no jumps. A zone's own times are made of it here, at the end, as the zone may
// show some of them never, others twice.

// asWall is what clock and calendar on the wall show.
func asWall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// wall is what the moment shows: midnight where it is a day, whenever that begins.
func (m moment) wall() time.Time {
	if !m.hasTime {
		return time.Date(m.Year(), m.Month(), m.Day(), 0, 0, 0, 0, time.UTC)
	}
	return asWall(m.Time)
}

// in is the time at which a zone shows a wall. One that it jumps over is as much later as
// the jump is long.
func in(zone *time.Location, wall time.Time) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), zone)
	if missing := wall.Sub(asWall(t)); missing > 0 { // it was taken from before the jump
		t = t.Add(missing)
	}
	return t
}

// dayIn is the beginning of the day of a wall: midnight, the first one of two, or the time
// to which the zone jumps over it.
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

// dayOf is the beginning of the day of a time, so many days later.
func dayOf(t time.Time, later int) time.Time {
	return dayIn(t.Location(), asWall(t).AddDate(0, 0, later))
}

// moved is the moment for which the wall shows something else; where it shows the same,
// that very moment.
func (m moment) moved(wall time.Time) moment {
	switch {
	case !m.hasTime:
		m.Time = dayIn(m.Location(), wall)
	case !wall.Equal(m.wall()):
		m.Time = in(m.Location(), wall)
	}
	return m
}
