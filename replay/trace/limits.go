package trace

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// Limit is one bound of what reading a trace may cost. They are far beyond what any
// turn writes; they are there so that a hostile file costs no more than it may.
type Limit struct {
	// Name is what errors, and the commands' --limit, call it.
	Name string
	// Usual is what it is where Options say nothing.
	Usual int64
	// Of says what it counts.
	Of string

	field string // of Options
	at    func(*Options) *int64
}

// limits are all of them.
var limits = []Limit{
	limitLine:      {"line", DefaultMaxLine, "bytes in the longest line", "MaxLine", func(o *Options) *int64 { return &o.MaxLine }},
	limitSaid:      {"said", 256 << 20, "bytes of one crossing, in all lines that it is cut into", "MaxSaid", func(o *Options) *int64 { return &o.MaxSaid }},
	limitBytes:     {"bytes", DefaultMaxUnpacked, "bytes of a compressed trace when it is unpacked", "MaxBytes", func(o *Options) *int64 { return &o.MaxBytes }},
	limitCrossings: {"crossings", 4 << 20, "crossings of a trace", "MaxCrossings", func(o *Options) *int64 { return &o.MaxCrossings }},
	limitNesting:   {"nesting", 20_000, "seam calls that are open within one another", "MaxNesting", func(o *Options) *int64 { return &o.MaxNesting }},
	limitValues:    {"values", 1 << 20, "JSON values of one crossing, beside those that records are made of", "MaxValues", func(o *Options) *int64 { return &o.MaxValues }},
	limitRestored:  {"restored", 1 << 30, "bytes of requests, pieces and media that name an earlier one, as they were", "MaxRestored", func(o *Options) *int64 { return &o.MaxRestored }},
	limitMemory:    {"memory", 640 << 20, "bytes that a trace takes, about, or what stays of it where it is read line by line", "MaxMemory", func(o *Options) *int64 { return &o.MaxMemory }},
}

// The places of the limits.
const (
	limitLine = iota
	limitSaid
	limitBytes
	limitCrossings
	limitNesting
	limitValues
	limitRestored
	limitMemory
)

// Two of the usual limits, which those who write and know no Options hold as well.
const (
	// DefaultMaxLine is the longest line, in bytes, that is read or written unless
	// options say otherwise.
	DefaultMaxLine = 64 << 20
	// DefaultMaxUnpacked is how many bytes a compressed trace may have when it is
	// unpacked, unless options say otherwise.
	DefaultMaxUnpacked = 1 << 30
)

// Limits are all limits of reading, with what they usually are.
func Limits() []Limit { return append([]Limit(nil), limits...) }

// SetLimit sets the limit of a name. The error says that there is none, or that the
// limit lets nothing be read.
func (o *Options) SetLimit(name string, most int64) error {
	for _, l := range limits {
		if l.Name != name {
			continue
		}
		if most < 1 {
			return fmt.Errorf("the limit %s is %d: want a number from 1", name, most)
		}
		*l.at(o) = most
		return nil
	}
	return fmt.Errorf("there is no limit %q", name)
}

// Bound is the limit of a name as it is set, or usually is, and what is said of a file that
// is beyond it: for who reads other files within the same limits. There has to be a limit of
// that name.
func (o *Options) Bound(name string) (most int64, beyond string) {
	whole := *o
	whole.limit()
	at := slices.IndexFunc(limits, func(l Limit) bool { return l.Name == name })
	return *limits[at].at(&whole), whole.beyond(at)
}

// limit lets every limit stand.
func (o *Options) limit() {
	for _, l := range limits {
		if at := l.at(o); *at <= 0 {
			*at = l.Usual
		}
	}
}

// repeat are the limits of what names an earlier text.
func (o *Options) repeat() wire.RepeatLimits {
	return wire.RepeatLimits{Text: o.MaxLine, Restored: o.MaxRestored}
}

// beyond says that a limit is passed.
func (o *Options) beyond(at int) string {
	l := limits[at]
	return fmt.Sprintf("%s: more than %d %s; --limit %s=N or Options.%s can allow more", l.Name, *l.at(o), l.Of, l.Name, l.field)
}

// lineMemory is what a trace that is held whole takes for each line once all of its
// crossings are made, as those do who take them in another order.
var lineMemory = int64(reflect.TypeFor[Line]().Size())
