// Package times has tools for dates and times: adding, comparing, periods, business days, zones,
// and dates in words. Each function makes one tool, [All] makes all of them.
//
// The current time is that of the turn's clock. A call reads it at most once, and only if the
// arguments need it. Zones come from [Options.Zones]. See package adk/tools for what all batteries
// have in common.
package times

import (
	"fmt"
	"time"
	_ "time/tzdata" // zones for machines that have none

	"github.com/adkreplay/adkreplay/adk"
)

// Options configure the tools of this package.
type Options struct {
	// Zones returns a time zone by its name in the IANA database. Nil means time.LoadLocation,
	// which uses the machine's database, or the program's if there is none. Machines may then
	// differ in zones that changed recently.
	Zones func(name string) (*time.Location, error)
}

// All returns the tools of this package.
func All(o Options) []*adk.Tool {
	return []*adk.Tool{
		DateAdd(o), DateDiff(o), DurationFormat(), DateNthWeekday(o), DateCalendarInfo(o), DateParse(o), DatePeriod(o), DateBusinessDays(o),
		GetCurrentTime(o), ConvertTime(o),
	}
}

// zone returns a zone. The zone "Local" is refused, since it differs from machine to machine.
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
