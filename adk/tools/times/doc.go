// Package times are tools with dates and times: adding, comparing, periods, business
// days, zones, and dates in words. Each function makes one tool, [All] makes all of
// them.
//
// The time is that of the turn's clock, asked for at most once a call and only where the
// arguments need it. Zones come from [Options.Zones]. See package adk/tools for what all
// batteries have in common.
package times

import (
	"fmt"
	"time"
	_ "time/tzdata" // zones on machines that have none

	"github.com/adkreplay/adkreplay/adk"
)

// Options are what the tools of this package need of the world.
type Options struct {
	// Zones gives a time zone by its name in the IANA database. Nil is
	// time.LoadLocation, with the database of the machine first and that of the program
	// where there is none: machines may then differ in zones that changed lately.
	Zones func(name string) (*time.Location, error)
}

// All are the tools of this package.
func All(o Options) []*adk.Tool {
	return []*adk.Tool{
		DateAdd(o), DateDiff(o), DurationFormat(), DateNthWeekday(o), DateCalendarInfo(o), DateParse(o), DatePeriod(o), DateBusinessDays(o),
		GetCurrentTime(o), ConvertTime(o),
	}
}

// zone gives a zone. The zone of the machine is none: it is another on each.
func (o Options) zone(name string) (*time.Location, error) {
	load := o.Zones
	if load == nil {
		load = time.LoadLocation
	}
	if name == "UTC" {
		return time.UTC, nil
	}
	if name == "" || name == "Local" || len(name) > 100 {
		return nil, badZone("timezone", name)
	}
	zone, err := load(name)
	if err != nil {
		return nil, badZone("timezone", name)
	}
	return zone, nil
}

func badZone(argument, name string) error {
	return fmt.Errorf("Invalid %s %.40q, want a name such as Europe/Oslo or UTC", argument, name)
}
