package varying

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// span is a period of time, with both ends.
type span struct{ from, to time.Time }

// meets reports whether two spans overlap.
func (s span) meets(other span) bool { return !s.from.After(other.to) && !other.from.After(s.to) }

// wallTime says where a new trace has a time of the machine's clock: one that lies within the
// period in which the trace was made, and is neither in the recording nor within the turn's own
// time. It is empty where there is none. wallTime runs nothing again.
func wallTime(recorded, made io.Reader, while span, reading trace.Options) (string, error) {
	was, err := linesOf(recorded, reading)
	if err != nil {
		return "", err
	}
	is, err := linesOf(made, reading)
	if err != nil {
		return "", err
	}
	known, err := wire.NewSentinels(reading.Sentinels, reading.ErrorTypes)
	if err != nil {
		return "", err
	}
	var turn span
	old := map[string]bool{}
	for _, x := range was.Lines {
		turn.from, turn.to = cmp.Or(turn.from, x.At), x.At
		eachTime(known, x, func(_, text string, _ []span) bool {
			old[text] = true
			return false
		})
	}
	for _, x := range is.Lines {
		said := ""
		if eachTime(known, x, func(label, text string, spans []span) bool {
			said = fmt.Sprintf("crossing %d, in %s, has the time of the machine in its %s: %s", x.Seq, is.SeamOf(x), label, text)
			for _, s := range spans {
				if !old[text] && s.meets(while) && !s.meets(turn) {
					return true
				}
			}
			return false
		}) {
			return said, nil
		}
	}
	return "", nil
}

// linesOf reads the lines of a trace.
func linesOf(in io.Reader, reading trace.Options) (*calls.Tree, error) {
	r, err := trace.NewReader(in, reading)
	if err != nil {
		return nil, err
	}
	t, err := r.Rest()
	if err != nil {
		return nil, err
	}
	return calls.Of(t), nil
}

// times matches the forms in which programs write a time: RFC 3339 and similar forms, such as those
// of Time.String and databases, and seconds, milliseconds, microseconds or nanoseconds since 1970.
var times = regexp.MustCompile(`(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d{1,9})?(?:Z|( ?[+-]\d\d):?(\d\d))?|\b\d{10}(?:\d{3}){0,3}\b`)

// eachTime calls found with each text in the fields of a crossing that may be a time, and the spans
// that it may stand for, as exact as it is written, until found returns true.
func eachTime(known *wire.Sentinels, x *adk.Crossing, found func(label, text string, spans []span) bool) bool {
	for _, use := range x.Kind.Fields(x.Phase) {
		text := wire.Comparer{Sentinels: known}.Text(use.Field, x)
		for _, m := range times.FindAllStringSubmatch(text, -1) {
			if found(use.Label, m[0], spansOf(m)) {
				return true
			}
		}
	}
	return false
}

// spansOf returns the spans that a match of times may stand for. Without a zone it may be a time of
// the machine's zone, too.
func spansOf(m []string) []span {
	if m[1] == "" {
		unit := time.Second
		for range (len(m[0]) - len("1764460889")) / 3 {
			unit /= 1000
		}
		n, err := strconv.ParseInt(m[0], 10, 64)
		if err != nil {
			return nil
		}
		return []span{lasting(time.Unix(n/int64(time.Second/unit), n%int64(time.Second/unit)*int64(unit)), unit)}
	}
	zones := []*time.Location{time.UTC}
	switch {
	case m[4] != "":
		hours, _ := strconv.Atoi(m[4][len(m[4])-2:]) // two digits
		minutes, _ := strconv.Atoi(m[5])
		seconds := hours*3600 + minutes*60
		if m[4][len(m[4])-3] == '-' {
			seconds = -seconds
		}
		zones = []*time.Location{time.FixedZone("", seconds)}
	case m[0][len(m[0])-1] != 'Z':
		zones = append(zones, time.Local)
	}
	unit := time.Second
	for range max(len(m[3])-1, 0) {
		unit /= 10
	}
	var spans []span
	for _, zone := range zones {
		if at, err := time.ParseInLocation(time.DateTime, m[1]+" "+m[2]+m[3], zone); err == nil {
			spans = append(spans, lasting(at, unit))
		}
	}
	return spans
}

// lasting is the span of a moment that is exact to a unit.
func lasting(at time.Time, unit time.Duration) span { return span{at, at.Add(unit - 1)} }
