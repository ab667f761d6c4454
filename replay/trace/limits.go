package trace

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// Limit is one bound on the cost of reading a trace. All bounds are far above what a turn writes;
// they keep a hostile file from using up memory or time.
type Limit struct {
	// Name is the limit's name in errors and in the --limit flag of the commands.
	Name string
	// Usual is the default, used if Options say nothing.
	Usual int64
	// Of says what the limit counts.
	Of string

	field string // name of the field of Options
	at    func(*Options) *int64
}

// limits lists all limits.
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

// The indexes of the limits.
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

// The two default limits that writers without Options observe as well.
const (
	// DefaultMaxLine is the default maximum length of a line, in bytes, for reading and writing.
	DefaultMaxLine = 64 << 20
	// DefaultMaxUnpacked is the default maximum size of a compressed trace after unpacking, in
	// bytes.
	DefaultMaxUnpacked = 1 << 30
)

// Limits returns all limits of reading, with their defaults.
func Limits() []Limit { return append([]Limit(nil), limits...) }

// SetLimit sets the limit with the given name. It returns an error if there is no such limit, or if
// most is less than 1.
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

// Bound returns the value of the named limit, which is its default if it is not set, and the text
// of the error for a file that exceeds it. It is for code that reads other files within the same
// limits. The name must exist.
func (o *Options) Bound(name string) (most int64, beyond string) {
	whole := *o
	whole.limit()
	at := slices.IndexFunc(limits, func(l Limit) bool { return l.Name == name })
	return *limits[at].at(&whole), whole.beyond(at)
}

// limit sets every limit that is not set to its default.
func (o *Options) limit() {
	for _, l := range limits {
		if at := l.at(o); *at <= 0 {
			*at = l.Usual
		}
	}
}

// repeat returns the limits for texts that refer to an earlier one.
func (o *Options) repeat() wire.RepeatLimits {
	return wire.RepeatLimits{Text: o.MaxLine, Restored: o.MaxRestored}
}

// beyond returns the text that says that a limit is exceeded.
func (o *Options) beyond(at int) string {
	l := limits[at]
	return fmt.Sprintf("%s: more than %d %s; --limit %s=N or Options.%s can allow more", l.Name, *l.at(o), l.Of, l.Name, l.field)
}

// lineMemory is how many bytes each line of a whole trace takes once its crossing is decoded. Reads
// of whole traces count it, because callers of Lines decode all crossings.
var lineMemory = int64(reflect.TypeFor[Line]().Size())
